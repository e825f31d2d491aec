// The ways to look keys up that the benchmark compares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kary/measure.cuh"
#include "device/kary/launch.cuh"
#include "device/kary/tree_build.cuh"

namespace gpu_engine::bench {

// A batch of lookups on one array.
template <typename Key>
struct LookupTask {
    const device::Call &call;
    const Key *sorted;
    std::uint64_t entries;
    const Key *lookups;
    std::uint64_t count;
    std::uint32_t *ranks;
};

struct Timing {
    double ms = 0;           // 0: the way isn't for so many entries
    double extra_bytes = 0;  // beside the keys
};

template <typename Key>
struct LookupVariant {
    std::string name;
    Timing (*measure)(const Bench &, const LookupTask<Key> &);
};

// Finds how many entries have a key below each lookup's, which all ways of looking keys up have in common.
template <typename Shape>
struct RankOperation {
    using Key = typename Shape::Key;
    using Needle = Key;
    static constexpr int batch = Shape::searches;

    const Key *keys;
    std::uint32_t *ranks;

    __device__ Needle load(std::uint64_t i) const { return device::load_once(keys + i); }
    __device__ Needle idle() const { return device::lowest_key<Key>(); }
    __device__ void run(const device::Tree<Key> &tree, const device::Above &above,
                        const Needle (&needles)[batch], const std::uint64_t (&results)[batch],
                        std::uint64_t count) const {
        device::Place places[batch];
        device::search<Shape, false>(tree, above, needles, places);
#pragma unroll
        for (int i = 0; i < batch; ++i) {
            if (results[i] < count) {
                __stcs(ranks + results[i], places[i].below);
            }
        }
    }
};

// Builds a tree of a shape and searches it.
template <typename Shape>
Timing measure_tree(const Bench &bench, const LookupTask<typename Shape::Key> &task) {
    using Key = typename Shape::Key;
    device::TreeMemory memory;
    device::Buffer<Key> keys = task.call.template buffer<Key>(device::padded_keys<Key>(task.entries));
    task.call.copy(keys.data(), task.sorted, task.entries);
    const device::Tree<Key> tree = device::build_tree<Shape>(task.call, keys.data(), task.entries, &memory);
    if (Shape::shared_nodes && device::shared_bytes<Shape>(tree) > bench.engine.shared_bytes()) {
        return {};
    }
    Timing timing;
    timing.extra_bytes = static_cast<double>(memory.bytes());
    timing.ms = median_ms(bench, [&] {
        device::launch_search<Shape>(tree, RankOperation<Shape>{task.lookups, task.ranks}, task.count,
                                     bench.engine, task.call.stream());
    });
    return timing;
}

// Its name says how the tree is cut, as in "u8 node 64 leaf 64 block 8 top 14 threads 512".
template <typename Shape>
LookupVariant<typename Shape::Key> tree_variant() {
    using device::CacheHints;
    std::string name = "u" + std::to_string(sizeof(typename Shape::Code) * 8) + " node " +
                       std::to_string(Shape::node_lanes * 16) + " leaf " +
                       std::to_string(Shape::leaf_lanes * 16) + " block " +
                       std::to_string(Shape::block_prefixes) + " top " + std::to_string(Shape::top_depth) +
                       " threads " + std::to_string(Shape::threads);
    if (Shape::searches > 1) {
        name += " searches " + std::to_string(Shape::searches);
    }
    if (Shape::shared_nodes) {
        name += " shared nodes";
    }
    if (Shape::hints == CacheHints::none) {
        name += " no hints";
    } else if (Shape::hints == CacheHints::leaves_leave_l2_first) {
        name += " L2 hints";
    }
    return {name, measure_tree<Shape>};
}

// Returns the variants of each width, the library's default first.
std::vector<LookupVariant<std::uint32_t>> tree_variants_32();
std::vector<LookupVariant<std::uint64_t>> tree_variants_64();
std::vector<LookupVariant<Key128>> tree_variants_128();
template <typename Key>
std::vector<LookupVariant<Key>> baselines();

// Million lookups a second when each reads its 4-byte index from an array and `bytes` (4, 32, 64, 128) at
// that place, and writes 4 bytes. No way to look up can be faster.
double gather_rate(const Bench &bench, const device::Call &call, const void *data,
                   const std::uint32_t *indexes, std::uint32_t *output, std::uint64_t count, int bytes);
// Measures the same at the places of make_lookups_kernel's lookups, which are written to `indexes` first.
double gather_limit(const Bench &bench, const device::Call &call, const void *data, std::uint64_t data_bytes,
                    std::uint32_t *indexes, std::uint32_t *output, std::uint64_t count, int bytes);

}  // namespace gpu_engine::bench
