// A grid file in a device's memory.
#pragma once

#include <cstdint>

#include "device/grid/view.h"
#include "device/store.h"
#include "gpu_engine/grid.h"

namespace gpu_engine::device {

// The parts of a file. Columns are kept as bytes of their own width; scales are those of the view in use.
struct GridParts {
    std::uint32_t columns = 0;
    std::uint64_t entries = 0;
    GridShape shape = {};
    bool narrow = true;  // all columns have 32 bits: `view32` is in use, else `view64`
    Buffer<char> keys[max_grid_columns];
    Buffer<Tid> tids;
    Buffer<std::uint32_t> order;  // the number of the given entry that lies at each position
    Buffer<std::uint32_t> directory;
    Buffer<LowerGrid> grids;
    Buffer<char> scales[max_grid_columns];
    Buffer<char> top;
    Buffer<char> lower_scales;
    std::uint64_t last_block = 0;  // the highest heap block of all TIDs
    GridView<std::uint32_t> view32 = {};
    GridView<std::uint64_t> view64 = {};

    // Calls run(view) with the one in use.
    template <typename Run>
    void with_view(Run run) const {
        if (narrow) {
            run(view32);
        } else {
            run(view64);
        }
    }
    std::uint64_t directory_bytes() const noexcept;
    std::uint64_t bytes() const noexcept;
    void set_stream(cudaStream_t stream) noexcept;
};

class DeviceGridFile final : public DeviceStore<GridFile> {
  public:
    // Waits for the device.
    DeviceGridFile(const Call &call, GridParts parts);

    std::uint64_t bytes() const noexcept override;
    GridShape shape() const noexcept override { return parts_.shape; }
    std::uint32_t key_bytes(std::uint32_t column) const noexcept override {
        return !parts_.narrow && (parts_.view64.wide >> column & 1) != 0 ? 8 : 4;
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
    GridParts parts_;
};

// Makes the file's parts of a caller's entries, of which there is at least one, and which pass check_grid.
// Waits for the device.
GridParts build_grid(const Call &call, const GridEntries &entries, const GridOptions &options);

}  // namespace gpu_engine::device
