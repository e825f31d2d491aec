#include "host/column/select/tests.h"

#include <algorithm>

#include "gpu_engine/guard.h"
#include "gpu_engine/packing.h"

namespace gpu_engine::host {
namespace {

using packing::group;

// Ranges over codes of at most so many bits are looked up in a table.
constexpr std::uint32_t max_table_bits = 16;

// Codes of so few rows of a group are read one by one.
constexpr std::uint32_t few_rows = 8;
// Up to so many rows are looked up in a table one by one.
constexpr std::uint32_t some_rows = 24;

// The cost of a row, in proportion to that of others.
constexpr double range_cost = 1;
constexpr double table_cost = 2;
constexpr double ranges_cost = 16;

}  // namespace

RowTests::RowTests(HostEngine &engine, const StoreParts &parts, const ColumnTest *tests,
                   std::uint32_t count) {
    require_ok(check_request(parts.layout, tests, count));
    for (std::uint32_t i = 0; i < count && !none_passes_; ++i) {
        add(engine, parts, tests[i]);
    }
    sort();
}

RowTests::Test RowTests::begin(const StoreParts &parts, std::uint32_t number) {
    const StoredColumn &column = parts.layout.column[number];
    const KeptColumn &kept = parts.kept.column[number];
    Test test{};
    test.way = Way::nulls;
    test.bits = column.bits;
    test.value_passes = true;
    test.nulls = column.null_bits.words > 0 ? parts.words.data() + kept.null_bits : nullptr;
    test.codes = parts.words.data() + kept.codes;
    return test;
}

void RowTests::add(HostEngine &engine, const StoreParts &parts, const ColumnTest &requested) {
    Test test = begin(parts, requested.column);
    if (requested.kind == TestKind::is_null) {
        test.null_passes = true;
        test.value_passes = false;
    } else if (requested.kind == TestKind::ranges) {
        add_ranges(engine, parts, requested, &test);
    } else if (requested.kind == TestKind::codes) {
        add_codes(engine, requested, &test);
    }
    finish(parts.layout.column[requested.column], std::move(test));
}

// Makes of a test what is simplest, and keeps it unless all rows pass it.
void RowTests::finish(const StoredColumn &column, Test test) {
    const std::uint64_t all = column.encoding == ColumnEncoding::dictionary
                                  ? std::max<std::uint64_t>(column.distinct, 1)
                                  : low_bits(test.bits);
    double cost = ranges_cost;
    double share = 0.5;
    if (test.way == Way::table) {
        std::uint64_t first = test.table.size();
        std::uint64_t last = 0;
        std::uint64_t passing = 0;
        for (std::uint64_t code = 0; code < test.table.size(); ++code) {
            if (test.table[code] != 0) {
                first = passing == 0 ? code : first;
                last = code;
                ++passing;
            }
        }
        if (passing == 0 || last - first + 1 == passing) {
            test.way = Way::range;
            test.range = passing == 0 ? Range{1, 0} : Range{first, last};
            test.table = Buffer<std::uint8_t>();
        }
        cost = table_cost;
        share = static_cast<double>(passing) / static_cast<double>(test.table.size());
    }
    if (test.way == Way::range) {
        if (test.range.low > test.range.high) {
            test.way = Way::nulls;
            test.value_passes = false;
        } else if (test.range.low == 0 && test.range.high >= low_bits(test.bits)) {
            test.way = Way::nulls;
        }
        cost = range_cost;
        share = (static_cast<double>(test.range.high - test.range.low) + 1) / (static_cast<double>(all) + 1);
    }
    if (test.way == Way::nulls) {
        cost = 0;
        if (!test.value_passes && (!test.null_passes || test.nulls == nullptr)) {
            none_passes_ = true;
            return;
        }
        if (test.value_passes && (test.null_passes || test.nulls == nullptr)) {
            return;
        }
    }
    test.effort = cost / std::max(1 - share, 0.01);
    tests_.push_back(std::move(test));
}

void RowTests::sort() {
    std::stable_sort(tests_.begin(), tests_.end(),
                     [](const Test &a, const Test &b) { return a.effort < b.effort; });
}

void RowTests::add_ranges(HostEngine &engine, const StoreParts &parts, const ColumnTest &requested,
                          Test *test) {
    const StoredColumn &column = parts.layout.column[requested.column];
    const std::uint64_t *dictionary = parts.words.data() + parts.kept.column[requested.column].dictionary;
    // The ranges are read once, because the caller's memory may change.
    const std::vector<ValueRange> ranges = copy_ranges(requested);
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

void RowTests::add_codes(HostEngine &engine, const ColumnTest &requested, Test *test) {
    const std::uint64_t codes = std::uint64_t(1) << test->bits;
    test->way = Way::table;
    test->table = Buffer<std::uint8_t>(engine.memory(), codes);
    for (std::uint64_t word = 0; word * 64 < codes; ++word) {
        const std::uint64_t bits = word < requested.count ? requested.codes[word] : 0;
        for (std::uint64_t code = word * 64; code < std::min(codes, word * 64 + 64); ++code) {
            test->table[code] = static_cast<std::uint8_t>(bits >> (code % 64) & 1);
        }
    }
}

bool RowTests::passes(const Test &test, std::uint64_t code) {
    if (test.way == Way::range) {
        return code - test.range.low <= test.range.high - test.range.low;
    }
    if (test.way == Way::table) {
        return test.table[code] != 0;
    }
    const auto range = std::lower_bound(test.ranges.begin(), test.ranges.end(), code,
                                        [](const Range &a, std::uint64_t b) { return a.high < b; });
    return range != test.ranges.end() && code >= range->low;
}

template <typename Code>
std::uint64_t RowTests::look_at_all(const Test &test, const Code *codes) {
    std::uint8_t hits[group];
    if (test.way == Way::table) {
        for (std::uint32_t i = 0; i < group; ++i) {
            hits[i] = test.table[codes[i]];
        }
    } else {
        const auto low = static_cast<Code>(test.range.low);
        const auto width = static_cast<Code>(test.range.high - test.range.low);
        for (std::uint32_t i = 0; i < group; ++i) {
            hits[i] = static_cast<Code>(codes[i] - low) <= width ? 1 : 0;
        }
    }
    return bits_of_bytes(hits);
}

// Looks at selected rows of a group.
std::uint64_t RowTests::look(const Test &test, std::uint64_t number, std::uint64_t selected) {
    const std::uint32_t count = selected == UINT64_MAX ? group : count_bits(selected);
    std::uint64_t passing = 0;
    if (count <= few_rows) {
        for (std::uint64_t bits = selected; bits != 0; bits &= bits - 1) {
            const std::uint32_t i = lowest_bit(bits);
            const std::uint64_t code = packed_at(test.codes, number * group + i, test.bits);
            passing |= std::uint64_t{passes(test, code)} << i;
        }
        return passing;
    }
    if (test.way == Way::range && test.bits <= 32) {
        return selected & find_in_range(test.codes, number, test.bits,
                                        static_cast<std::uint32_t>(test.range.low),
                                        static_cast<std::uint32_t>(test.range.high - test.range.low));
    }
    return with_code(test.bits, [&]<typename Code>(Code) {
        Code codes[group];
        unpack_group(test.codes, number, test.bits, codes);
        if (test.way != Way::ranges && count > some_rows) {
            return selected & look_at_all(test, codes);
        }
        for (std::uint64_t bits = selected; bits != 0; bits &= bits - 1) {
            const std::uint32_t i = lowest_bit(bits);
            passing |= std::uint64_t{passes(test, codes[i])} << i;
        }
        return passing;
    });
}

void RowTests::apply(std::uint64_t first, std::uint64_t groups, std::uint64_t *selected) const {
    for (const Test &test : tests_) {
        for (std::uint64_t i = 0; i < groups; ++i) {
            const std::uint64_t nulls = test.nulls == nullptr ? 0 : test.nulls[first + i];
            const std::uint64_t passing = test.null_passes ? selected[i] & nulls : 0;
            const std::uint64_t values = selected[i] & ~nulls;
            if (values == 0) {
                selected[i] = passing;
            } else if (test.way == Way::nulls) {
                selected[i] = passing | (test.value_passes ? values : 0);
            } else {
                selected[i] = passing | look(test, first + i, values);
            }
        }
    }
}

}  // namespace gpu_engine::host
