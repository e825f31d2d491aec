// Building a tree above a sorted array, level by level from the bottom up.
#pragma once

#include <cstdint>

#include "device/call.h"
#include "device/kary/search.cuh"
#include "device/kary/tree_memory.h"

namespace gpu_engine::device {

inline constexpr int build_threads = 256;

inline unsigned blocks_for(std::uint64_t count, int threads) {
    return static_cast<unsigned>((count + static_cast<std::uint64_t>(threads) - 1) /
                                 static_cast<std::uint64_t>(threads));
}

// separators[i] = the last of each `children` keys of below[0 … below_count - 1]; the rest up to `size` is
// filled with the highest key.
template <typename Key>
__global__ void separators_kernel(const Key *below, std::uint64_t below_count, std::uint64_t children,
                                  Key *separators, std::uint64_t size) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < size) {
        const std::uint64_t end = (i + 1) * children;
        separators[i] = i * children < below_count ? below[(end < below_count ? end : below_count) - 1]
                                                   : highest_key<Key>();
    }
}

// The breadth-first order of the complete binary tree of 2^depth - 1 ascending keys, from index 1 on.
template <typename Key>
__global__ void top_kernel(const Key *separators, std::uint64_t count, int depth, Key *top) {
    const std::uint32_t place = blockIdx.x * blockDim.x + threadIdx.x;
    if (place >= 1U << depth) {
        return;
    }
    if (place == 0) {
        top[0] = highest_key<Key>();
        return;
    }
    const int level = bit_width(place) - 1;
    const std::uint32_t within = place - (1U << level);
    const std::uint64_t rank = (std::uint64_t(2 * within + 1) << (depth - level - 1)) - 1;
    top[place] = rank < count ? separators[rank] : highest_key<Key>();
}

template <typename Shape>
__global__ void codes_kernel(const typename Shape::Key *keys, std::uint64_t entries, std::uint64_t leaves,
                             const typename Shape::Key *node_ends, typename Shape::Code *codes,
                             std::uint64_t size) {
    using Key = typename Shape::Key;
    using Code = typename Shape::Code;
    const std::uint64_t leaf = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (leaf >= size) {
        return;
    }
    if (leaf >= leaves) {
        codes[leaf] = highest_key<Code>();
        return;
    }
    const std::uint64_t end = (leaf + 1) * Shape::leaf_keys;
    const Key last = keys[(end < entries ? end : entries) - 1];
    if constexpr (Shape::whole_codes) {
        codes[leaf] = last;
    } else {
        const std::uint64_t node = leaf / Shape::node_codes;
        const Key low = node == 0 ? lowest_key<Key>() : node_ends[node - 1];
        codes[leaf] = static_cast<Code>(code_of<Code>(distance(last, low), distance(node_ends[node], low)));
    }
}

template <typename Shape>
Tree<typename Shape::Key> build_tree(const Call &call, typename Shape::Key *keys, std::uint64_t entries,
                                     TreeMemory<Shape> *memory) {
    using Key = typename Shape::Key;
    const TreeSizes<Shape> sizes(entries);
    // Each part begins on a boundary that vector loads can use.
    constexpr std::uint64_t align = Memory::alignment / sizeof(Key);
    const auto aligned = [](std::uint64_t size) { return (size + align - 1) / align * align; };
    std::uint64_t separators = aligned(sizes.top_size());
    for (int level = 0; level <= sizes.upper_levels; ++level) {
        separators += aligned(sizes.upper_size(level));
    }
    memory->codes = call.buffer<typename Shape::Code>(sizes.codes);
    memory->separators = call.buffer<Key>(separators);

    Tree<Key> tree = {};
    tree.keys = keys;
    tree.codes = memory->codes.data();
    tree.entries = static_cast<std::uint32_t>(entries);
    tree.leaves = static_cast<std::uint32_t>(sizes.leaves);
    tree.upper_levels = sizes.upper_levels;
    tree.top_depth = sizes.top_depth;

    call.fill(keys + entries, 0xff, (sizes.keys - entries) * sizeof(Key));
    Key *next = memory->separators.data();
    const Key *below = keys;
    std::uint64_t below_count = entries;
    std::uint64_t children = std::uint64_t(Shape::leaf_keys) * Shape::node_codes;
    for (int level = 0; level <= sizes.upper_levels; ++level) {
        const std::uint64_t size = sizes.upper_size(level);
        separators_kernel<<<blocks_for(size, build_threads), build_threads, 0, call.stream()>>>(
            below, below_count, children, next, size);
        check_launch("separators_kernel");
        tree.upper[level] = next;
        below = next;
        below_count = sizes.upper_count[level];
        children = Shape::block_keys;
        next += aligned(size);
    }
    top_kernel<<<blocks_for(sizes.top_size(), build_threads), build_threads, 0, call.stream()>>>(
        below, below_count, sizes.top_depth, next);
    check_launch("top_kernel");
    tree.top = next;
    codes_kernel<Shape><<<blocks_for(sizes.codes, build_threads), build_threads, 0, call.stream()>>>(
        keys, entries, sizes.leaves, tree.upper[0], memory->codes.data(), sizes.codes);
    check_launch("codes_kernel");
    call.copy(&tree.last_key, static_cast<const Key *>(keys + entries - 1), 1);
    call.wait();
    return tree;
}

}  // namespace gpu_engine::device
