// Lookups in the caller's order, of one key width.
#pragma once

#include "studies/paper/variants/launch.cuh"

namespace gpu_engine::bench::paper {

template <typename Key>
bool look_up_binary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                    const Batch<Key> &batch) {
    switch (variant.pinning) {
        case Pinning::none:
            return launch_lookup<BinarySearch<Key, Pinning::none>>(call, index, variant, batch);
        case Pinning::steps:
            return launch_lookup<BinarySearch<Key, Pinning::steps>>(call, index, variant, batch);
        case Pinning::full:
            return launch_lookup<BinarySearch<Key, Pinning::full>>(call, index, variant, batch);
    }
    return false;
}

template <typename Key>
bool look_up_kary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                  const Batch<Key> &batch) {
    const auto launch = [&]<typename Search>(Search *) {
        return launch_lookup<Search>(call, index, variant, batch);
    };
    switch (variant.together) {
        case 1:
            return with_lanes<Key, 1>(variant.fanout, launch);
        case 2:
            return with_lanes<Key, 2>(variant.fanout, launch);
        default:
            return false;
    }
}

}  // namespace gpu_engine::bench::paper
