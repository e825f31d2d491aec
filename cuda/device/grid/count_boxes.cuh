// Counting the entries of boxes: those inside the box by the directory alone.
#pragma once

#include "device/grid/boxes.cuh"

namespace gpu_engine::device {

class CountSink {
  public:
    using Shape = BoxShape<8, 4, 32>;
    static constexpr bool together = false;
    struct Job {
        std::uint32_t *counts;
    };

    __device__ CountSink(const Job &job, std::uint32_t box, bool) : count_(job.counts + box) {}
    __device__ void add(std::uint32_t entries) { found_ += entries; }
    __device__ void take(bool hit, std::uint32_t) { found_ += hit ? 1 : 0; }
    __device__ void finish() {
        const std::uint32_t sum = __reduce_add_sync(every_lane, found_);
        if (threadIdx.x % 32 == 0 && sum > 0) {
            atomicAdd(count_, sum);
        }
    }

  private:
    std::uint32_t *count_;
    std::uint32_t found_ = 0;
};

template <typename Key>
void count_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                 std::uint32_t *counts) {
    launch_boxes<CountSink>(call, grid, boxes, dead, CountSink::Job{counts});
}

}  // namespace gpu_engine::device
