// The kernels around a search: scheduling, pinning, reordering.
#pragma once

#include <algorithm>
#include <cstdint>

#include "studies/paper/variants/kary.cuh"
#include "device/cuda_status.h"

namespace gpu_engine::bench::paper {

template <typename Key>
__device__ __forceinline__ Key read_lookup(const Key *address) {
    if constexpr (sizeof(Key) == 16) {
        const ulonglong2 words = __ldcs(reinterpret_cast<const ulonglong2 *>(address));
        return Key{words.x, words.y};
    } else {
        return __ldcs(address);
    }
}

inline constexpr int max_threads = 1024;

template <typename Search>
__global__ void __launch_bounds__(max_threads)
    lookup_kernel(const __grid_constant__ Search search, const Batch<typename Search::Key> batch) {
    using Key = typename Search::Key;
    extern __shared__ uint4 shared_words[];
    auto *pinned = reinterpret_cast<Key *>(shared_words);
    search.pin(pinned);
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x; first < batch.count;
         first += stride) {
        const std::uint64_t j = first + threadIdx.x;
        const bool valid = j < batch.count;
        const Key key = valid ? read_lookup(batch.lookups + j) : device::lowest_key<Key>();
        const std::uint32_t rank = search.rank(pinned, key, valid);
        if (valid) {
            __stcs(batch.ranks + j, rank);
        }
    }
}

// The number of blocks of a launch whose lookups make so many tiles.
inline unsigned blocks_of(const device::Call &call, const Variant &variant, std::uint64_t tiles) {
    if (variant.static_blocks == 0) {
        return static_cast<unsigned>(tiles);
    }
    return static_cast<unsigned>(
        std::min(tiles, static_cast<std::uint64_t>(variant.static_blocks) *
                            static_cast<std::uint64_t>(call.engine().multiprocessors())));
}

// How much shared memory a block may take for pinning when it takes `taken` for other things.
std::size_t place_for_pinning(const device::Call &call, const Variant &variant, std::size_t taken);

// How much of a multiprocessor's memory is to be shared memory, and not L1, for the blocks that the variant
// wants beside each other, in per cent.
int shared_share(const device::Call &call, const Variant &variant, std::size_t bytes);

// Lets blocks of `kernel` take so much shared memory. The attributes stay with the kernel, so they are set
// for each launch.
template <typename Kernel>
void set_shared(const device::Call &call, const Variant &variant, Kernel kernel, std::size_t bytes) {
    device::check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        "cudaFuncSetAttribute");
    device::check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                       shared_share(call, variant, bytes)),
                  "cudaFuncSetAttribute");
}

template <typename Search>
bool launch_lookup(const device::Call &call, const Index<typename Search::Key> &index, const Variant &variant,
                   const Batch<typename Search::Key> &batch) {
    const Search search(index, variant, place_for_pinning(call, variant, 0));
    const auto kernel = lookup_kernel<Search>;
    set_shared(call, variant, kernel, search.pinned_bytes());
    const auto threads = static_cast<std::uint64_t>(variant.threads);
    kernel<<<blocks_of(call, variant, (batch.count + threads - 1) / threads), variant.threads,
             search.pinned_bytes(), call.stream()>>>(search, batch);
    device::check_launch("lookup_kernel");
    return true;
}

}  // namespace gpu_engine::bench::paper
