// Binary search with reordering, of one key width.
#pragma once

#include "bench/paper/variants/reorder.cuh"

namespace gpu_engine::bench::paper {

template <typename Key>
bool reorder_binary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                    const Batch<Key> &batch) {
    constexpr int threads = usual_sort_threads;
    constexpr int items = usual_sort_items;
    if (variant.threads == threads && variant.items == items) {
        switch (variant.pinning) {
            case Pinning::none:
                if constexpr (sizeof(Key) > 4) {
                    return launch_reordering<BinarySearch<Key, Pinning::none>, threads, items>(
                        call, index, variant, batch);
                }
                break;
            case Pinning::steps:
                return launch_reordering<BinarySearch<Key, Pinning::steps>, threads, items>(call, index,
                                                                                            variant, batch);
            case Pinning::full:
                return launch_reordering<BinarySearch<Key, Pinning::full>, threads, items>(call, index,
                                                                                           variant, batch);
        }
    }
    if constexpr (sizeof(Key) == 4) {
        if (variant.pinning == Pinning::none) {
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
                    break;
            }
        }
    }
    return false;
}

}  // namespace gpu_engine::bench::paper
