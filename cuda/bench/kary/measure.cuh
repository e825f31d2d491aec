// The device benchmarks share this: timing, random data, checks.
#pragma once

#include <cuda_runtime_api.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/results.h"
#include "device/call.h"
#include "device/kary/key.cuh"

namespace gpu_engine::bench {

struct Options {
    std::vector<int> sizes = {20, 24, 26, 28};  // powers of two of entries
    int lookups = 27;                           // power of two of lookups a batch
    int repeats = 7;
    std::vector<std::string> only;  // parts to run; empty: all
    std::string json;
    std::string images;  // folder of pictures

    bool runs(const std::string &part) const {
        return only.empty() || std::find(only.begin(), only.end(), part) != only.end();
    }
};

// A Bench says where a benchmark computes.
struct Bench {
    device::DeviceEngine &engine;
    device::DeviceStream &stream;
    const Options &options;
    Results &results;
};

// Returns the median of the repeats in milliseconds, by CUDA's events, after one run that warms up.
template <typename Work>
double median_ms(const Bench &bench, Work work) {
    cudaStream_t stream = bench.stream.cuda();
    cudaEvent_t begin;
    cudaEvent_t end;
    device::check(cudaEventCreate(&begin), "cudaEventCreate");
    device::check(cudaEventCreate(&end), "cudaEventCreate");
    work();
    std::vector<float> times;
    for (int i = 0; i < bench.options.repeats; ++i) {
        device::check(cudaEventRecord(begin, stream), "cudaEventRecord");
        work();
        device::check(cudaEventRecord(end, stream), "cudaEventRecord");
        device::check(cudaEventSynchronize(end), "cudaEventSynchronize");
        float time = 0;
        device::check(cudaEventElapsedTime(&time, begin, end), "cudaEventElapsedTime");
        times.push_back(time);
    }
    device::check(cudaEventDestroy(begin), "cudaEventDestroy");
    device::check(cudaEventDestroy(end), "cudaEventDestroy");
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

// These are bijections, so different inputs give different keys (the finalisers of MurmurHash3).
__host__ __device__ inline std::uint32_t scramble(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x85ebca6bU;
    x ^= x >> 13;
    x *= 0xc2b2ae35U;
    return x ^ x >> 16;
}
__host__ __device__ inline std::uint64_t scramble(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53ULL;
    return x ^ x >> 33;
}

// Returns the i-th of the unique random keys.
template <typename Key>
__host__ __device__ inline Key random_key(std::uint64_t i) {
    if constexpr (sizeof(Key) == 16) {
        return Key{scramble(i), scramble(~i)};
    } else {
        return scramble(static_cast<Key>(i));
    }
}

inline unsigned grid_for(std::uint64_t count) {
    return static_cast<unsigned>((count + 255) / 256);
}

// Makes unique random keys with ascending TIDs.
template <typename Key>
__global__ void make_pairs_kernel(Key *keys, Tid *tids, std::uint64_t first, std::uint64_t count) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        keys[i] = random_key<Key>(first + i);
        const std::uint64_t row = first + i;
        const std::uint64_t block = row / 200;
        tids[i] = Tid{static_cast<std::uint16_t>(block >> 16), static_cast<std::uint16_t>(block),
                      static_cast<std::uint16_t>(row % 200 + 1)};
    }
}

template <typename Key>
struct KeyLess {
    __device__ bool operator()(const Key &a, const Key &b) const { return device::less(a, b); }
};

// Makes such pairs, ordered by key.
template <typename Key>
struct SortedPairs {
    device::Buffer<Key> keys;
    device::Buffer<Tid> tids;

    SortedPairs(const device::Call &call, std::uint64_t count)
        : keys(call.buffer<Key>(count)), tids(call.buffer<Tid>(count)) {
        make_pairs_kernel<<<grid_for(count), 256, 0, call.stream()>>>(keys.data(), tids.data(), 0, count);
        device::check_launch("make_pairs_kernel");
        thrust::sort_by_key(thrust::cuda::par.on(call.stream()), keys.data(), keys.data() + count,
                            tids.data(), KeyLess<Key>());
    }
};

// Returns the place where the j-th lookup finds its key; n is a power of two.
__host__ __device__ inline std::uint32_t lookup_place(std::uint64_t j, std::uint64_t n) {
    return static_cast<std::uint32_t>(scramble(j + std::uint64_t(0x9e3779b97f4a7c15)) & (n - 1));
}

template <typename Key>
__global__ void make_lookups_kernel(const Key *sorted, std::uint64_t n, Key *lookups, std::uint64_t count) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j < count) {
        lookups[j] = sorted[lookup_place(j, n)];
    }
}

inline std::string power(int exponent) {
    return "2^" + std::to_string(exponent);
}

}  // namespace gpu_engine::bench
