#include "common/column/layout.h"

#include <algorithm>
#include <cstring>

#include "gpu_engine/guard.h"

namespace gpu_engine {
namespace {

std::uint32_t bits_for_entries(std::uint64_t entries) noexcept {
    return entries <= 1 ? 0 : static_cast<std::uint32_t>(64 - __builtin_clzll(entries - 1));
}

bool lies_within(const WordArea &area, std::uint64_t words, std::uint64_t stream_words) noexcept {
    return area.words == words && area.first <= stream_words && area.words <= stream_words - area.first;
}

bool are_strings_valid(const StoredColumn &column, const StoreLayout &layout) noexcept {
    return column.string_bytes == 0 ||
           (lies_within(column.dictionary, column.string_bytes / 8 + (column.string_bytes % 8 != 0 ? 1 : 0),
                        layout.stream_words) &&
            lies_within(column.blocks, (column.distinct + string_block - 1) / string_block,
                        layout.stream_words));
}

bool is_valid(const StoredColumn &column, const StoreLayout &layout) noexcept {
    const std::uint64_t groups = packed_groups(layout.rows);
    if (column.bits > 64 || column.entry_bits > 64 ||
        !lies_within(column.codes, groups * column.bits, layout.stream_words) ||
        (column.null_bits.words != 0 && !lies_within(column.null_bits, groups, layout.stream_words))) {
        return false;
    }
    if (column.encoding != ColumnEncoding::dictionary) {
        return (column.encoding == ColumnEncoding::frame || column.encoding == ColumnEncoding::plain) &&
               column.strings == 0 && column.string_bytes == 0;
    }
    // A part of a run has the whole run's dictionary, which may have more entries than the part has rows.
    return column.distinct <= Column::max_rows && column.bits == bits_for_entries(column.distinct) &&
           (column.strings != 0
                ? are_strings_valid(column, layout)
                : column.string_bytes == 0 &&
                      lies_within(column.dictionary, packed_groups(column.distinct) * column.entry_bits,
                                  layout.stream_words));
}

std::uint64_t align(std::uint64_t words) noexcept {
    return (words + kept_alignment - 1) / kept_alignment * kept_alignment;
}

std::uint64_t keep(KeptStream *kept, const WordArea &area) {
    const std::uint64_t to = kept->words;
    if (area.words > 0) {
        kept->areas.push_back({area, to});
    }
    kept->words = align(to + area.words);
    return to;
}

Status refused(const char *message) noexcept {
    return make_status(StatusCode::invalid_argument, message);
}

}  // namespace

Status check_store_layout(const StoreLayout &layout) noexcept {
    constexpr std::uint32_t max_page_bytes = 65536;
    constexpr std::uint64_t max_stream_words = std::uint64_t(1) << 40;
    if (layout.columns == 0 || layout.columns > max_store_columns) {
        return refused("a run has 1 to 32 columns");
    }
    if (layout.rows == 0 || layout.rows > Column::max_rows) {
        return refused("a run has 1 to 2^32 - 1 rows");
    }
    if (layout.page_bytes == 0 || layout.page_bytes > max_page_bytes || layout.page_bytes % 8 != 0 ||
        layout.first_byte % 8 != 0 || layout.first_byte > layout.page_bytes || layout.page_words == 0 ||
        layout.page_words > (layout.page_bytes - layout.first_byte) / 8) {
        return refused("no page has this layout");
    }
    if (layout.stream_words > max_stream_words || layout.tid_pages == 0 || layout.tid_pages > layout.rows ||
        layout.tid_pages > UINT32_MAX / layout.page_words) {
        return refused("no run has so many pages");
    }
    for (std::uint32_t c = 0; c < layout.columns; ++c) {
        if (!is_valid(layout.column[c], layout)) {
            return refused("a column contradicts its run");
        }
    }
    return {};
}

KeptStream keep_stream(const StoreLayout &layout) {
    KeptStream kept;
    for (std::uint32_t c = 0; c < layout.columns; ++c) {
        const StoredColumn &column = layout.column[c];
        kept.column[c].null_bits = keep(&kept, column.null_bits);
        kept.column[c].codes = keep(&kept, column.codes);
        const bool has_integers = column.encoding == ColumnEncoding::dictionary && column.strings == 0;
        kept.column[c].dictionary = keep(&kept, has_integers ? column.dictionary : WordArea{});
    }
    kept.words += kept_alignment;
    return kept;
}

KeptStream keep_strings(const StoreLayout &layout) {
    KeptStream kept;
    for (std::uint32_t c = 0; c < layout.columns; ++c) {
        if (layout.column[c].string_bytes > 0) {
            kept.column[c].dictionary = keep(&kept, layout.column[c].dictionary);
            kept.column[c].blocks = keep(&kept, layout.column[c].blocks);
        }
    }
    return kept;
}

std::vector<KeptPiece> pieces_of_pages(const StoreLayout &layout, const KeptStream &kept, std::uint64_t first,
                                       std::uint64_t pages) {
    std::vector<KeptPiece> pieces;
    for (std::uint64_t page = 0; page < pages; ++page) {
        const std::uint64_t begin = (first + page) * layout.page_words;
        const std::uint64_t end = begin + layout.page_words;
        for (const KeptArea &kept_area : kept.areas) {
            const WordArea &area = kept_area.area;
            const std::uint64_t from = std::max(area.first, begin);
            const std::uint64_t to = std::min(area.first + area.words, end);
            if (from < to) {
                pieces.push_back({static_cast<std::uint32_t>(page), static_cast<std::uint32_t>(from - begin),
                                  static_cast<std::uint32_t>(to - from), 0,
                                  kept_area.to + (from - area.first)});
            }
        }
    }
    return pieces;
}

std::vector<ValueRange> copy_ranges(const ColumnTest &test) {
    std::vector<ValueRange> ranges(test.count);
    if (test.count > 0) {
        std::memcpy(ranges.data(), test.ranges, test.count * sizeof(ValueRange));
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].low > ranges[i].high || (i > 0 && ranges[i - 1].high >= ranges[i].low)) {
            throw Failure{refused("ranges must ascend")};
        }
    }
    return ranges;
}

