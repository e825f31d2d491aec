// Counting the entries of boxes: those inside the box by the directory alone.
#pragma once

#include "device/grid/boxes.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {

struct CountPolicy : BoxPolicy {
    static constexpr int threads = 896;
    static constexpr int blocks = 1;
    static constexpr int cell_chunks_32 = 5;
};

class CountSink {
  public:
    using Shape = BoxShape<CountPolicy>;
    static constexpr bool together = false;
    struct Job {
        std::uint32_t *counts;
    };

    // Boxes that several warps look at are counted by additions.
    static void prepare(const Call &call, const Job &job, std::uint64_t boxes, bool alone) {
        if (!alone) {
            call.fill(job.counts, 0, boxes * sizeof(std::uint32_t));
        }
    }

    __device__ CountSink(const Job &job, std::uint32_t box, bool alone)
        : job_(job), box_(box), alone_(alone) {}
    __device__ void add(std::uint32_t entries) { found_ += entries; }
    template <int Step>
    __device__ void take(std::uint32_t bits, std::uint32_t) {
        found_ += __popc(bits);
    }
    __device__ void finish() {
        const std::uint32_t sum = sum_of_warp(found_);
        if (threadIdx.x % 32 != 0) {
            return;
        }
        if (alone_) {
            job_.counts[box_] = sum;
        } else if (sum > 0) {
            atomicAdd(job_.counts + box_, sum);
        }
    }

  private:
    const Job &job_;
    std::uint32_t box_;
    bool alone_;
    std::uint32_t found_ = 0;
};

template <typename Key>
void count_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                 std::uint32_t *counts) {
    launch_boxes<CountSink>(call, grid, boxes, dead, CountSink::Job{counts});
}

}  // namespace gpu_engine::device
