// Doing something with every entry of boxes: counting those on some heap blocks, writing TIDs.
#pragma once

#include "device/grid/boxes.cuh"

namespace gpu_engine::device {

class EachSink {
  public:
    static constexpr bool together = true;
    using Job = EachJob;

    __device__ explicit EachSink(const Job &job) : job_(job) {}

    // All lanes call it.
    __device__ void take(std::uint32_t box, bool hit, std::uint32_t position) {
        Tid tid;
        bool on = false;
        if (hit) {
            tid = job_.tids[position];
            if (job_.map != nullptr) {
                const std::uint64_t block = static_cast<std::uint64_t>(tid.block_high) << 16 | tid.block_low;
                on = block < job_.map_blocks && (job_.map[block / 8] >> (block % 8) & 1) != 0;
            }
        }
        if (job_.out == nullptr) {
            on_ += on ? 1 : 0;
            elsewhere_ += hit && !on ? 1 : 0;
            return;
        }
        const unsigned wanted = __ballot_sync(every_lane, hit && !on);
        if (wanted == 0) {
            return;
        }
        const unsigned lane = threadIdx.x % 32;
        unsigned long long begin = 0;
        if (lane == 0) {
            begin = atomicAdd(reinterpret_cast<unsigned long long *>(job_.cursors) + box,
                              static_cast<unsigned long long>(__popc(wanted)));
        }
        begin = __shfl_sync(every_lane, begin, 0);
        // The boxes may have changed since they were counted: never beyond a box's own places.
        const std::uint64_t place = begin + __popc(wanted & ((1U << lane) - 1));
        if (hit && !on && place < job_.limits[box]) {
            job_.out[place] = tid;
        }
    }
    // Whether every live entry's TID is written.
    __device__ bool takes_all() const { return job_.out != nullptr && job_.map == nullptr; }
    // Writes the TIDs of a run; all lanes call it.
    __device__ void take_all(std::uint32_t box, std::uint32_t first, std::uint32_t last) {
        if (first >= last) {
            return;
        }
        const unsigned lane = threadIdx.x % 32;
        unsigned long long begin = 0;
        if (lane == 0) {
            begin = atomicAdd(reinterpret_cast<unsigned long long *>(job_.cursors) + box,
                              static_cast<unsigned long long>(last - first));
        }
        begin = __shfl_sync(every_lane, begin, 0);
        const std::uint64_t limit = job_.limits[box];
        for (std::uint32_t at = first + lane; at < last; at += 32) {
            const std::uint64_t place = begin + (at - first);
            if (place < limit) {
                job_.out[place] = job_.tids[at];
            }
        }
        __syncwarp();
    }
    __device__ void finish(std::uint32_t box) {
        if (job_.out != nullptr) {
            return;
        }
        const std::uint32_t on = __reduce_add_sync(every_lane, on_);
        const std::uint32_t elsewhere = __reduce_add_sync(every_lane, elsewhere_);
        if (threadIdx.x % 32 == 0) {
            if (on > 0) {
                atomicAdd(reinterpret_cast<unsigned long long *>(job_.on) + box,
                          static_cast<unsigned long long>(on));
            }
            if (elsewhere > 0) {
                atomicAdd(reinterpret_cast<unsigned long long *>(job_.elsewhere) + box,
                          static_cast<unsigned long long>(elsewhere));
            }
        }
    }

  private:
    const Job &job_;
    std::uint32_t on_ = 0;
    std::uint32_t elsewhere_ = 0;
};

template <typename Key>
void each_in_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                   const EachJob &job) {
    launch_boxes<EachSink>(call, grid, boxes, dead, job);
}

}  // namespace gpu_engine::device
