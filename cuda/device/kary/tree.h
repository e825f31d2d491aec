// The search tree above a sorted array on the device.
//
// From the bottom up:
//   keys   the sorted array, in leaves of `leaf_keys` neighbours, filled up with the highest key
//   codes  one a leaf: the leaf's last key, as its distance from the prefix before its node, cut to the few
//          bits of a Code. `node_codes` neighbours make a node. The shift that cuts follows from the prefixes
//          that the search has met on its way down, so it isn't stored.
//   upper  upper[0]: the prefix of the last key of each node; upper[i + 1]: the last of each block of
//          `block_prefixes` of upper[i]; filled up with the highest to whole blocks
//   top    the highest level as a complete binary tree in breadth-first (Eytzinger) order, for shared memory
//
// A prefix is a key's distance from the first key, cut to 32 bits. A search that meets a node whose prefix is
// its key's own compares whole keys, which the sorted array has: no level but the leaves needs them. (The
// prefixes of 32-bit keys tell them all apart.) A child's number follows from its prefix's index, so there
// are no child pointers. A search that can't tell leaves by their codes looks at more than one: with 64 codes
// of 8 bits in a node and keys that aren't clustered, about one search in nine.
#pragma once

#include <cstdint>
#include <type_traits>

namespace gpu_engine::device {

// The hints that a search gives the caches about the lines that it reads.
enum class CacheHints {
    none,
    leaves_pass_l1,        // leaves are not kept in L1
    leaves_leave_l2_first  // and leave L2 before nodes do
};

// A policy says how a tree is cut and searched. It derives from this one and redefines what differs.
struct TreePolicy {
    using Code = std::uint16_t;
    // Neighbouring threads that read a node or a leaf together, 16 bytes each.
    static constexpr int node_lanes = 4;
    static constexpr int leaf_lanes = 4;
    static constexpr int block_prefixes = 4;
    // The top has at most 2^top_depth - 1 prefixes.
    static constexpr int top_depth = 15;
    // The search kernel has so many threads in a block, and a thread has so many searches under way at once.
    static constexpr int threads = 1024;
    static constexpr int searches = 1;
    static constexpr CacheHints hints = CacheHints::leaves_pass_l1;
    // Set where nodes go into shared memory beside the top, if both fit, and each thread reads its own.
    static constexpr bool shared_nodes = false;
};

// A tree of keys of one width by a policy.
template <typename KeyType, typename Policy>
struct TreeShape : Policy {
    using Key = KeyType;
    using typename Policy::Code;
    static constexpr std::uint32_t node_codes = Policy::node_lanes * 16 / sizeof(Code);
    static constexpr std::uint32_t leaf_keys = Policy::leaf_lanes * 16 / sizeof(Key);
    // A code of 16 bits leaves one to the sign, which comparisons need.
    static constexpr int code_bits = sizeof(Code) == 1 ? 8 : 15;
    static constexpr std::uint32_t block_prefixes = Policy::block_prefixes;
    static_assert(!Policy::shared_nodes || Policy::node_lanes == 1);
};

using Prefix = std::uint32_t;

// The type of a distance between keys for arithmetic.
template <typename Key>
using Window = std::conditional_t<sizeof(Key) == 4, std::uint32_t, std::uint64_t>;

inline constexpr int max_upper_levels = 16;

// The tree as kernels see it: all pointers lead into the device's memory.
template <typename Key>
struct Tree {
    const Key *keys;
    const void *codes;
    const Prefix *upper[max_upper_levels];
    const Prefix *top;  // from index 1 on; 2^top_depth elements, filled up to whole 16-byte words
    std::uint32_t entries;
    std::uint32_t leaves;
    std::uint32_t nodes;
    std::int32_t upper_levels;  // number of levels that a search reads below the top
    std::int32_t top_depth;
    // A distance from the first key, shifted, is a Window, and that, shifted again, a prefix.
    std::int32_t window_shift;
    std::int32_t prefix_shift;
    Prefix last_prefix;
    Key first_key;
    Key span;  // the last key's distance from the first
};

// Sizes of a tree's parts, in elements.
template <typename Shape>
struct TreeSizes {
    using Key = typename Shape::Key;

    std::uint64_t keys;  // with the filling
    std::uint64_t leaves;
    std::uint64_t nodes;
    std::uint64_t codes;
    // upper_count[i] prefixes, the last level's being the top's.
    std::uint64_t upper_count[max_upper_levels + 1] = {};
    int upper_levels;
    int top_depth;

    explicit TreeSizes(std::uint64_t entries) {
        leaves = (entries + Shape::leaf_keys - 1) / Shape::leaf_keys;
        keys = leaves * Shape::leaf_keys;
        nodes = (leaves + Shape::node_codes - 1) / Shape::node_codes;
        codes = nodes * Shape::node_codes;
        upper_levels = 0;
        upper_count[0] = nodes;
        // The search knows the last key, so the top has no prefix for it.
        while (upper_count[upper_levels] > std::uint64_t(1) << Shape::top_depth) {
            upper_count[upper_levels + 1] =
                (upper_count[upper_levels] + Shape::block_prefixes - 1) / Shape::block_prefixes;
            ++upper_levels;
        }
        top_depth = 0;
        while (std::uint64_t(1) << top_depth < upper_count[upper_levels]) {
            ++top_depth;
        }
    }

    // Returns how many prefixes a level has when whole blocks are filled.
    std::uint64_t upper_size(int level) const {
        return (upper_count[level] + Shape::block_prefixes - 1) / Shape::block_prefixes *
               Shape::block_prefixes;
    }
    // Returns the places of the top, in whole 16-byte words.
    std::uint64_t top_size() const { return top_depth < 2 ? 4 : std::uint64_t(1) << top_depth; }
};

// Returns the places for `entries` keys. They are enough to fill the last leaf of every shape: leaves have at
// most 128 bytes.
template <typename Key>
constexpr std::uint64_t padded_keys(std::uint64_t entries) {
    constexpr std::uint64_t most = 128 / sizeof(Key);
    return (entries + most - 1) / most * most;
}

}  // namespace gpu_engine::device
