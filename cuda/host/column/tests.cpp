#include "host/column/tests.h"

#include <algorithm>
#include <cstring>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::host {
namespace {

using packing::group;

// Ranges over codes of at most so many bits are looked up in a table.
constexpr std::uint32_t max_table_bits = 16;

std::uint64_t low_bits(std::uint32_t bits) {
    return bits == 0 ? 0 : UINT64_MAX >> (64 - bits);
}

// Makes a bit of each of sixty-four bytes, which are 0 or 1.
std::uint64_t gather_bits(const std::uint8_t *hits) {
    std::uint64_t bits = 0;
    for (std::uint32_t i = 0; i < 8; ++i) {
        std::uint64_t eight;
        std::memcpy(&eight, hits + i * 8, sizeof(eight));
        bits |= (eight * 0x0102040810204080ULL >> 56) << (i * 8);
    }
    return bits;
}

}  // namespace

void unpack_group(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                  std::uint32_t *values) {
    static constexpr auto table = packing::unpackers<std::uint32_t>(std::make_index_sequence<33>{});
    table[bits](words + number * bits, 1, values);
}
void unpack_group(const std::uint64_t *words, std::uint64_t number, std::uint32_t bits,
                  std::uint64_t *values) {
    static constexpr auto table = packing::unpackers<std::uint64_t>(std::make_index_sequence<65>{});
    table[bits](words + number * bits, 1, values);
}

RowTests::RowTests(HostEngine &engine, const StoreParts &parts, const ColumnTest *tests,
                   std::uint32_t count) {
    const Status status = check_question(parts.layout, tests, count);
    if (!status.ok()) {
        throw Failure{status};
    }
    for (std::uint32_t i = 0; i < count && !none_passes_; ++i) {
        add(engine, parts, tests[i]);
    }
}

void RowTests::add(HostEngine &engine, const StoreParts &parts, const ColumnTest &asked) {
    const StoredColumn &column = parts.layout.column[asked.column];
    const KeptColumn &kept = parts.kept.column[asked.column];
    Test test{};
    test.way = Way::nulls;
    test.bits = column.bits;
    test.wants_null = asked.kind == TestKind::is_null;
    test.nulls = column.null_bits.words > 0 ? parts.words.data() + kept.null_bits : nullptr;
    test.codes = parts.words.data() + kept.codes;
    if (test.wants_null && test.nulls == nullptr) {
        none_passes_ = true;
        return;
    }
    if (asked.kind == TestKind::ranges) {
        add_ranges(engine, parts, asked, &test);
    } else if (asked.kind == TestKind::codes) {
        add_codes(engine, parts, asked, &test);
    }
    if (test.way == Way::range && test.range.low > test.range.high) {
        none_passes_ = true;
        return;
    }
    if (test.way == Way::range && test.range.low == 0 && test.range.high >= low_bits(test.bits)) {
        test.way = Way::nulls;
    }
    if (test.way != Way::nulls || test.nulls != nullptr) {
        tests_.push_back(std::move(test));
    }
}

void RowTests::add_ranges(HostEngine &engine, const StoreParts &parts, const ColumnTest &asked, Test *test) {
    const StoredColumn &column = parts.layout.column[asked.column];
    const std::uint64_t *dictionary = parts.words.data() + parts.kept.column[asked.column].dictionary;
    // The ranges are read once, because the caller's memory may change.
    const std::vector<ValueRange> ranges = copy_ranges(asked);
    for (const ValueRange &values : ranges) {
        if (values.high < column.base) {
            continue;
        }
        Range codes;
        if (column.encoding == ColumnEncoding::dictionary) {
            codes.low = entries_below(dictionary, column, values.low);
            const std::uint64_t end = values.high == UINT64_MAX
                                          ? column.distinct
                                          : entries_below(dictionary, column, values.high + 1);
            if (codes.low >= end) {
                continue;
            }
            codes.high = end - 1;
        } else {
            codes.low = values.low > column.base ? values.low - column.base : 0;
            codes.high = std::min(values.high - column.base, low_bits(column.bits));
            if (codes.low > codes.high) {
                continue;
            }
        }
        test->ranges.push_back(codes);
    }
    if (test->ranges.size() <= 1) {
        test->way = Way::range;
        test->range = test->ranges.empty() ? Range{1, 0} : test->ranges[0];
        return;
    }
    if (column.bits > max_table_bits) {
        test->way = Way::ranges;
        return;
    }
    test->way = Way::table;
    test->table = Buffer<std::uint8_t>(engine.memory(), std::uint64_t(1) << column.bits);
    std::fill_n(test->table.data(), test->table.size(), 0);
    for (const Range &range : test->ranges) {
        std::fill(test->table.data() + range.low, test->table.data() + range.high + 1, 1);
    }
}

