// The search in a tree, by a warp whose threads have a search each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/kary/key.cuh"
#include "device/kary/tree.h"

namespace gpu_engine::device {

// ---- Reading ------------------------------------------------------------------------------------

// A leaf is read once; what stands above the leaves is read by every search and should stay in the caches.
// Policies for L2 came with compute capability 8.0.
template <CacheHints Hints>
__device__ __forceinline__ uint4 load_leaf(const uint4 *address) {
    uint4 words;
    if constexpr (Hints == CacheHints::none) {
        words = __ldg(address);
    } else if constexpr (Hints == CacheHints::leaves_pass_l1) {
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
            : "l"(address));
    } else {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm("{\n\t"
            ".reg .b64 policy;\n\t"
            "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n\t"
            "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy;\n\t"
            "}"
            : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
            : "l"(address));
#else
        words = load_leaf<CacheHints::leaves_pass_l1>(address);
#endif
    }
    return words;
}

template <CacheHints Hints>
__device__ __forceinline__ uint4 load_node(const uint4 *address) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (Hints == CacheHints::leaves_leave_l2_first) {
        uint4 words;
        asm("{\n\t"
            ".reg .b64 policy;\n\t"
            "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n\t"
            "ld.global.nc.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy;\n\t"
            "}"
            : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
            : "l"(address));
        return words;
    }
#endif
    return __ldg(address);
}

// ---- Counting within 16 bytes -------------------------------------------------------------------

__device__ __forceinline__ std::uint64_t wide(std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint64_t>(high) << 32 | low;
}

// Returns the i-th of the elements in 16 bytes.
template <typename Key>
__device__ __forceinline__ Key element(const uint4 &words, int i) {
    if constexpr (sizeof(Key) == 4) {
        return i == 0 ? words.x : i == 1 ? words.y : i == 2 ? words.z : words.w;
    } else if constexpr (sizeof(Key) == 8) {
        return i == 0 ? wide(words.x, words.y) : wide(words.z, words.w);
    } else {
        return Key{wide(words.x, words.y), wide(words.z, words.w)};
    }
}

template <typename Key>
__device__ __forceinline__ std::uint32_t keys_below(const uint4 &words, Key key) {
    std::uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < static_cast<int>(16 / sizeof(Key)); ++i) {
        count += less(element<Key>(words, i), key) ? 1 : 0;
    }
    return count;
}

template <typename Key>
__device__ __forceinline__ std::uint32_t keys_up_to(const uint4 &words, Key key) {
    std::uint32_t count = 0;
#pragma unroll
    for (int i = 0; i < static_cast<int>(16 / sizeof(Key)); ++i) {
        count += less(key, element<Key>(words, i)) ? 0 : 1;
    }
    return count;
}

// Codes of 16 bits are stored with their sign changed, so that one instruction compares two of them.
template <typename Code>
__device__ __forceinline__ Code stored_code(std::uint32_t code) {
    return static_cast<Code>(sizeof(Code) == 1 ? code : 0U - code);
}

// A code in the form in which it is compared with a node's: copied into each place of a word.
template <typename Code>
__device__ __forceinline__ std::uint32_t spread(std::uint32_t code) {
    return sizeof(Code) == 1 ? code * 0x01010101U : code * 0x00010001U;
}

// Returns how many codes are below the wanted one. With 16-bit codes the count is the sum of the result's two
// halves.
template <typename Code>
__device__ __forceinline__ std::uint32_t codes_below(const uint4 &words, std::uint32_t spread_code) {
    if constexpr (sizeof(Code) == 1) {
        const std::uint32_t sums = __vsetltu4(words.x, spread_code) + __vsetltu4(words.y, spread_code) +
                                   __vsetltu4(words.z, spread_code) + __vsetltu4(words.w, spread_code);
        return __dp4a(sums, 0x01010101U, 0U);
    } else {
        // Both halves of a word add min(max(wanted - code, 0), 1).
        constexpr std::uint32_t ones = 0x00010001U;
        return __viaddmin_s16x2_relu(spread_code, words.x, ones) +
               __viaddmin_s16x2_relu(spread_code, words.y, ones) +
               __viaddmin_s16x2_relu(spread_code, words.z, ones) +
               __viaddmin_s16x2_relu(spread_code, words.w, ones);
    }
}

// ---- Prefixes -----------------------------------------------------------------------------------

template <typename Key>
inline constexpr bool prefixes_are_exact = sizeof(Key) == sizeof(Prefix);

