// Ranks are sorted whole, which for millions of groups takes less than a millisecond: it needs no second look
// at ties, and no size of the wanted part makes it slow.
#include "device/column/aggregate/top.h"

#include <cub/device/device_radix_sort.cuh>

#include <algorithm>

#include "device/cub_calls.cuh"

namespace gpu_engine::device {
namespace {

__device__ std::int64_t rank_of(const AggregateTop &top, const std::uint64_t *record) {
    return rank_in_order(top, record[top.word], top.is_wide != 0 ? record[top.word + 1] : 0);
}

__global__ void rank_kernel(AggregateTop top, const std::uint64_t *records, std::uint64_t groups,
                            std::uint32_t words, std::int64_t *ranks) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < groups;
         i += step) {
        ranks[i] = rank_of(top, records + i * words);
    }
}

// `last` is the lowest rank that is kept.
__global__ void keep_kernel(AggregateTop top, const std::uint64_t *records, std::uint64_t groups,
                            std::uint32_t words, const std::int64_t *last, unsigned long long *kept_count,
                            std::uint64_t *kept) {
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < groups;
         i += step) {
        const std::uint64_t *record = records + i * words;
        if (rank_of(top, record) < *last) {
            continue;
        }
        const std::uint64_t place = atomicAdd(kept_count, 1ULL);
        for (std::uint32_t word = 0; word < words; ++word) {
            kept[place * words + word] = record[word];
        }
    }
}

unsigned blocks_of(const Call &call, std::uint64_t count) {
    const std::uint64_t most = static_cast<std::uint64_t>(call.engine().multiprocessors()) * 16;
    return static_cast<unsigned>(
        std::max<std::uint64_t>(1, std::min(most, (count + threads_a_block - 1) / threads_a_block)));
}

}  // namespace

Buffer<std::uint64_t> keep_top(const Call &call, const AggregateTop &top, std::uint32_t words,
                               Buffer<std::uint64_t> records, std::uint64_t *groups) {
    if (*groups <= top.count) {
        return records;
    }
    const Buffer<std::int64_t> ranks = call.buffer<std::int64_t>(*groups);
    const Buffer<std::int64_t> sorted = call.buffer<std::int64_t>(*groups);
    rank_kernel<<<blocks_of(call, *groups), threads_a_block, 0, call.stream()>>>(top, records.data(), *groups,
                                                                                 words, ranks.data());
    check_launch("rank_kernel");
    with_scratch_memory(call, "DeviceRadixSort::SortKeysDescending", [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceRadixSort::SortKeysDescending(scratch, bytes,
                                                        static_cast<const std::int64_t *>(ranks.data()),
                                                        sorted.data(), *groups, 0, 64, call.stream());
    });
    Buffer<std::uint64_t> kept = call.buffer<std::uint64_t>(*groups * words);
    const Buffer<std::uint64_t> count = call.buffer<std::uint64_t>(1);
    call.fill(count.data(), 0, sizeof(std::uint64_t));
    keep_kernel<<<blocks_of(call, *groups), threads_a_block, 0, call.stream()>>>(
        top, records.data(), *groups, words, sorted.data() + top.count - 1,
        reinterpret_cast<unsigned long long *>(count.data()), kept.data());
    check_launch("keep_kernel");
    call.copy(const_cast<std::uint64_t *>(call.result()), static_cast<const std::uint64_t *>(count.data()),
              1);
    call.wait();
    *groups = *call.result();
    return kept;
}

}  // namespace gpu_engine::device