void RowTests::add_codes(HostEngine &engine, const StoreParts &parts, const ColumnTest &asked, Test *test) {
    const StoredColumn &column = parts.layout.column[asked.column];
    const std::uint64_t codes = std::uint64_t(1) << column.bits;
    test->way = Way::table;
    test->table = Buffer<std::uint8_t>(engine.memory(), codes);
    std::uint64_t first = codes;
    std::uint64_t last = 0;
    std::uint64_t passing = 0;
    for (std::uint64_t word = 0; word * 64 < codes; ++word) {
        const std::uint64_t bits = word < asked.count ? asked.codes[word] : 0;
        for (std::uint64_t code = word * 64; code < std::min(codes, word * 64 + 64); ++code) {
            const auto passes = static_cast<std::uint8_t>(bits >> (code % 64) & 1);
            test->table[code] = passes;
            passing += passes;
            first = passes != 0 ? std::min(first, code) : first;
            last = passes != 0 ? code : last;
        }
    }
    if (passing == 0 || last - first + 1 == passing) {
        test->way = Way::range;
        test->range = passing == 0 ? Range{1, 0} : Range{first, last};
    }
}

template <typename Code>
std::uint64_t RowTests::look(const Test &test, const Code *codes, std::uint64_t selected) {
    std::uint8_t hits[group];
    switch (test.way) {
        case Way::range: {
            const auto low = static_cast<Code>(test.range.low);
            const auto width = static_cast<Code>(test.range.high - test.range.low);
            for (std::uint32_t i = 0; i < group; ++i) {
                hits[i] = static_cast<Code>(codes[i] - low) <= width ? 1 : 0;
            }
            return selected & gather_bits(hits);
        }
        case Way::table:
            for (std::uint32_t i = 0; i < group; ++i) {
                hits[i] = test.table[codes[i]];
            }
            return selected & gather_bits(hits);
        default: {
            std::uint64_t passing = 0;
            for (std::uint64_t bits = selected; bits != 0; bits &= bits - 1) {
                const std::uint32_t i = lowest_bit(bits);
                const auto range =
                    std::lower_bound(test.ranges.begin(), test.ranges.end(), std::uint64_t(codes[i]),
                                     [](const Range &a, std::uint64_t code) { return a.high < code; });
                if (range != test.ranges.end() && codes[i] >= range->low) {
                    passing |= std::uint64_t(1) << i;
                }
            }
            return passing;
        }
    }
}

void RowTests::apply(std::uint64_t first, std::uint64_t groups, std::uint64_t *selected) const {
    for (const Test &test : tests_) {
        if (test.nulls != nullptr) {
            const std::uint64_t flip = test.wants_null ? 0 : UINT64_MAX;
            for (std::uint64_t i = 0; i < groups; ++i) {
                selected[i] &= test.nulls[first + i] ^ flip;
            }
        }
        if (test.way == Way::nulls) {
            continue;
        }
        with_code(test.bits, [&]<typename Code>(Code) {
            Code codes[group];
            for (std::uint64_t i = 0; i < groups; ++i) {
                if (selected[i] != 0) {
                    unpack_group(test.codes, first + i, test.bits, codes);
                    selected[i] = look(test, codes, selected[i]);
                }
            }
        });
    }
}

}  // namespace gpu_engine::host