template <typename Key>
__device__ __forceinline__ Window<Key> window_of(const Tree<Key> &tree, const Key &distance) {
    if constexpr (sizeof(Key) == 16) {
        return shifted(distance, tree.window_shift);
    } else {
        return distance;
    }
}

template <typename Key>
__device__ __forceinline__ Prefix prefix_of(const Tree<Key> &tree, Window<Key> window) {
    if constexpr (prefixes_are_exact<Key>) {
        return window;
    } else {
        return static_cast<Prefix>(window >> tree.prefix_shift);
    }
}

// Returns the prefix of a key of the array.
template <typename Key>
__device__ __forceinline__ Prefix key_prefix(const Tree<Key> &tree, const Key &key) {
    return prefix_of(tree, window_of(tree, distance(key, tree.first_key)));
}

// Returns the code of a key in a node, from the prefixes before the node and at its end.
template <typename Shape>
__device__ __forceinline__ std::uint32_t code_of(const Tree<typename Shape::Key> &tree,
                                                 Window<typename Shape::Key> window, Prefix low,
                                                 Prefix high) {
    using Wide = Window<typename Shape::Key>;
    const int shift = prefixes_are_exact<typename Shape::Key> ? 0 : tree.prefix_shift;
    const int surplus = bit_width(high - low) + shift - Shape::code_bits;
    return static_cast<std::uint32_t>((window - (static_cast<Wide>(low) << shift)) >>
                                      (surplus > 0 ? surplus : 0));
}

// Returns the last key of a node.
template <typename Key>
__device__ __forceinline__ Key node_end(const Tree<Key> &tree, std::uint64_t node, std::uint64_t node_keys) {
    const std::uint64_t end = (node + 1) * node_keys;
    return tree.keys[(end < tree.entries ? end : tree.entries) - 1];
}

// ---- Sharing ------------------------------------------------------------------------------------

// `Lanes` neighbours share their `Lanes` searches: each reads 16 bytes of every block, so that a block is
// read at once and the reads of all blocks are under way together.
template <int Lanes, typename Load>
__device__ __forceinline__ void shared_load(const uint4 *blocks, std::uint32_t block, Load load,
                                            uint4 (&words)[Lanes]) {
    const int lane = static_cast<int>(threadIdx.x) & (Lanes - 1);
#pragma unroll
    for (int owner = 0; owner < Lanes; ++owner) {
        const std::uint32_t owned = Lanes == 1 ? block : __shfl_sync(0xffffffffU, block, owner, Lanes);
        words[owner] = load(blocks + static_cast<std::size_t>(owned) * Lanes + lane);
    }
}

// Counts in each lane's block, on behalf of the lane that owns the search. `count` is called with 16 bytes
// and the owner's needle; with `Halves` a count is the sum of its two halves. The sums go back to the owners
// in a byte each, so they may reach 255.
template <int Lanes, bool Halves, typename Needle, typename Count>
__device__ __forceinline__ std::uint32_t shared_count(const uint4 (&words)[Lanes], Needle needle,
                                                      Count count) {
    if constexpr (Lanes == 1) {
        const std::uint32_t sum = count(words[0], needle);
        return Halves ? (sum + (sum >> 16)) & 0xffffU : sum;
    } else {
        const int lane = static_cast<int>(threadIdx.x) & (Lanes - 1);
        // A word has the counts of two owners in each half.
        std::uint32_t pairs[Lanes / 2];
#pragma unroll
        for (int i = 0; i < Lanes / 2; ++i) {
            const std::uint32_t even = count(words[2 * i], shuffle(needle, 2 * i, Lanes));
            const std::uint32_t odd = count(words[2 * i + 1], shuffle(needle, 2 * i + 1, Lanes));
            pairs[i] = even + (odd << 8);
            if constexpr (Halves) {
                pairs[i] += pairs[i] >> 16;
            }
        }
        constexpr int sums_words = (Lanes + 3) / 4;
        std::uint32_t sums[sums_words];
#pragma unroll
        for (int i = 0; i < sums_words; ++i) {
            sums[i] =
                Lanes == 2 ? pairs[0] : __byte_perm(pairs[2 * i], pairs[(2 * i + 1) % (Lanes / 2)], 0x5410);
#pragma unroll
            for (int offset = 1; offset < Lanes; offset *= 2) {
                sums[i] += __shfl_xor_sync(0xffffffffU, sums[i], offset);
            }
        }
        std::uint32_t own = sums[0];
#pragma unroll
        for (int i = 1; i < sums_words; ++i) {
            own = lane / 4 == i ? sums[i] : own;
        }
        return own >> (lane % 4 * 8) & 0xffU;
    }
}

