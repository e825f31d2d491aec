// Counting the entries of boxes: those inside the box by the directory alone.
#pragma once

#include "device/grid/boxes.cuh"

namespace gpu_engine::device {

class CountSink {
  public:
    static constexpr bool together = false;
    struct Job {
        std::uint32_t *counts;
    };

    __device__ explicit CountSink(const Job &job) : job_(job) {}
    __device__ void add(std::uint32_t entries) { found_ += entries; }
    __device__ void take(std::uint32_t, bool hit, std::uint32_t) { found_ += hit ? 1 : 0; }
    __device__ void finish(std::uint32_t box) {
        const std::uint32_t sum = __reduce_add_sync(every_lane, found_);
        if (threadIdx.x % 32 == 0 && sum > 0) {
            atomicAdd(job_.counts + box, sum);
        }
    }

  private:
    const Job &job_;
    std::uint32_t found_ = 0;
};

template <typename Key>
void count_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                 std::uint32_t *counts) {
    launch_boxes<CountSink>(call, grid, boxes, dead, CountSink::Job{counts});
}

}  // namespace gpu_engine::device
