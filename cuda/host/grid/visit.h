// Visits the entries that lie in a box: walks through rows of cells, down into lower grids.
//
// A row is a run of cells along the last column. Cells inside the box in every column are a run of entries
// that needs no test; of the others only the columns at whose bounds they lie are compared.
#pragma once

#include <cstdint>

#include "host/grid/file.h"

namespace gpu_engine::host {

// The slots of a column that a box touches, and whether the outermost of them reach beyond it.
struct Span {
    std::uint32_t low;
    std::uint32_t high;
    bool test_low;
    bool test_high;

    std::uint64_t size() const noexcept { return std::uint64_t(high) - low + 1; }
    bool tested(std::uint32_t slot) const noexcept {
        return (slot == low && test_low) || (slot == high && test_high);
    }
};

// Rows of a grid that a box touches; none when it is empty.
struct Rows {
    Span spans[max_grid_columns];
    std::uint64_t count;
};

// Returns the rows of cells that meet the box. Only the columns in `bounded` are looked at; all slots of the
// others are inside.
inline Rows rows_of(const GridParts &parts, const GridScales &grid, const Box &box, std::uint32_t bounded,
                    std::uint32_t null_only) noexcept {
    Rows rows = {};
    std::uint64_t count = 1;
    for (std::uint32_t c = 0; c < parts.columns; ++c) {
        const Scale &scale = grid.columns[c];
        Span &span = rows.spans[c];
        if ((null_only >> c & 1) != 0) {
            if (!scale.has_null) {
                return rows;
            }
            span = {scale.slots, scale.slots, false, false};
        } else if ((bounded >> c & 1) != 0) {
            const std::uint64_t low = box.low[c];
            const std::uint64_t high = box.high[c];
            if (low > high) {
                return rows;
            }
            span.low = scale.slot_of(low);
            span.high = scale.slot_of(high);
            span.test_low = low > (span.low == 0 ? 0 : scale.lowest[span.low - 1]);
            span.test_high =
                high < (span.high + 1 == scale.slots ? parts.keys[c].highest() : scale.lowest[span.high] - 1);
        } else {
            span = {0, scale.all_slots() - 1, false, false};
        }
        if (c + 1 < parts.columns) {
            count *= span.size();
        }
    }
    rows.count = count;
    return rows;
}

// Calls sink.run(first, last) for positions that are inside, and sink.tested(first, last, columns) for those
// whose keys in `columns` must be compared with the box.
template <typename Sink>
class BoxWalk {
  public:
    BoxWalk(const GridParts &parts, const Box &box, Sink &sink) : parts_(parts), box_(box), sink_(sink) {}

    void visit(const GridScales &grid, const Rows &rows, std::uint64_t first_row, std::uint64_t last_row) {
        const std::uint32_t last_column = parts_.columns - 1;
        const Span &along = rows.spans[last_column];
        for (std::uint64_t row = first_row; row < last_row; ++row) {
            std::uint64_t rest = row;
            std::uint64_t stride = grid.columns[last_column].all_slots();
            std::uint64_t cell = grid.first_cell;
            std::uint32_t tested = 0;
            for (std::uint32_t c = last_column; c-- > 0;) {
                const Span &span = rows.spans[c];
                const auto slot = static_cast<std::uint32_t>(span.low + rest % span.size());
                rest /= span.size();
                cell += slot * stride;
                stride *= grid.columns[c].all_slots();
                tested |= span.tested(slot) ? 1U << c : 0U;
            }
            std::uint64_t first = along.low;
            std::uint64_t last = std::uint64_t(along.high) + 1;
            if (along.test_low || (along.test_high && first + 1 == last)) {
                visit_cell(cell + first, tested | 1U << last_column);
                ++first;
            }
            if (along.test_high && first < last) {
                --last;
                visit_cell(cell + last, tested | 1U << last_column);
            }
            if (first < last) {
                visit_run(cell + first, cell + last, tested);
            }
        }
    }

  private:
    void visit_run(std::uint64_t first_cell, std::uint64_t last_cell, std::uint32_t tested) {
        const std::uint64_t first = parts_.position(first_cell);
        const std::uint64_t last = parts_.position(last_cell);
        if (first == last) {
            return;
        }
        if (tested == 0) {
            sink_.run(first, last);
        } else if (last - first <= (last_cell - first_cell) * parts_.overfull) {
            sink_.tested(first, last, tested);
        } else {
            for (std::uint64_t cell = first_cell; cell < last_cell; ++cell) {
                visit_cell(cell, tested);
            }
        }
    }

    void visit_cell(std::uint64_t cell, std::uint32_t tested) {
        const std::uint64_t first = parts_.position(cell);
        const std::uint64_t last = parts_.position(cell + 1);
        if (first == last) {
            return;
        }
        const std::uint32_t word = parts_.directory[cell];
        if ((word & has_grid) != 0) {
            const GridScales grid = parts_.lower(word & ~has_grid);
            const Rows rows = rows_of(parts_, grid, box_, tested, 0);
            visit(grid, rows, 0, rows.count);
        } else if (last - first > parts_.max_in_a_cell) {
            // All entries of the cell are alike, so one of them stands for all.
            bool inside = true;
            for (std::uint32_t c = 0; c < parts_.columns; ++c) {
                const std::uint64_t key = parts_.keys[c].key(first);
                inside = inside && ((tested >> c & 1) == 0 || (key >= box_.low[c] && key <= box_.high[c]));
            }
            if (inside) {
                sink_.run(first, last);
            }
        } else {
            sink_.tested(first, last, tested);
        }
    }

    const GridParts &parts_;
    const Box &box_;
    Sink &sink_;
};

}  // namespace gpu_engine::host
