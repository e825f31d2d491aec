// The search in a tree, by a warp whose threads have a search each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/kary/key.cuh"
#include "device/kary/tree.h"

namespace gpu_engine::device {

// ---- Reading -------------------------------------------------------------------------------------------

// Leaves are met once; what stands above them is met by every search and should stay in the caches.
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
        asm("{\n\t"
            ".reg .b64 policy;\n\t"
            "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n\t"
            "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], policy;\n\t"
            "}"
            : "=r"(words.x), "=r"(words.y), "=r"(words.z), "=r"(words.w)
            : "l"(address));
    }
    return words;
}

template <CacheHints Hints>
__device__ __forceinline__ uint4 load_node(const uint4 *address) {
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
    } else {
        return __ldg(address);
    }
}

// ---- Counting within 16 bytes ----------------------------------------------------------------------------

__device__ __forceinline__ std::uint64_t wide(std::uint32_t low, std::uint32_t high) {
    return static_cast<std::uint64_t>(high) << 32 | low;
}

// The i-th of the elements in 16 bytes.
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

// A code as it is compared with a node's: copied into each place of a word.
template <typename Code>
__device__ __forceinline__ std::uint32_t spread(std::uint32_t code) {
    return sizeof(Code) == 1 ? code * 0x01010101U : code * 0x00010001U;
}

template <typename Code>
__device__ __forceinline__ std::uint32_t codes_below(const uint4 &words, std::uint32_t spread_code) {
    if constexpr (sizeof(Code) == 1) {
        const std::uint32_t sums = __vsetltu4(words.x, spread_code) + __vsetltu4(words.y, spread_code) +
                                   __vsetltu4(words.z, spread_code) + __vsetltu4(words.w, spread_code);
        return __dp4a(sums, 0x01010101U, 0U);
    } else {
        const std::uint32_t sums = __vsetltu2(words.x, spread_code) + __vsetltu2(words.y, spread_code) +
                                   __vsetltu2(words.z, spread_code) + __vsetltu2(words.w, spread_code);
        return (sums & 0xffffU) + (sums >> 16);
    }
}

// The bits of `distance` that tell codes apart among distances up to `span`.
template <typename Code, typename Key>
__device__ __forceinline__ std::uint32_t code_of(const Key &distance, const Key &span) {
    const int surplus = bit_width(span) - static_cast<int>(sizeof(Code) * 8);
    return shifted(distance, surplus > 0 ? surplus : 0);
}

// ---- Sharing
// -----------------------------------------------------------------------------------------------

