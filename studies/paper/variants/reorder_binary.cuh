// Binary search with reordering, of one key width.
#pragma once

#include "studies/paper/variants/reorder.cuh"

namespace gpu_engine::bench::paper {

template <typename Key, Pinning Pinned>
bool reorder_pinned(const device::Call &call, const Index<Key> &index, const Variant &variant,
                    const Batch<Key> &batch) {
    using Search = BinarySearch<Key, Pinned>;
    if (variant.threads != usual_sort_threads) {
        return false;
    }
    if (variant.items == usual_sort_items) {
        return launch_reordering<Search, usual_sort_threads, usual_sort_items>(call, index, variant, batch);
    }
    // The table of combinations has larger tiles.
    if constexpr (sizeof(Key) == 4) {
        if (variant.items == 8) {
            return launch_reordering<Search, usual_sort_threads, 8>(call, index, variant, batch);
        }
        if (variant.items == 16) {
            return launch_reordering<Search, usual_sort_threads, 16>(call, index, variant, batch);
        }
    }
    return false;
}

template <typename Key>
bool reorder_binary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                    const Batch<Key> &batch) {
    switch (variant.pinning) {
        case Pinning::none:
            if constexpr (sizeof(Key) == 4) {
                switch (variant.threads) {
                    case 128:
                        return reorder_by_tiles<128>(call, index, variant, batch);
                    case 256:
                        return reorder_by_tiles<256>(call, index, variant, batch);
                    case 512:
                        return reorder_by_tiles<512>(call, index, variant, batch);
                    case 1024:
                        return reorder_by_tiles<1024>(call, index, variant, batch);
                    default:
                        return false;
                }
            } else {
                return reorder_pinned<Key, Pinning::none>(call, index, variant, batch);
            }
        case Pinning::steps:
            return reorder_pinned<Key, Pinning::steps>(call, index, variant, batch);
        case Pinning::full:
            return reorder_pinned<Key, Pinning::full>(call, index, variant, batch);
    }
    return false;
}

}  // namespace gpu_engine::bench::paper
