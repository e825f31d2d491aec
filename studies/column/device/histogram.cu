#include "studies/column/device/histogram.cuh"

#include <vector>

namespace gpu_engine::device {
namespace {

// As long as the copies of a block take no more bytes, blocks of histogram_threads fill a multiprocessor.
constexpr std::size_t copies_bytes = 48 << 10;
// The same where one copy fills more.
constexpr std::uint32_t max_copies_shift = 5;

// A block has 32 x 32 threads: neighbours add up neighbouring slots, of 32 blocks' sums at a time.
template <bool Packed>
__global__ void __launch_bounds__(1024)
    block_sums_kernel(const std::uint32_t *sums, std::uint64_t blocks, std::uint32_t words,
                      std::uint32_t slots, std::uint64_t *counts) {
    constexpr int parts = Packed ? 2 : 1;
    __shared__ std::uint64_t partial[parts][32][33];
    const std::uint32_t word = blockIdx.x * 32 + threadIdx.x;
    std::uint64_t own[parts] = {};
    if (word < words) {
        for (std::uint64_t block = threadIdx.y; block < blocks; block += 32) {
            const std::uint32_t sum = sums[block * words + word];
            own[0] += Packed ? sum & 0xffffU : sum;
            if constexpr (Packed) {
                own[1] += sum >> 16;
            }
        }
    }
#pragma unroll
    for (int part = 0; part < parts; ++part) {
        partial[part][threadIdx.y][threadIdx.x] = own[part];
    }
    for (unsigned half = 16; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half) {
#pragma unroll
            for (int part = 0; part < parts; ++part) {
                partial[part][threadIdx.y][threadIdx.x] += partial[part][threadIdx.y + half][threadIdx.x];
            }
        }
    }
    if (threadIdx.y == 0 && word < words) {
#pragma unroll
        for (int part = 0; part < parts; ++part) {
            const std::uint32_t slot = word * parts + part;
            if (slot < slots) {
                // What the packed kernel has handed over was added to the same counts.
                counts[slot] += partial[part][0][threadIdx.x];
            }
        }
    }
}

}  // namespace

void add_block_sums(const Call &call, const std::uint32_t *sums, std::uint64_t blocks, std::uint32_t slots,
                    bool packed, std::uint64_t *counts) {
    const std::uint32_t words = packed ? (slots + 1) / 2 : slots;
    const unsigned grid = (words + 31) / 32;
    if (packed) {
        block_sums_kernel<true><<<grid, dim3(32, 32), 0, call.stream()>>>(sums, blocks, words, slots, counts);
    } else {
        block_sums_kernel<false>
            <<<grid, dim3(32, 32), 0, call.stream()>>>(sums, blocks, words, slots, counts);
    }
    check_launch("block_sums_kernel");
}

HistogramPlan histogram_plan(const DeviceEngine &engine, std::uint32_t slots) {
    HistogramPlan plan{HistogramPlace::block, {slots, 0}, 0};
    if (plan.layout.bytes() > engine.shared_bytes() / 2) {
        const std::size_t packed = (static_cast<std::size_t>(slots) + 1) / 2 * sizeof(std::uint32_t);
        plan.place = packed <= engine.shared_bytes() ? HistogramPlace::packed : HistogramPlace::global;
        return plan;
    }
    while (plan.layout.shift < max_copies_shift &&
           HistogramLayout{slots, plan.layout.shift + 1}.bytes() <= copies_bytes) {
        ++plan.layout.shift;
    }
    return plan;
}

DeviceBins make_device_bins(const Call &call, const HistogramBins &bins, bool for_integers) {
    std::vector<double> edges;
    DeviceBins own{make_bin_map(bins, &edges, for_integers), {}};
    own.edges = call.buffer<double>(edges.size());
    call.copy(own.edges.data(), edges.data(), edges.size());
    call.wait();
    return own;
}

}  // namespace gpu_engine::device