// `Lanes` neighbours share their `Lanes` searches: each reads 16 bytes of every block, so that a block is
// read at once and the reads of all blocks are under way together. `Count` is called with the 16 bytes and
// the owner's needle; the sums go back to the owners, a byte each, so they may reach 255.
template <int Lanes, typename Needle, typename Load, typename Count>
__device__ __forceinline__ std::uint32_t shared_count(const uint4 *blocks, std::uint32_t block, Needle needle,
                                                      Load load, Count count) {
    if constexpr (Lanes == 1) {
        return count(load(blocks + block), needle);
    } else {
        const int lane = static_cast<int>(threadIdx.x) & (Lanes - 1);
        uint4 words[Lanes];
#pragma unroll
        for (int owner = 0; owner < Lanes; ++owner) {
            const std::uint32_t owned = __shfl_sync(0xffffffffU, block, owner, Lanes);
            words[owner] = load(blocks + static_cast<std::size_t>(owned) * Lanes + lane);
        }
        constexpr int sums_words = (Lanes + 3) / 4;
        std::uint32_t sums[sums_words] = {};
#pragma unroll
        for (int owner = 0; owner < Lanes; ++owner) {
            sums[owner / 4] += count(words[owner], shuffle(needle, owner, Lanes)) << (owner % 4 * 8);
        }
#pragma unroll
        for (int i = 0; i < sums_words; ++i) {
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

// The same for the two counts a search for equal keys needs.
template <int Lanes, typename Key, typename Load>
__device__ __forceinline__ void shared_counts(const uint4 *blocks, std::uint32_t block, Key key, Load load,
                                              std::uint32_t *below, std::uint32_t *up_to) {
    // Each sum is at most 32 here, so both fit into 16 bits, and a word holds two searches' sums.
    const int lane = static_cast<int>(threadIdx.x) & (Lanes - 1);
    uint4 words[Lanes];
#pragma unroll
    for (int owner = 0; owner < Lanes; ++owner) {
        const std::uint32_t owned = __shfl_sync(0xffffffffU, block, owner, Lanes);
        words[owner] = load(blocks + static_cast<std::size_t>(owned) * Lanes + lane);
    }
    constexpr int sums_words = (Lanes + 1) / 2;
    std::uint32_t sums[sums_words] = {};
#pragma unroll
    for (int owner = 0; owner < Lanes; ++owner) {
        const Key owned = shuffle(key, owner, Lanes);
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

// ---- Descending
// --------------------------------------------------------------------------------------------

struct Place {
    std::uint32_t below;  // entries with a lower key
    std::uint32_t up_to;  // entries up to the key in the same leaf and before; only where it was asked for
    bool goes_on;         // equal keys may follow in the next leaf
};

// The first leaf of [first, end) whose last key isn't below the key; the last one's never is.
template <typename Shape, typename Key>
__device__ std::uint32_t leaf_among(const Key *keys, std::uint32_t first, std::uint32_t end, Key key) {
    std::uint32_t last = end - 1;
    std::uint32_t middle = first;  // nearly always the one
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

// All threads of the warp call this together. `top` is the tree's top, wherever a copy of it lies.
template <typename Shape, bool WithEqual>
__device__ __forceinline__ Place search(const Tree<typename Shape::Key> &tree,
                                        const typename Shape::Key *__restrict__ top,
                                        typename Shape::Key key) {
    using Key = typename Shape::Key;
    using Code = typename Shape::Code;
    constexpr std::uint32_t leaf_keys = Shape::leaf_keys;

    // A key behind all others has no leaf: it goes along with the lowest key until the end.
    const bool behind = less(tree.last_key, key);
    if (behind) {
        key = lowest_key<Key>();
    }

    // The separators next to the key: low < key <= high, but for low at the array's beginning.
    Key low = lowest_key<Key>();
    Key high = tree.last_key;
    std::uint32_t slot = 1;
    for (int depth = 0; depth < tree.top_depth; ++depth) {
        const Key separator = top[slot];
        const bool right = less(separator, key);
        low = right ? separator : low;
        high = right ? high : separator;
        slot = 2 * slot + (right ? 1 : 0);
    }
    slot -= 1U << tree.top_depth;

    for (int level = tree.upper_levels - 1; level >= 0; --level) {
        constexpr int block_words = static_cast<int>(Shape::block_keys * sizeof(Key) / 16);
        const auto *block =
            reinterpret_cast<const uint4 *>(tree.upper[level]) + static_cast<std::size_t>(slot) * block_words;
        uint4 words[block_words];
#pragma unroll
        for (int i = 0; i < block_words; ++i) {
            words[i] = load_node<Shape::hints>(block + i);
        }
        constexpr int word_keys = static_cast<int>(16 / sizeof(Key));
        std::uint32_t below = 0;
#pragma unroll
        for (int i = 0; i < static_cast<int>(Shape::block_keys); ++i) {
            const Key separator = element<Key>(words[i / word_keys], i % word_keys);
            const bool right = less(separator, key);
            low = right ? separator : low;
            below += right ? 1 : 0;
        }
#pragma unroll
        for (int i = static_cast<int>(Shape::block_keys) - 1; i >= 0; --i) {
            const Key separator = element<Key>(words[i / word_keys], i % word_keys);
            high = less(separator, key) ? high : separator;
        }
        slot = slot * Shape::block_keys + below;
    }

    // The leaf: exact with whole codes, else the first that may be the one.
    const auto *nodes = static_cast<const uint4 *>(tree.codes);
    std::uint32_t leaf = slot * Shape::node_codes;
    if constexpr (Shape::whole_codes) {
        leaf += shared_count<Shape::node_lanes>(
            nodes, slot, key, load_node<Shape::hints>,
            [](const uint4 &words, Key needle) { return keys_below(words, needle); });
    } else {
        const std::uint32_t code = code_of<Code>(distance(key, low), distance(high, low));
        leaf += shared_count<Shape::node_lanes>(
            nodes, slot, spread<Code>(code), load_node<Shape::hints>,
            [](const uint4 &words, std::uint32_t needle) { return codes_below<Code>(words, needle); });
    }

    const auto *leaves = reinterpret_cast<const uint4 *>(tree.keys);
    std::uint32_t below = 0;
    std::uint32_t up_to = 0;
    if constexpr (WithEqual) {
        shared_counts<Shape::leaf_lanes>(leaves, leaf, key, load_leaf<Shape::hints>, &below, &up_to);
    } else {
        below = shared_count<Shape::leaf_lanes>(
            leaves, leaf, key, load_leaf<Shape::hints>,
            [](const uint4 &words, Key needle) { return keys_below(words, needle); });
    }
    if constexpr (!Shape::whole_codes) {
        if (below == leaf_keys) {  // one of the next leaves, which have the same code
            const std::uint32_t node_end = (slot + 1) * Shape::node_codes;
            leaf =
                leaf_among<Shape>(tree.keys, leaf + 1, node_end < tree.leaves ? node_end : tree.leaves, key);
            below = 0;
            up_to = 0;
#pragma unroll
            for (int i = 0; i < Shape::leaf_lanes; ++i) {
                const uint4 words =
                    load_leaf<Shape::hints>(leaves + static_cast<std::size_t>(leaf) * Shape::leaf_lanes + i);
                below += keys_below(words, key);
                if constexpr (WithEqual) {
                    up_to += keys_up_to(words, key);
                }
            }
        }
    }

    Place place;
    if (behind) {
        place = {tree.entries, tree.entries, false};
    } else {
        place = {leaf * leaf_keys + below, leaf * leaf_keys + up_to, up_to == leaf_keys && below < leaf_keys};
    }
    return place;
}

// ---- The operations
// ------------------------------------------------------------------------------------------

// Loads of what is read once and stores of what is written once leave the caches to the tree.
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

template <typename Shape>
struct RankOperation {
    using Key = typename Shape::Key;
    using Needle = Key;

    const Key *keys;
    std::uint32_t *ranks;

    __device__ Needle load(std::uint64_t i) const { return load_once(keys + i); }
    __device__ Needle idle() const { return lowest_key<Key>(); }
    __device__ void run(const Tree<Key> &tree, const Key *top, Needle key, std::uint64_t i,
                        bool active) const {
        const Place place = search<Shape, false>(tree, top, key);
        if (active) {
            __stcs(ranks + i, place.below);
        }
    }
};

// Entries up to the key, for a search that has found the first of them.
template <typename Shape>
__device__ __forceinline__ std::uint32_t end_of_equal(const Tree<typename Shape::Key> &tree,
                                                      const typename Shape::Key *top, typename Shape::Key key,
                                                      const Place &place) {
    using Key = typename Shape::Key;
    const bool highest = equal(key, highest_key<Key>());
    // The filling equals the highest key.
    std::uint32_t end = highest || place.up_to > tree.entries ? tree.entries : place.up_to;
    const bool goes_on = place.goes_on && end < tree.entries && equal(tree.keys[end], key);
    if (__any_sync(0xffffffffU, goes_on)) {
        const Key next = goes_on ? next_key(key) : lowest_key<Key>();
        const Place next_place = search<Shape, false>(tree, top, next);
        end = goes_on ? next_place.below : end;
    }
    return end;
}

template <typename Shape>
struct FindOperation {
    using Key = typename Shape::Key;
    using Needle = Key;

    const Key *keys;
    uint2 *ranges;  // first, last

    __device__ Needle load(std::uint64_t i) const { return load_once(keys + i); }
    __device__ Needle idle() const { return lowest_key<Key>(); }
    __device__ void run(const Tree<Key> &tree, const Key *top, Needle key, std::uint64_t i,
                        bool active) const {
        const Place place = search<Shape, true>(tree, top, key);
        const std::uint32_t end = end_of_equal<Shape>(tree, top, key, place);
        if (active) {
            __stcs(ranges + i, make_uint2(place.below, end));
        }
    }
};

template <typename Key>
struct KeyPair {
    Key low;
    Key high;
};

// Ranges of keys, both ends included, as positions. An empty one has both positions equal.
template <typename Shape>
struct BoundsOperation {
    using Key = typename Shape::Key;
    using Needle = KeyPair<Key>;

    const Key *low;
    const Key *high;
    uint2 *ranges;

    __device__ Needle load(std::uint64_t i) const { return Needle{load_once(low + i), load_once(high + i)}; }
    __device__ Needle idle() const { return Needle{lowest_key<Key>(), lowest_key<Key>()}; }
    __device__ void run(const Tree<Key> &tree, const Key *top, Needle needle, std::uint64_t i,
                        bool active) const {
        const std::uint32_t first = search<Shape, false>(tree, top, needle.low).below;
        const bool open = equal(needle.high, highest_key<Key>());
        const Key next = open ? needle.high : next_key(needle.high);
        std::uint32_t last = search<Shape, false>(tree, top, next).below;
        last = open ? tree.entries : last;
        if (less(needle.high, needle.low)) {
            last = first;
        }
        if (active) {
            __stcs(ranges + i, make_uint2(first, last));
        }
    }
};

// Blocks stay and take one tile of searches after the other, so that the top is copied once a block. The next
// tile's needles are read before the present one is searched.
template <typename Shape, bool SharedTop, typename Operation>
__global__ void __launch_bounds__(Shape::threads)
    search_kernel(const __grid_constant__ Tree<typename Shape::Key> tree,
                  const __grid_constant__ Operation operation, std::uint64_t count) {
    using Key = typename Shape::Key;
    extern __shared__ uint4 shared_words[];
    const Key *top = tree.top;
    if constexpr (SharedTop) {
        auto *copy = reinterpret_cast<Key *>(shared_words);
        for (std::uint32_t i = threadIdx.x; i < 1U << tree.top_depth; i += blockDim.x) {
            copy[i] = tree.top[i];
        }
        __syncthreads();
        top = copy;
    }
    const std::uint64_t stride = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    typename Operation::Needle next = i < count ? operation.load(i) : operation.idle();
    for (std::uint64_t tile = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x; tile < count;
         tile += stride, i += stride) {
        const typename Operation::Needle needle = next;
        const bool active = i < count;
        next = i + stride < count ? operation.load(i + stride) : operation.idle();
        operation.run(tree, top, needle, i, active);
    }
}

}  // namespace gpu_engine::device
