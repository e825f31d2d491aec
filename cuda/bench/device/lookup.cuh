// The ways to look keys up that the benchmark compares.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/device/measure.cuh"
#include "device/kary/launch.cuh"
#include "device/kary/tree_build.cuh"

namespace gpu_engine::bench {

// One batch on one array.
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
    double ms = 0;
    double extra_bytes = 0;  // beside the keys
};

template <typename Key>
struct LookupVariant {
    std::string name;
    Timing (*measure)(const Bench &, const LookupTask<Key> &);
};

// A tree of a shape, built and searched. With `Persist` its codes have a window of their own in L2.
template <typename Shape, bool Persist>
Timing measure_tree(const Bench &bench, const LookupTask<typename Shape::Key> &task) {
    using Key = typename Shape::Key;
    const device::TreeSizes<Shape> sizes(task.entries);
    device::TreeMemory<Shape> memory;
    device::Buffer<Key> keys = task.call.template buffer<Key>(sizes.keys);
    task.call.copy(keys.data(), task.sorted, task.entries);
    const device::Tree<Key> tree = device::build_tree<Shape>(task.call, keys.data(), task.entries, &memory);
    if constexpr (Persist) {
        cudaStreamAttrValue window = {};
        window.accessPolicyWindow.base_ptr = memory.codes.data();
        window.accessPolicyWindow.num_bytes = std::min<std::uint64_t>(memory.codes.bytes(), 32 << 20);
        window.accessPolicyWindow.hitRatio = 1.0F;
        window.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
        window.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
        device::check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 32 << 20), "cudaDeviceSetLimit");
        device::check(
            cudaStreamSetAttribute(task.call.stream(), cudaStreamAttributeAccessPolicyWindow, &window),
            "cudaStreamSetAttribute");
    }
    Timing timing;
    timing.extra_bytes = static_cast<double>(memory.bytes());
    timing.ms = median_ms(bench, [&] {
        device::launch_search<Shape>(tree, device::RankOperation<Shape>{task.lookups, task.ranks}, task.count,
                                     bench.engine.multiprocessors(), task.call.stream());
    });
    if constexpr (Persist) {
        cudaStreamAttrValue window = {};
        device::check(
            cudaStreamSetAttribute(task.call.stream(), cudaStreamAttributeAccessPolicyWindow, &window),
            "cudaStreamSetAttribute");
        device::check(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
    }
    return timing;
}

// Its name says how the tree is cut, as in "u8 node 64 B leaf 64 B block 8 top 14 threads 512".
template <typename Shape, bool Persist = false>
LookupVariant<typename Shape::Key> tree_variant() {
    using device::CacheHints;
    std::string name = "u" + std::to_string(sizeof(typename Shape::Code) * 8) + " node " +
                       std::to_string(Shape::node_lanes * 16) + " leaf " +
                       std::to_string(Shape::leaf_lanes * 16) + " block " +
                       std::to_string(Shape::block_keys) + " top " + std::to_string(Shape::top_depth) +
                       " threads " + std::to_string(Shape::threads);
    if (Shape::hints == CacheHints::none) {
        name += " no hints";
    } else if (Shape::hints == CacheHints::leaves_leave_l2_first) {
        name += " L2 hints";
    }
    if (Persist) {
        name += " persisting";
    }
    return {name, measure_tree<Shape, Persist>};
}

// Those of each width, the library's default first.
std::vector<LookupVariant<std::uint32_t>> tree_variants_32();
std::vector<LookupVariant<std::uint64_t>> tree_variants_64();
std::vector<LookupVariant<Key128>> tree_variants_128();
template <typename Key>
std::vector<LookupVariant<Key>> baselines();

// Million lookups/s when each reads its 4-byte index from an array and `bytes` at that place, and writes 4
// bytes: what no way to look up can pass.
double gather_limit(const Bench &bench, const device::Call &call, const void *data, std::uint64_t data_bytes,
                    std::uint32_t *indexes, std::uint32_t *output, std::uint64_t count, int bytes);

}  // namespace gpu_engine::bench