// Returns the two counts that a search for equal keys needs.
template <int Lanes, typename Key>
__device__ __forceinline__ void shared_counts(const uint4 (&words)[Lanes], Key key, std::uint32_t *below,
                                              std::uint32_t *up_to) {
    // The sums are at most 32 each here, so that both fit into 16 bits, and a word holds two searches' sums.
    const int lane = static_cast<int>(threadIdx.x) & (Lanes - 1);
    constexpr int sums_words = (Lanes + 1) / 2;
    std::uint32_t sums[sums_words] = {};
#pragma unroll
    for (int owner = 0; owner < Lanes; ++owner) {
        const Key owned = Lanes == 1 ? key : shuffle(key, owner, Lanes);
        sums[owner / 2] += (keys_below(words[owner], owned) | keys_up_to(words[owner], owned) << 8)
                           << (owner % 2 * 16);
    }
    std::uint32_t own = 0;
#pragma unroll
    for (int i = 0; i < sums_words; ++i) {
#pragma unroll
        for (int offset = 1; offset < Lanes; offset *= 2) {
            sums[i] += __shfl_xor_sync(0xffffffffU, sums[i], offset);
        }
        own = lane / 2 == i ? sums[i] : own;
    }
    own >>= lane % 2 * 16;
    *below = own & 0xffU;
    *up_to = own >> 8 & 0xffU;
}

// ---- Descending ---------------------------------------------------------------------------------

struct Place {
    std::uint32_t below;  // entries with a lower key
    std::uint32_t up_to;  // entries up to the key in the same leaf and before; only where it was asked for
    bool goes_on;         // equal keys may follow in the next leaf
};

// The place where a search finds the nodes above the leaves: in the tree itself, or in the block's copies.
struct Above {
    const Prefix *top;
    const uint4 *nodes;
};

// The first node from `first` on whose last key isn't below the key. The key is at most the array's last.
template <typename Shape>
__device__ std::uint32_t node_from(const Tree<typename Shape::Key> &tree, std::uint32_t first,
                                   typename Shape::Key key) {
    constexpr std::uint64_t node_keys = std::uint64_t(Shape::leaf_keys) * Shape::node_codes;
    // There are seldom many nodes of one prefix. The steps get longer and longer, and then halve the
    // distance.
    std::uint32_t last = first;
    for (std::uint32_t step = 1; less(node_end(tree, last, node_keys), key); step *= 2) {
        first = last + 1;
        last = tree.nodes - 1 - last > step ? last + step : tree.nodes - 1;
    }
    while (first < last) {
        const std::uint32_t middle = first + (last - first) / 2;
        if (less(node_end(tree, middle, node_keys), key)) {
            first = middle + 1;
        } else {
            last = middle;
        }
    }
    return first;
}

// Returns the first leaf of [first, end) whose last key isn't below the key. The last leaf's never is.
template <typename Shape, typename Key>
__device__ std::uint32_t leaf_among(const Key *keys, std::uint32_t first, std::uint32_t end, Key key) {
    std::uint32_t last = end - 1;
    std::uint32_t middle = first;  // this is nearly always the one
    while (first < last) {
        const std::size_t last_key =
            static_cast<std::size_t>(middle) * Shape::leaf_keys + (Shape::leaf_keys - 1);
        if (less(keys[last_key], key)) {
            first = middle + 1;
        } else {
            last = middle;
        }
        middle = first + (last - first) / 2;
    }
    return first;
}

