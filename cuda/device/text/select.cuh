// A block's threads find the k-th highest of its scores, rounded down.
#pragma once

#include <cub/block/block_scan.cuh>

#include <cstdint>

namespace gpu_engine::device {

template <std::uint32_t Threads>
struct ThresholdSelect {
    static constexpr std::uint32_t bin_bits = 10;
    static constexpr std::uint32_t bins = 1 << bin_bits;
    static constexpr std::uint32_t a_thread = (bins + Threads - 1) / Threads;
    using Scan = cub::BlockScan<std::uint32_t, Threads>;

    struct Storage {
        std::uint32_t counts[bins];
        typename Scan::TempStorage scan;
        std::uint32_t bin;
        std::uint32_t above;
    };

    // `each(visit)` has each thread call visit(score) with its scores, which have `bits` bits, two times the
    // same. Returns a value that k of them are no lower than, within 2^(bits - 20) of the highest such; 0
    // when there are fewer than k. `least` is one that they are known to be no lower than.
    template <typename Each>
    static __device__ std::uint32_t run(Storage &storage, std::uint32_t bits, std::uint32_t k,
                                        std::uint32_t least, Each each) {
        std::uint32_t prefix = 0;
        for (std::uint32_t round = 0; round < 2; ++round) {
            const std::uint32_t shift = bits - (round + 1) * bin_bits;
            __syncthreads();
            for (std::uint32_t i = threadIdx.x; i < bins; i += Threads) {
                storage.counts[i] = 0;
            }
            if (threadIdx.x == 0) {
                storage.bin = bins;
            }
            __syncthreads();
            each([&](std::uint32_t score) {
                if (round == 0 || score >> (shift + bin_bits) == prefix) {
                    atomicAdd(&storage.counts[score >> shift & (bins - 1)], 1);
                }
            });
            __syncthreads();
            // Thread 0 has the highest bins.
            std::uint32_t counts[a_thread];
            std::uint32_t sum = 0;
            for (std::uint32_t i = 0; i < a_thread; ++i) {
                const std::uint32_t bin = threadIdx.x * a_thread + i;
                counts[i] = bin < bins ? storage.counts[bins - 1 - bin] : 0;
                sum += counts[i];
            }
            std::uint32_t before;
            Scan(storage.scan).ExclusiveSum(sum, before);
            for (std::uint32_t i = 0; i < a_thread; ++i) {
                if (before < k && before + counts[i] >= k) {
                    storage.bin = bins - 1 - (threadIdx.x * a_thread + i);
                    storage.above = before;
                }
                before += counts[i];
            }
            __syncthreads();
            if (storage.bin == bins) {
                return 0;
            }
            prefix = prefix << bin_bits | storage.bin;
            k -= storage.above;
            // Scores below the bin's beginning are of no interest if the bin begins below `least`.
            if ((prefix << shift) + ((1U << shift) - 1) <= least) {
                return least;
            }
        }
        return prefix << (bits - 2 * bin_bits);
    }
};

}  // namespace gpu_engine::device