Status check_request(const StoreLayout &layout, const ColumnTest *tests, std::uint32_t test_count) noexcept {
    for (std::uint32_t i = 0; i < test_count; ++i) {
        const ColumnTest &test = tests[i];
        if (test.column >= layout.columns) {
            return refused("the run has no such column");
        }
        const StoredColumn &column = layout.column[test.column];
        switch (test.kind) {
            case TestKind::is_null:
            case TestKind::is_value:
                break;
            case TestKind::ranges:
                if (column.strings != 0) {
                    return refused("strings have no ranges of values");
                }
                break;
            case TestKind::codes:
                if (code_slots(column) == 0 && column.encoding != ColumnEncoding::dictionary) {
                    return refused("the column's codes are too many");
                }
                break;
            default:
                return refused("there is no such test");
        }
    }
    return {};
}

Status check_target(const StoreLayout &layout, const ColumnTarget &target) noexcept {
    if (target.kind == TargetKind::rows) {
        return {};
    }
    if (target.column >= layout.columns) {
        return refused("the run has no such column");
    }
    const StoredColumn &column = layout.column[target.column];
    switch (target.kind) {
        case TargetKind::bins:
            return column.strings != 0 || target.slots == 0 || target.slots > ColumnTarget::max_slots ||
                           target.even >= target.slots
                       ? refused("the column can't be counted by these bins")
                       : Status{};
        case TargetKind::codes:
            return code_slots(column) == 0 && column.encoding != ColumnEncoding::dictionary
                       ? refused("the column's codes are too many")
                       : Status{};
        case TargetKind::bounds:
            return column.strings != 0 ? refused("strings have no bounds") : Status{};
        default:
            return refused("there is no such target");
    }
}

std::uint64_t ColumnStore::places(const ColumnTarget &target) const noexcept {
    if (!check_target(layout(), target).ok()) {
        return 0;
    }
    switch (target.kind) {
        case TargetKind::rows:
            return 1;
        case TargetKind::bins:
            return std::uint64_t(target.slots) + 1;
        case TargetKind::codes:
            return code_slots(layout().column[target.column]) + 1;
        default:
            return bounds_places;
    }
}

}  // namespace gpu_engine