// Finds the node of a key, from the tree's first to its last, and the prefixes before the node and at its
// end.
template <typename Shape, int Searches>
__device__ __forceinline__ void search_nodes(const Tree<typename Shape::Key> &tree, const Prefix *top,
                                             const typename Shape::Key (&keys)[Searches],
                                             const Prefix (&prefixes)[Searches],
                                             std::uint32_t (&nodes)[Searches], Prefix (&low)[Searches],
                                             Prefix (&high)[Searches]) {
    using Key = typename Shape::Key;
#pragma unroll
    for (int i = 0; i < Searches; ++i) {
        low[i] = 0;
        high[i] = tree.last_prefix;
        nodes[i] = 1;
    }
    for (int depth = 0; depth < tree.top_depth; ++depth) {
#pragma unroll
        for (int i = 0; i < Searches; ++i) {
            const Prefix separator = top[nodes[i]];
            const bool right = separator < prefixes[i];
            low[i] = right ? separator : low[i];
            high[i] = right ? high[i] : separator;
            nodes[i] = 2 * nodes[i] + (right ? 1 : 0);
        }
    }
#pragma unroll
    for (int i = 0; i < Searches; ++i) {
        nodes[i] -= 1U << tree.top_depth;
    }

    for (int level = tree.upper_levels - 1; level >= 0; --level) {
        constexpr int block_words = static_cast<int>(Shape::block_prefixes / 4);
        uint4 words[Searches][block_words];
#pragma unroll
        for (int i = 0; i < Searches; ++i) {
            const auto *block = reinterpret_cast<const uint4 *>(tree.upper[level]) +
                                static_cast<std::size_t>(nodes[i]) * block_words;
#pragma unroll
            for (int j = 0; j < block_words; ++j) {
                words[i][j] = load_node<Shape::hints>(block + j);
            }
        }
#pragma unroll
        for (int i = 0; i < Searches; ++i) {
            std::uint32_t below = 0;
#pragma unroll
            for (int j = 0; j < static_cast<int>(Shape::block_prefixes); ++j) {
                const Prefix separator = element<Prefix>(words[i][j / 4], j % 4);
                const bool right = separator < prefixes[i];
                low[i] = right ? separator : low[i];
                below += right ? 1 : 0;
            }
#pragma unroll
            for (int j = static_cast<int>(Shape::block_prefixes) - 1; j >= 0; --j) {
                const Prefix separator = element<Prefix>(words[i][j / 4], j % 4);
                high[i] = separator < prefixes[i] ? high[i] : separator;
            }
            nodes[i] = nodes[i] * Shape::block_prefixes + below;
        }
    }

    if constexpr (!prefixes_are_exact<Key>) {
#pragma unroll
        for (int i = 0; i < Searches; ++i) {
            // Between nodes of the same prefix whole keys decide.
            if (high[i] == prefixes[i]) {
                constexpr std::uint64_t node_keys = std::uint64_t(Shape::leaf_keys) * Shape::node_codes;
                const std::uint32_t node = node_from<Shape>(tree, nodes[i], keys[i]);
                if (node != nodes[i]) {
                    nodes[i] = node;
                    low[i] = key_prefix(tree, node_end(tree, node - 1, node_keys));
                    high[i] = key_prefix(tree, node_end(tree, node, node_keys));
                }
            }
        }
    }
}

