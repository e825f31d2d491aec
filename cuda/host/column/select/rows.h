// The rows of a run: which are alive, which are visible, and where in the heap they lie.
#pragma once

#include <algorithm>

#include "common/heap_blocks.h"
#include "gpu_engine/packing.h"
#include "host/column/load/store.h"

namespace gpu_engine::host {

// Selects, by a bit a row, the live rows of `groups` groups from `first` on.
void select_live(const StoreParts &parts, const DeadBitmap *dead, std::uint64_t first, std::uint64_t groups,
                 std::uint64_t *selected);

// Leaves only the visible ones among the selected rows of at most batch_groups groups. Those on unknown
// blocks become the unresolved ones. Returns false when there are no unresolved ones.
bool split_unresolved(const StoreParts &parts, const KnownBlocks &known, std::uint64_t first,
                      std::uint64_t groups, std::uint64_t *selected, std::uint64_t *unresolved);

// Calls visit(span, first row, last row + 1) for the spans of rows in [begin, end).
template <typename Visit>
void for_spans(const StoreParts &parts, std::uint64_t begin, std::uint64_t end, Visit visit) {
    const Span *spans = parts.spans.data();
    const std::uint64_t count = parts.count.spans;
    for (std::uint64_t i = find_span(spans, count, begin); i < count && spans[i].row < end; ++i) {
        const std::uint64_t next = i + 1 < count ? spans[i + 1].row : parts.layout.rows;
        visit(spans[i], std::max<std::uint64_t>(spans[i].row, begin), std::min(next, end));
    }
}

// Calls visit(row, tid) for each selected row.
template <typename Visit>
void for_selected(const StoreParts &parts, std::uint64_t first, std::uint64_t groups,
                  const std::uint64_t *selected, Visit visit) {
    const std::uint64_t begin = first * packing::group;
    const std::uint64_t end = std::min(begin + groups * packing::group, parts.layout.rows);
    for_spans(parts, begin, end, [&](const Span &span, std::uint64_t from, std::uint64_t to) {
        for (std::uint64_t row = from; row < to; ++row) {
            if ((selected[row / packing::group - first] >> (row % packing::group) & 1) != 0) {
                visit(row, tid_in_span(span, parts.bitmaps.data(), row));
            }
        }
    });
}

}  // namespace gpu_engine::host
