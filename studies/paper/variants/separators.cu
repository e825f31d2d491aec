#include "studies/paper/variants/search.h"
#include "device/kary/key.cuh"

namespace gpu_engine::bench::paper {
namespace {

constexpr unsigned threads = 256;

// Makes a level of `nodes` nodes, whose children are `children`, with `child_keys` keys of the array each.
template <typename Key>
__global__ void separators_kernel(const Key *sorted, std::uint64_t child_keys, std::uint64_t children,
                                  std::uint32_t fanout, Key *level, std::uint64_t size) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) {
        const std::uint64_t child = i / (fanout - 1) * fanout + i % (fanout - 1);
        level[i] = child + 1 < children ? sorted[(child + 1) * child_keys - 1] : device::highest_key<Key>();
    }
}

}  // namespace

template <typename Key>
Separators<Key> build_separators(const device::Call &call, const Key *sorted, std::uint64_t entries,
                                 std::uint32_t fanout) {
    const std::uint64_t width = fanout - 1;
    // Levels are made from the leaves up.
    std::uint64_t nodes[max_levels + 1];
    nodes[0] = (entries + width - 1) / width;
    Separators<Key> result;
    result.fanout = fanout;
    while (nodes[result.levels] > 1) {
        nodes[result.levels + 1] = (nodes[result.levels] + fanout - 1) / fanout;
        ++result.levels;
    }
    for (int level = 0; level < result.levels; ++level) {
        result.first[level + 1] =
            result.first[level] + static_cast<std::uint32_t>(nodes[result.levels - level] * width);
    }
    result.keys = call.buffer<Key>(result.first[result.levels]);
    std::uint64_t child_keys = width;
    for (int level = result.levels - 1; level >= 0; --level) {
        const std::uint64_t size = result.first[level + 1] - result.first[level];
        separators_kernel<<<static_cast<unsigned>((size + threads - 1) / threads), threads, 0,
                            call.stream()>>>(sorted, child_keys, nodes[result.levels - level - 1], fanout,
                                             result.keys.data() + result.first[level], size);
        device::check_launch("separators_kernel");
        child_keys *= fanout;
    }
    return result;
}

template Separators<std::uint32_t> build_separators(const device::Call &, const std::uint32_t *,
                                                    std::uint64_t, std::uint32_t);
template Separators<std::uint64_t> build_separators(const device::Call &, const std::uint64_t *,
                                                    std::uint64_t, std::uint32_t);
template Separators<Key128> build_separators(const device::Call &, const Key128 *, std::uint64_t,
                                             std::uint32_t);

}  // namespace gpu_engine::bench::paper
