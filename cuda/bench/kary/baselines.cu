// The tree is compared with these.
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>

#include "bench/kary/lookup.cuh"

namespace gpu_engine::bench {
namespace {

// Binary search as it stands in textbooks, by offsets. Each thread has a lookup.
template <typename Key>
__global__ void binary_search_kernel(const Key *sorted, std::uint64_t entries, const Key *lookups,
                                     std::uint64_t count, std::uint32_t *ranks) {
    const std::uint64_t j = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (j >= count) {
        return;
    }
    const Key key = lookups[j];
    std::uint64_t low = 0;
    std::uint64_t high = entries;
    while (low < high) {
        const std::uint64_t middle = (low + high) / 2;
        if (device::less(sorted[middle], key)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    ranks[j] = static_cast<std::uint32_t>(low);
}

template <typename Key>
Timing measure_binary_search(const Bench &bench, const LookupTask<Key> &task) {
    return {median_ms(bench,
                      [&] {
                          binary_search_kernel<<<grid_for(task.count), 256, 0, task.call.stream()>>>(
                              task.sorted, task.entries, task.lookups, task.count, task.ranks);
                          device::check_launch("binary_search_kernel");
                      }),
            0};
}

template <typename Key>
struct Less {
    __device__ bool operator()(const Key &a, const Key &b) const { return device::less(a, b); }
};

template <typename Key>
Timing measure_thrust(const Bench &bench, const LookupTask<Key> &task) {
    return {median_ms(bench,
                      [&] {
                          thrust::lower_bound(thrust::cuda::par_nosync.on(task.call.stream()), task.sorted,
                                              task.sorted + task.entries, task.lookups,
                                              task.lookups + task.count, task.ranks, Less<Key>());
                      }),
            0};
}

}  // namespace

template <typename Key>
std::vector<LookupVariant<Key>> baselines() {
    return {{"binary search", measure_binary_search<Key>}, {"Thrust lower_bound", measure_thrust<Key>}};
}

template std::vector<LookupVariant<std::uint32_t>> baselines();
template std::vector<LookupVariant<std::uint64_t>> baselines();
template std::vector<LookupVariant<Key128>> baselines();

}  // namespace gpu_engine::bench