// Searches for some keys a thread. All threads of the warp call this together, each with searches of its own.
template <typename Shape, bool WithEqual, int Searches>
__device__ __forceinline__ void search(const Tree<typename Shape::Key> &tree, const Above &above,
                                       const typename Shape::Key (&wanted)[Searches],
                                       Place (&places)[Searches]) {
    using Key = typename Shape::Key;
    using Code = typename Shape::Code;
    constexpr std::uint32_t leaf_keys = Shape::leaf_keys;

    // A key outside the array has no leaf. It goes along with the first key until the end.
    Key keys[Searches];
    bool outside[Searches];
    Window<Key> windows[Searches];
    Prefix prefixes[Searches];
#pragma unroll
    for (int i = 0; i < Searches; ++i) {
        // The distance of a key before the first one wraps around.
        const Key from_first = distance(wanted[i], tree.first_key);
        outside[i] = less(tree.span, from_first);
        keys[i] = outside[i] ? tree.first_key : wanted[i];
        windows[i] = window_of(tree, outside[i] ? lowest_key<Key>() : from_first);
        prefixes[i] = prefix_of(tree, windows[i]);
    }
    std::uint32_t nodes[Searches];
    Prefix low[Searches];
    Prefix high[Searches];
    search_nodes<Shape>(tree, above.top, keys, prefixes, nodes, low, high);

    // The first leaf that may be the one.
    uint4 codes[Searches][Shape::node_lanes];
#pragma unroll
    for (int i = 0; i < Searches; ++i) {
        if constexpr (Shape::shared_nodes) {
            shared_load<Shape::node_lanes>(
                above.nodes, nodes[i], [](const uint4 *address) { return *address; }, codes[i]);
        } else {
            shared_load<Shape::node_lanes>(above.nodes, nodes[i], load_node<Shape::hints>, codes[i]);
        }
    }
    std::uint32_t leaves[Searches];
    uint4 words[Searches][Shape::leaf_lanes];
    const auto *leaf_words = reinterpret_cast<const uint4 *>(tree.keys);
#pragma unroll
    for (int i = 0; i < Searches; ++i) {
        const std::uint32_t code = code_of<Shape>(tree, windows[i], low[i], high[i]);
        leaves[i] = nodes[i] * Shape::node_codes +
                    shared_count<Shape::node_lanes, sizeof(Code) == 2>(
                        codes[i], spread<Code>(code), [](const uint4 &block, std::uint32_t needle) {
                            return codes_below<Code>(block, needle);
                        });
        shared_load<Shape::leaf_lanes>(leaf_words, leaves[i], load_leaf<Shape::hints>, words[i]);
    }

#pragma unroll
    for (int i = 0; i < Searches; ++i) {
        std::uint32_t below = 0;
        std::uint32_t up_to = 0;
        if constexpr (WithEqual) {
            shared_counts<Shape::leaf_lanes>(words[i], keys[i], &below, &up_to);
        } else {
            below = shared_count<Shape::leaf_lanes, false>(
                words[i], keys[i],
                [](const uint4 &block, const Key &needle) { return keys_below(block, needle); });
        }
        if (below == leaf_keys) {  // the key is in one of the next leaves, which have the same code
            const std::uint32_t node_last = (nodes[i] + 1) * Shape::node_codes;
            leaves[i] = leaf_among<Shape>(tree.keys, leaves[i] + 1,
                                          node_last < tree.leaves ? node_last : tree.leaves, keys[i]);
            below = 0;
            up_to = 0;
#pragma unroll
            for (int j = 0; j < Shape::leaf_lanes; ++j) {
                const uint4 block = load_leaf<Shape::hints>(
                    leaf_words + static_cast<std::size_t>(leaves[i]) * Shape::leaf_lanes + j);
                below += keys_below(block, keys[i]);
                if constexpr (WithEqual) {
                    up_to += keys_up_to(block, keys[i]);
                }
            }
        }
        const std::uint32_t first = leaves[i] * leaf_keys;
        places[i] = {first + below, first + up_to, up_to == leaf_keys && below < leaf_keys};
        if (outside[i]) {
            const std::uint32_t place = less(wanted[i], tree.first_key) ? 0 : tree.entries;
            places[i] = {place, place, false};
        }
    }
}

// ---- The operations -----------------------------------------------------------------------------

// Data that is read once, and data that is written once, passes the caches by, so that these keep the tree.
template <typename Key>
__device__ __forceinline__ Key load_once(const Key *address) {
    if constexpr (sizeof(Key) == 16) {
        const auto *words = reinterpret_cast<const unsigned long long *>(address);
        return Key{__ldcs(words), __ldcs(words + 1)};
    } else if constexpr (sizeof(Key) == 8) {
        return __ldcs(reinterpret_cast<const unsigned long long *>(address));
    } else {
        return __ldcs(address);
    }
}

// An operation reads needles for its results. It is called with as many of them at once as `batch` says, by
// all threads of the warp together. `results` are their numbers; numbers from `count` on stand for nothing.

// Counts the entries up to the key, for a search that has found the first of them.
template <typename Shape>
__device__ __forceinline__ std::uint32_t end_of_equal(const Tree<typename Shape::Key> &tree,
                                                      const Above &above, typename Shape::Key key,
                                                      const Place &place) {
    using Key = typename Shape::Key;
    const bool highest = equal(key, highest_key<Key>());
    // The filler of the last leaf equals the highest key, so it must not be counted.
    std::uint32_t end = highest || place.up_to > tree.entries ? tree.entries : place.up_to;
    const bool goes_on = place.goes_on && end < tree.entries && equal(tree.keys[end], key);
    if (__any_sync(0xffffffffU, goes_on)) {
        const Key next[1] = {goes_on ? next_key(key) : lowest_key<Key>()};
        Place next_place[1];
        search<Shape, false>(tree, above, next, next_place);
        end = goes_on ? next_place[0].below : end;
    }
    return end;
}

template <typename Shape>
struct FindOperation {
    using Key = typename Shape::Key;
    using Needle = Key;
    static constexpr int batch = Shape::searches;

    const Key *keys;
    uint2 *ranges;  // first, last

