// Entries as pairs of key and TID, in kernels.
#pragma once

#include <cstdint>

#include "device/kary/key.cuh"
#include "gpu_engine/entry.h"

namespace gpu_engine::device {

__device__ __forceinline__ std::uint64_t tid_value(const Tid &tid) {
    return static_cast<std::uint64_t>(tid.block_high) << 32 |
           static_cast<std::uint32_t>(tid.block_low) << 16 | tid.offset;
}

template <typename Key>
struct Entry {
    Key key;
    Tid tid;
};

template <typename Key>
struct EntryLess {
    __device__ bool operator()(const Entry<Key> &a, const Entry<Key> &b) const {
        return less(a.key, b.key) || (equal(a.key, b.key) && tid_value(a.tid) < tid_value(b.tid));
    }
};

}  // namespace gpu_engine::device
