// What the variants are checked with, and the order of ordered lookups.
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#include "studies/paper/workload.h"
#include "device/kary/key.cuh"

namespace gpu_engine::bench::paper {
namespace {

template <typename Key>
struct Less {
    __device__ bool operator()(const Key &a, const Key &b) const { return device::less(a, b); }
};

}  // namespace

template <typename Key>
void reference_ranks(const device::Call &call, const Key *sorted, std::uint64_t entries, const Key *lookups,
                     std::uint64_t count, std::uint32_t *ranks) {
    thrust::lower_bound(thrust::cuda::par_nosync.on(call.stream()), sorted, sorted + entries, lookups,
                        lookups + count, ranks, Less<Key>());
}

void sort_places(const device::Call &call, std::uint32_t *places, std::uint64_t count) {
    thrust::sort(thrust::cuda::par_nosync.on(call.stream()), places, places + count);
}

template void reference_ranks(const device::Call &, const std::uint32_t *, std::uint64_t,
                              const std::uint32_t *, std::uint64_t, std::uint32_t *);
template void reference_ranks(const device::Call &, const std::uint64_t *, std::uint64_t,
                              const std::uint64_t *, std::uint64_t, std::uint32_t *);
template void reference_ranks(const device::Call &, const Key128 *, std::uint64_t, const Key128 *,
                              std::uint64_t, std::uint32_t *);

}  // namespace gpu_engine::bench::paper
