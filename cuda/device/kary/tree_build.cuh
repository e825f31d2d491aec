// Building a tree above a sorted array, level by level from the bottom up.
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/call.h"
#include "device/kary/search.cuh"
#include "device/kary/tree_memory.h"

namespace gpu_engine::device {

inline constexpr int build_threads = 256;

// Sets upper[i] to the prefix of node i's last key; from `nodes` up to `size` to the highest.
template <typename Key>
__global__ void node_prefixes_kernel(const __grid_constant__ Tree<Key> tree, std::uint64_t node_keys,
                                     Prefix *upper, std::uint64_t size) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) {
        upper[i] = i < tree.nodes ? key_prefix(tree, node_end(tree, i, node_keys)) : highest_key<Prefix>();
    }
}

// Sets prefixes[i] to the last of each block of below[0 ... below_count - 1]; the rest up to `size` is filled
// with the highest.
template <typename Shape>
__global__ void block_prefixes_kernel(const Prefix *below, std::uint64_t below_count, Prefix *prefixes,
                                      std::uint64_t size) {
    constexpr std::uint64_t children = Shape::block_prefixes;
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) {
        const std::uint64_t end = (i + 1) * children;
        prefixes[i] = i * children < below_count ? below[(end < below_count ? end : below_count) - 1]
                                                 : highest_key<Prefix>();
    }
}

// Brings 2^depth - 1 ascending prefixes into the breadth-first order of a complete binary tree, from index 1
// on.
template <typename Shape>
__global__ void top_kernel(const Prefix *prefixes, std::uint64_t count, int depth, Prefix *top,
                           std::uint64_t size) {
    const std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= size) {
        return;
    }
    if (place == 0 || place >= 1U << depth) {
        top[place] = highest_key<Prefix>();
        return;
    }
    const int level = bit_width(place) - 1;
    const std::uint32_t within = place - (1U << level);
    const std::uint64_t rank = (std::uint64_t(2 * within + 1) << (depth - level - 1)) - 1;
    top[place] = rank < count ? prefixes[rank] : highest_key<Prefix>();
}

template <typename Shape>
__global__ void codes_kernel(const __grid_constant__ Tree<typename Shape::Key> tree,
                             typename Shape::Code *codes, std::uint64_t size) {
    using Key = typename Shape::Key;
    const std::uint64_t leaf = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (leaf >= size) {
        return;
    }
    std::uint32_t code = (1U << Shape::code_bits) - 1;
    if (leaf < tree.leaves) {
        const std::uint64_t node = leaf / Shape::node_codes;
        constexpr std::uint64_t node_keys = std::uint64_t(Shape::leaf_keys) * Shape::node_codes;
        const Prefix low = node > 0 ? key_prefix(tree, node_end(tree, node - 1, node_keys)) : 0;
        const Prefix high = key_prefix(tree, node_end(tree, node, node_keys));
        const std::uint64_t end = (leaf + 1) * Shape::leaf_keys;
        const Key last = tree.keys[(end < tree.entries ? end : tree.entries) - 1];
        code = code_of<Shape>(tree, window_of(tree, distance(last, tree.first_key)), low, high);
    }
    codes[leaf] = stored_code<typename Shape::Code>(code);
}

template <typename Shape>
Tree<typename Shape::Key> build_tree(const Call &call, typename Shape::Key *keys, std::uint64_t entries,
                                     TreeMemory *memory) {
    using Key = typename Shape::Key;
    using Code = typename Shape::Code;
    constexpr std::uint64_t node_keys = std::uint64_t(Shape::leaf_keys) * Shape::node_codes;
    const TreeSizes<Shape> sizes(entries);
    memory->codes = call.buffer<unsigned char>(sizes.codes * sizeof(Code));
    memory->prefixes = call.buffer<Prefix>(all_prefixes(sizes));

    call.fill(keys + entries, 0xff, (padded_keys<Key>(entries) - entries) * sizeof(Key));
    Key first_key;
    Key last_key;
    call.read(&first_key, keys, 1);
    call.read(&last_key, keys + entries - 1, 1);

    Tree<Key> tree = {};
    tree.keys = keys;
    tree.codes = memory->codes.data();
    tree.entries = static_cast<std::uint32_t>(entries);
    tree.leaves = static_cast<std::uint32_t>(sizes.leaves);
    tree.nodes = static_cast<std::uint32_t>(sizes.nodes);
    tree.upper_levels = sizes.upper_levels;
    tree.top_depth = sizes.top_depth;
    tree.first_key = first_key;
    tree.span = distance(last_key, first_key);
    const int bits = bit_width(tree.span);
    Window<Key> last_window;
    if constexpr (sizeof(Key) == 16) {
        tree.window_shift = std::max(0, bits - 64);
        last_window = shifted(tree.span, tree.window_shift);
    } else {
        last_window = tree.span;
    }
    tree.prefix_shift = std::max(0, bits - tree.window_shift - 32);
    tree.last_prefix = static_cast<Prefix>(last_window >> tree.prefix_shift);

    Prefix *next = memory->prefixes.data();
    const Prefix *below = nullptr;
    for (int level = 0; level <= sizes.upper_levels; ++level) {
        const std::uint64_t size = sizes.upper_size(level);
        if (level == 0) {
            node_prefixes_kernel<<<blocks_for(size, build_threads), build_threads, 0, call.stream()>>>(
                tree, node_keys, next, size);
        } else {
            block_prefixes_kernel<Shape>
                <<<blocks_for(size, build_threads), build_threads, 0, call.stream()>>>(
                    below, sizes.upper_count[level - 1], next, size);
        }
        check_launch("prefixes kernel");
        tree.upper[level] = next;
        below = next;
        next += aligned_prefixes(size);
    }
    top_kernel<Shape><<<blocks_for(sizes.top_size(), build_threads), build_threads, 0, call.stream()>>>(
        below, sizes.upper_count[sizes.upper_levels], sizes.top_depth, next, sizes.top_size());
    check_launch("top_kernel");
    tree.top = next;
    codes_kernel<Shape><<<blocks_for(sizes.codes, build_threads), build_threads, 0, call.stream()>>>(
        tree, reinterpret_cast<Code *>(memory->codes.data()), sizes.codes);
    check_launch("codes_kernel");
    call.wait();
    return tree;
}

}  // namespace gpu_engine::device
