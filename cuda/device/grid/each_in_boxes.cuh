// Doing something with every entry of boxes: counting visible ones, writing TIDs.
#pragma once

#include "device/grid/boxes.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {

class EachSink {
  public:
    using Shape = BoxShape<BoxPolicy>;
    static constexpr bool together = true;
    using Job = EachJob;

    static void prepare(const Call &, const Job &, std::uint64_t, bool) {}

    __device__ EachSink(const Job &job, std::uint32_t box, bool alone) : job_(job), box_(box), alone_(alone) {
        if (job.out != nullptr) {
            limit_ = job.limits[box];
            next_ = alone ? job.cursors[box] : 0;
        }
    }

    // Takes the hits of a window. All lanes call it.
    template <int Step>
    __device__ void take(std::uint32_t bits, std::uint32_t at) {
        if (takes_all()) {
            write<Step>(bits, at);
            return;
        }
        for (; __any_sync(every_lane, bits != 0); bits &= bits - 1) {
            take_one(bits != 0, window_position<Step>(at, lowest_bit(bits)));
        }
    }
    // Says whether the TID of every live entry is written.
    __device__ bool takes_all() const { return job_.out != nullptr && !job_.by_block; }
    // Writes the TIDs of a run; all lanes call it.
    __device__ void take_all(std::uint32_t first, std::uint32_t last) {
        if (first >= last) {
            return;
        }
        const std::uint64_t begin = reserve(last - first);
        if (begin >= limit_) {
            return;
        }
        const std::uint32_t end =
            limit_ - begin < last - first ? first + static_cast<std::uint32_t>(limit_ - begin) : last;
        constexpr int together = 4;
        for (std::uint32_t at = first + threadIdx.x % 32; at < end; at += 32 * together) {
            Tid tids[together];
#pragma unroll
            for (int k = 0; k < together; ++k) {
                if (at + 32 * k < end) {
                    tids[k] = job_.tids[at + 32 * k];
                }
            }
#pragma unroll
            for (int k = 0; k < together; ++k) {
                if (at + 32 * k < end) {
                    job_.out[begin + (at - first) + 32 * k] = tids[k];
                }
            }
        }
        __syncwarp();
    }
    __device__ void finish() {
        if (job_.out != nullptr) {
            return;
        }
        const std::uint32_t on = sum_of_warp(on_);
        const std::uint32_t elsewhere = sum_of_warp(elsewhere_);
        if (threadIdx.x % 32 == 0) {
            if (on > 0) {
                atomicAdd(reinterpret_cast<unsigned long long *>(job_.on) + box_,
                          static_cast<unsigned long long>(on));
            }
            if (elsewhere > 0) {
                atomicAdd(reinterpret_cast<unsigned long long *>(job_.elsewhere) + box_,
                          static_cast<unsigned long long>(elsewhere));
            }
        }
    }

  private:
    __device__ static std::uint32_t lowest_bit(std::uint32_t bits) {
        return bits != 0 ? static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1 : 0;
    }

    __device__ void take_one(bool hit, std::uint32_t position) {
        Tid tid;
        Seen seen = Seen::no;
        if (hit) {
            tid = job_.tids[position];
            seen = job_.by_block ? look_up(job_.known, tid) : Seen::unknown;
        }
        if (job_.out == nullptr) {
            on_ += seen == Seen::yes ? 1 : 0;
            elsewhere_ += seen == Seen::unknown ? 1 : 0;
            return;
        }
        const unsigned wanted = __ballot_sync(every_lane, seen == Seen::unknown);
        if (wanted == 0) {
            return;
        }
        const unsigned lane = threadIdx.x % 32;
        const std::uint64_t begin = reserve(__popc(wanted));
        // The boxes may have changed since they were counted, so nothing is written beyond a box's own
        // places.
        const std::uint64_t place = begin + __popc(wanted & ((1U << lane) - 1));
        if (seen == Seen::unknown && place < limit_) {
            job_.out[place] = tid;
        }
    }

    // Writes the TIDs of all hits.
    template <int Step>
    __device__ void write(std::uint32_t bits, std::uint32_t at) {
        const unsigned lane = threadIdx.x % 32;
        const std::uint32_t own = __popc(bits);
        std::uint32_t sum = own;
#pragma unroll
        for (unsigned distance = 1; distance < 32; distance *= 2) {
            const std::uint32_t before = __shfl_up_sync(every_lane, sum, distance);
            sum += lane >= distance ? before : 0;
        }
        const std::uint32_t total = __shfl_sync(every_lane, sum, 31);
        if (total == 0) {
            return;
        }
        std::uint64_t place = reserve(total) + (sum - own);
        constexpr int together = 4;
        while (bits != 0) {
            Tid tids[together];
            std::uint32_t rest = bits;
#pragma unroll
            for (int k = 0; k < together; ++k) {
                if (rest != 0) {
                    tids[k] = job_.tids[window_position<Step>(at, lowest_bit(rest))];
                    rest &= rest - 1;
                }
            }
#pragma unroll
            for (int k = 0; k < together; ++k) {
                // Nothing is written beyond a box's own places here either.
                if (bits != 0 && place < limit_) {
                    job_.out[place] = tids[k];
                    ++place;
                }
                bits &= bits - 1;
            }
        }
        __syncwarp();
    }

    // Reserves places for so many TIDs. All lanes call it.
    __device__ std::uint64_t reserve(std::uint32_t count) {
        unsigned long long begin = next_;
        if (alone_) {
            next_ += count;
            return begin;
        }
        if (threadIdx.x % 32 == 0) {
            begin = atomicAdd(reinterpret_cast<unsigned long long *>(job_.cursors) + box_,
                              static_cast<unsigned long long>(count));
        }
        return __shfl_sync(every_lane, begin, 0);
    }

    const Job &job_;
    std::uint32_t box_;
    bool alone_;
    std::uint64_t next_ = 0;
    std::uint64_t limit_ = 0;
    std::uint32_t on_ = 0;
    std::uint32_t elsewhere_ = 0;
};

template <typename Key>
void each_in_boxes(const Call &call, const GridView<Key> &grid, const BoxBatch &boxes, const DeadView &dead,
                   const EachJob &job) {
    launch_boxes<EachSink>(call, grid, boxes, dead, job);
}

}  // namespace gpu_engine::device
