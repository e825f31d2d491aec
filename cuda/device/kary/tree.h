// The search tree above a sorted array on the device.
//
// From the bottom up:
//   keys   the sorted array, in leaves of `leaf_keys` neighbours, filled up with the highest key
//   codes  one a leaf: the leaf's last key, as its distance from the key before its node, cut to the few bits
//   of
//          a Code. `node_codes` neighbours make a node. The shift that cuts them follows from the keys before
//          and at the node's end, which the search has met on its way down, so it isn't stored.
//   upper  upper[0]: the last key of each node; upper[i + 1]: the last key of each block of `block_keys`
//          separators of upper[i]; filled up with the highest key to whole blocks
//   top    the highest level as a complete binary tree in breadth-first (Eytzinger) order, for shared memory
//
// A child's number follows from its separator's index, so there are no child pointers. Cutting the separators
// right above the leaves to a byte keeps all but the leaves in a 50 MB L2 cache up to 2^28 keys, at 4.1 bytes
// a 32-bit key. A search that can't tell neighbours from their codes looks at more than one leaf: with 64
// codes of 8 bits in a node and keys that aren't clustered, about one search in nine.
#pragma once

#include <cstdint>

namespace gpu_engine::device {

// What a search says about the lines it reads.
enum class CacheHints {
    none,
    leaves_pass_l1,        // leaves are not kept in L1
    leaves_leave_l2_first  // and leave L2 before nodes do
};

// How a tree is cut. `lanes` neighbouring threads read a node or leaf together, 16 bytes each.
template <typename KeyType, typename CodeType, int NodeLanes, int LeafLanes, int BlockKeys, int TopDepth,
          int Threads, CacheHints Hints = CacheHints::leaves_pass_l1>
struct TreeShape {
    using Key = KeyType;
    using Code = CodeType;
    static constexpr int node_lanes = NodeLanes;
    static constexpr int leaf_lanes = LeafLanes;
    static constexpr std::uint32_t node_codes = NodeLanes * 16 / sizeof(Code);
    static constexpr std::uint32_t leaf_keys = LeafLanes * 16 / sizeof(Key);
    static constexpr std::uint32_t block_keys = BlockKeys;
    // The top has at most 2^top_depth - 1 separators.
    static constexpr int top_depth = TopDepth;
    // Threads a block of the search kernel.
    static constexpr int threads = Threads;
    static constexpr CacheHints hints = Hints;
    // Codes as wide as keys are the keys themselves.
    static constexpr bool whole_codes = sizeof(Code) == sizeof(Key);
};

inline constexpr int max_upper_levels = 16;

// Addresses within the device's memory.
template <typename Key>
struct Tree {
    const Key *keys;
    const void *codes;
    const Key *upper[max_upper_levels];
    const Key *top;  // from index 1 on; 2^top_depth elements
    std::uint32_t entries;
    std::uint32_t leaves;
    std::int32_t upper_levels;  // that a search reads below the top
    std::int32_t top_depth;
    Key last_key;
};

// Sizes of a tree's parts, in elements, and what lies where in the one block of memory behind the keys.
template <typename Shape>
struct TreeSizes {
    using Key = typename Shape::Key;

    std::uint64_t keys;  // with the filling
    std::uint64_t leaves;
    std::uint64_t nodes;
    std::uint64_t codes;
    // upper_count[i] separators, the last level's being the top's.
    std::uint64_t upper_count[max_upper_levels + 1];
    int upper_levels;
    int top_depth;

    explicit TreeSizes(std::uint64_t entries) {
        leaves = (entries + Shape::leaf_keys - 1) / Shape::leaf_keys;
        keys = leaves * Shape::leaf_keys;
        nodes = (leaves + Shape::node_codes - 1) / Shape::node_codes;
        codes = nodes * Shape::node_codes;
        upper_levels = 0;
        upper_count[0] = nodes;
        // The last separator is the last key, which the search knows: the top does without it.
        while (upper_count[upper_levels] > std::uint64_t(1) << Shape::top_depth) {
            upper_count[upper_levels + 1] =
                (upper_count[upper_levels] + Shape::block_keys - 1) / Shape::block_keys;
            ++upper_levels;
        }
        top_depth = 0;
        while (std::uint64_t(1) << top_depth < upper_count[upper_levels]) {
            ++top_depth;
        }
    }

    // Separators of a level with the filling to whole blocks.
    std::uint64_t upper_size(int level) const {
        return (upper_count[level] + Shape::block_keys - 1) / Shape::block_keys * Shape::block_keys;
    }
    std::uint64_t top_size() const { return std::uint64_t(1) << top_depth; }
};

}  // namespace gpu_engine::device