    __device__ Needle load(std::uint64_t i) const { return load_once(keys + i); }
    __device__ Needle idle() const { return lowest_key<Key>(); }
    __device__ void run(const Tree<Key> &tree, const Above &above, const Needle (&needles)[batch],
                        const std::uint64_t (&results)[batch], std::uint64_t count) const {
        Place places[batch];
        search<Shape, true>(tree, above, needles, places);
#pragma unroll
        for (int i = 0; i < batch; ++i) {
            const std::uint32_t end = end_of_equal<Shape>(tree, above, needles[i], places[i]);
            if (results[i] < count) {
                __stcs(ranges + results[i], make_uint2(places[i].below, end));
            }
        }
    }
};

template <typename Key>
struct KeyPair {
    Key low;
    Key high;
};

// Turns ranges of keys, both ends included, into ranges of positions. An empty one has twice the same
// position.
template <typename Shape>
struct BoundsOperation {
    using Key = typename Shape::Key;
    using Needle = KeyPair<Key>;
    static constexpr int batch = 1;

    const Key *low;
    const Key *high;
    uint2 *ranges;

    __device__ Needle load(std::uint64_t i) const { return Needle{load_once(low + i), load_once(high + i)}; }
    __device__ Needle idle() const { return Needle{lowest_key<Key>(), lowest_key<Key>()}; }
    __device__ void run(const Tree<Key> &tree, const Above &above, const Needle (&needles)[batch],
                        const std::uint64_t (&results)[batch], std::uint64_t count) const {
        const Needle &needle = needles[0];
        const bool open = equal(needle.high, highest_key<Key>());
        const Key keys[2] = {needle.low, open ? needle.high : next_key(needle.high)};
        Place places[2];
        search<Shape, false>(tree, above, keys, places);
        const std::uint32_t first = places[0].below;
        std::uint32_t last = open ? tree.entries : places[1].below;
        if (less(needle.high, needle.low)) {
            last = first;
        }
        if (results[0] < count) {
            __stcs(ranges + results[0], make_uint2(first, last));
        }
    }
};

// Returns how much shared memory a block's copies take.
template <typename Shape>
std::size_t shared_bytes(const Tree<typename Shape::Key> &tree) {
    const std::size_t top = ((std::size_t(1) << tree.top_depth) + 3) / 4 * sizeof(uint4);
    return Shape::shared_nodes ? top + std::size_t(tree.nodes) * sizeof(uint4) : top;
}

// A block takes one tile of searches after the other, so that it copies what its threads share only once. The
// next tile's needles are read before the present tile is searched.
template <typename Shape, bool Shared, typename Operation>
__global__ void __launch_bounds__(Shape::threads)
    search_kernel(const __grid_constant__ Tree<typename Shape::Key> tree,
                  const __grid_constant__ Operation operation, std::uint64_t count) {
    constexpr int batch = Operation::batch;
    extern __shared__ uint4 shared_words[];
    Above above{tree.top, static_cast<const uint4 *>(tree.codes)};
    if constexpr (Shared) {
        const std::uint32_t top_words = ((1U << tree.top_depth) + 3) / 4;
        for (std::uint32_t i = threadIdx.x; i < top_words; i += blockDim.x) {
            shared_words[i] = __ldg(reinterpret_cast<const uint4 *>(tree.top) + i);
        }
        above.top = reinterpret_cast<const Prefix *>(shared_words);
        if constexpr (Shape::shared_nodes) {
            uint4 *nodes = shared_words + top_words;
            for (std::uint32_t i = threadIdx.x; i < tree.nodes; i += blockDim.x) {
                nodes[i] = __ldg(static_cast<const uint4 *>(tree.codes) + i);
            }
            above.nodes = nodes;
        }
        __syncthreads();
    }
    constexpr std::uint64_t tile = std::uint64_t(Shape::threads) * batch;
    const std::uint64_t stride = gridDim.x * tile;
    typename Operation::Needle next[batch];
#pragma unroll
    for (int i = 0; i < batch; ++i) {
        const std::uint64_t result = blockIdx.x * tile + i * Shape::threads + threadIdx.x;
        next[i] = result < count ? operation.load(result) : operation.idle();
    }
    for (std::uint64_t first = blockIdx.x * tile; first < count; first += stride) {
        typename Operation::Needle needles[batch];
        std::uint64_t results[batch];
#pragma unroll
        for (int i = 0; i < batch; ++i) {
            results[i] = first + i * Shape::threads + threadIdx.x;
            needles[i] = next[i];
            next[i] = results[i] + stride < count ? operation.load(results[i] + stride) : operation.idle();
        }
        operation.run(tree, above, needles, results, count);
    }
}

}  // namespace gpu_engine::device
