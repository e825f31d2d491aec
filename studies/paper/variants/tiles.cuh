// Tiles of all shapes.
#pragma once

#include "studies/paper/variants/reorder.cuh"

namespace gpu_engine::bench::paper {

template <int Threads>
bool reorder_by_tiles(const device::Call &call, const Index<std::uint32_t> &index, const Variant &variant,
                      const Batch<std::uint32_t> &batch) {
    using Search = BinarySearch<std::uint32_t, Pinning::none>;
    switch (variant.items) {
        case 1:
            return launch_reordering<Search, Threads, 1>(call, index, variant, batch);
        case 2:
            return launch_reordering<Search, Threads, 2>(call, index, variant, batch);
        case 4:
            return launch_reordering<Search, Threads, 4>(call, index, variant, batch);
        case 8:
            return launch_reordering<Search, Threads, 8>(call, index, variant, batch);
        case 16:
            return launch_reordering<Search, Threads, 16>(call, index, variant, batch);
        default:
            return false;
    }
}

}  // namespace gpu_engine::bench::paper
