// A grid file in the host's memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "common/grid/grid.h"
#include "gpu_engine/grid.h"
#include "gpu_engine/heap_blocks.h"
#include "host/buffer.h"
#include "host/store.h"

namespace gpu_engine::host {

// Keys of one width, in the order of the cells; NULLs are 0.
struct GridColumn {
    Buffer<std::uint32_t> narrow;
    Buffer<std::uint64_t> wide;
    bool is_wide = false;

    std::uint64_t key(std::uint64_t i) const noexcept { return is_wide ? wide[i] : narrow[i]; }
    std::uint64_t highest() const noexcept { return is_wide ? UINT64_MAX : UINT32_MAX; }
    std::uint64_t bytes() const noexcept { return narrow.bytes() + wide.bytes(); }
};

// Slots of a column in one grid: `slots` of keys, and one more behind them where there are NULLs.
struct Scale {
    const std::uint64_t *lowest;  // lowest keys of slots 1, 2, ...
    std::uint32_t slots;
    bool has_null;

    std::uint32_t all_slots() const noexcept { return slots + (has_null ? 1 : 0); }
    std::uint32_t slot_of(std::uint64_t key) const noexcept {
        return static_cast<std::uint32_t>(std::upper_bound(lowest, lowest + (slots - 1), key) - lowest);
    }
};

// A grid of any level.
struct GridScales {
    Scale columns[max_grid_columns];
    std::uint64_t first_cell;
};

struct GridParts {
    std::uint32_t columns = 0;
    std::uint32_t max_in_a_cell = UINT32_MAX;
    std::uint64_t overfull = UINT32_MAX;  // more entries a cell are worth a look at each cell of a run
    std::uint32_t levels = 1;
    std::uint64_t entries = 0;
    std::uint64_t cells = 0;
    GridColumn keys[max_grid_columns];
    Buffer<Tid> tids;
    Buffer<std::uint32_t> order;  // the number of the given entry that lies at each position
    Buffer<std::uint64_t> scales[max_grid_columns];
    std::uint32_t slots[max_grid_columns] = {};  // number of the first level's slots of keys
    std::uint32_t null_columns = 0;
    Buffer<std::uint32_t> directory;
    Buffer<LowerGrid> grids;
    std::uint64_t grid_count = 0;
    Buffer<std::uint64_t> lower_scales;

    std::uint32_t position(std::uint64_t cell) const noexcept {
        const std::uint32_t word = directory[cell];
        return (word & has_grid) != 0 ? grids[word & ~has_grid].first : word;
    }
    GridScales first_level() const noexcept;
    GridScales lower(std::uint32_t number) const noexcept;
};

// The bounds of one call in each column, read from the caller once.
struct Box {
    std::uint64_t low[max_grid_columns];
    std::uint64_t high[max_grid_columns];
    std::uint32_t bounded = 0;    // columns that must lie between low and high
    std::uint32_t null_only = 0;  // columns that must be NULL
};

class HostGridFile final : public HostStore<GridFile> {
  public:
    HostGridFile(HostEngine &engine, GridParts parts)
        : HostStore(engine, parts.entries), parts_(std::move(parts)) {}

    std::uint64_t bytes() const noexcept override;
    GridShape shape() const noexcept override;
    std::uint32_t key_bytes(std::uint32_t column) const noexcept override {
        return parts_.keys[column].is_wide ? 8 : 4;
    }
    Status set_dead(Stream &stream, const std::uint64_t *bitmap, std::uint64_t version) noexcept override;
    Status match(Stream &stream, const GridPoints &points, std::uint64_t count, std::uint64_t *offsets,
                 Tid *tids, std::uint64_t capacity) const noexcept override;
    Status count(Stream &stream, const GridBoxes &boxes, std::uint64_t count,
                 std::uint32_t *counts) const noexcept override;
    Status search(Stream &stream, const GridBoxes &boxes, std::uint64_t count, std::uint64_t *offsets,
                  Tid *tids, std::uint64_t capacity) const noexcept override;
    Status count_on(Stream &stream, const GridBoxes &boxes, std::uint64_t count, const HeapBlocks &blocks,
                    std::uint64_t *counts, std::uint64_t *offsets, Tid *tids,
                    std::uint64_t capacity) const noexcept override;

    const GridParts &parts() const noexcept { return parts_; }

  private:
    Box read_box(const GridBoxes &boxes, std::uint64_t i) const noexcept;
    Box read_point(const GridPoints &points, std::uint64_t i) const noexcept;
    // Gathers the TIDs that `visit(sink, piece)` meets. Pieces come `parts` to a request.
    template <typename Visit>
    Status write_tids(const Workers &workers, std::uint64_t count, std::uint64_t parts, std::uint64_t grain,
                      const Visit &visit, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) const;

    GridParts parts_;
};

}  // namespace gpu_engine::host
