// K-ary search: a group of threads reads the separators of a node together and counts those below the key.
// Each thread has a lookup of its own, and the group searches for them one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "studies/paper/variants/binary.cuh"

namespace gpu_engine::bench::paper {

// A node has up to Lanes * Parts separators, which Lanes threads read. They have Together searches under way.
template <typename KeyType, int Lanes, int Parts, int Together>
struct KarySearch {
    static_assert(Together <= Lanes);
    using Key = KeyType;

    const Key *keys;
    const Key *separators;
    std::uint32_t entries;
    std::uint32_t fanout;
    std::int32_t levels;
    std::int32_t pinned_levels;  // that are pinned as a whole
    std::uint32_t pinned;        // separators in shared memory, the topmost
    std::uint32_t first[max_levels + 1];

    // `place_bytes` are for pinned separators.
    KarySearch(const Index<Key> &index, const Variant &variant, std::size_t place_bytes)
        : keys(index.keys),
          separators(index.separators->keys.data()),
          entries(static_cast<std::uint32_t>(index.entries)),
          fanout(index.separators->fanout),
          levels(index.separators->levels),
          pinned_levels(0),
          pinned(0) {
        std::copy(std::begin(index.separators->first), std::end(index.separators->first), first);
        if (variant.pinning == Pinning::none) {
            return;
        }
        const std::size_t places = place_bytes / sizeof(Key);
        const int most = variant.pinning == Pinning::steps && variant.steps > 0 ? variant.steps : levels;
        while (pinned_levels < std::min(most, levels) && first[pinned_levels + 1] <= places) {
            ++pinned_levels;
        }
        pinned = first[pinned_levels];
        if (variant.pinning == Pinning::full && pinned_levels < levels) {
            // What is left is filled with whole nodes of the next level.
            const std::uint32_t node = fanout - 1;
            pinned += static_cast<std::uint32_t>((places - pinned) / node) * node;
        }
    }

    std::size_t pinned_bytes() const { return pinned * sizeof(Key); }

    __device__ void pin(Key *shared) const {
        if (pinned == 0) {
            return;
        }
        for (std::uint32_t i = threadIdx.x; i < pinned; i += blockDim.x) {
            shared[i] = read_key(separators + i);
        }
        __syncthreads();
    }

    // nodes[t] becomes `scale` times itself, plus the number of keys below keys[t] among the first ends[t]
    // keys of the node; read(t, i) reads these.
    template <typename Read>
    __device__ __forceinline__ void descend(const Key (&keys)[Together],
                                            const std::uint32_t (&ends)[Together], std::uint32_t scale,
                                            Read read, std::uint32_t (&nodes)[Together]) const {
        const std::uint32_t lane = threadIdx.x % Lanes;
        Key found[Together][Parts];
#pragma unroll
        for (int t = 0; t < Together; ++t) {
#pragma unroll
            for (int part = 0; part < Parts; ++part) {
                const std::uint32_t i = part * Lanes + lane;
                found[t][part] = i < ends[t] ? read(t, i) : device::highest_key<Key>();
            }
        }
#pragma unroll
        for (int t = 0; t < Together; ++t) {
            nodes[t] *= scale;
#pragma unroll
            for (int part = 0; part < Parts; ++part) {
                const bool below = device::less(found[t][part], keys[t]);
                if constexpr (Lanes == 1) {
                    nodes[t] += below ? 1 : 0;
                } else {
                    constexpr std::uint32_t all = 0xffffffffU >> (32 - Lanes);
                    const std::uint32_t group = all << (threadIdx.x % 32 / Lanes * Lanes);
                    nodes[t] += __popc(__ballot_sync(0xffffffffU, below) & group);
                }
            }
        }
    }

    // All threads of a warp call it; those with a lookup come before those without.
    __device__ std::uint32_t rank(const Key *shared, const Key &own, bool valid) const {
        const std::uint32_t width = fanout - 1;
        // No group has more lookups than the first.
        const int searches = min(Lanes, __popc(__ballot_sync(0xffffffffU, valid)));
        std::uint32_t result = 0;
        for (int search = 0; search < searches; search += Together) {
            Key wanted[Together];
            std::uint32_t nodes[Together];
            std::uint32_t ends[Together];
#pragma unroll
            for (int t = 0; t < Together; ++t) {
                wanted[t] = device::shuffle(own, search + t, Lanes);
                nodes[t] = 0;
                ends[t] = width;
            }
            int level = 0;
            for (; level < pinned_levels; ++level) {
                const Key *begin = shared + first[level];
                descend(
                    wanted, ends, fanout, [&](int t, std::uint32_t i) { return begin[nodes[t] * width + i]; },
                    nodes);
            }
            if (first[level] < pinned) {
                const std::uint32_t begin = first[level];
                descend(
                    wanted, ends, fanout,
                    [&](int t, std::uint32_t i) {
                        const std::uint32_t place = begin + nodes[t] * width;
                        return place < pinned ? shared[place + i] : read_key(separators + place + i);
                    },
                    nodes);
                ++level;
            }
            for (; level < levels; ++level) {
                const Key *begin = separators + first[level];
                descend(
                    wanted, ends, fanout,
                    [&](int t, std::uint32_t i) { return read_key(begin + nodes[t] * width + i); }, nodes);
            }
#pragma unroll
            for (int t = 0; t < Together; ++t) {
                nodes[t] *= width;
                ends[t] = min(width, entries - nodes[t]);
            }
            std::uint32_t ranks[Together];
#pragma unroll
            for (int t = 0; t < Together; ++t) {
                ranks[t] = nodes[t];
            }
            descend(
                wanted, ends, 1, [&](int t, std::uint32_t i) { return read_key(keys + nodes[t] + i); },
                ranks);
#pragma unroll
            for (int t = 0; t < Together; ++t) {
                if (threadIdx.x % Lanes == search + t) {
                    result = ranks[t];
                }
            }
        }
        return result;
    }
};

// Calls `run` with a null pointer to the search that a node of so many separators takes. A single lane has
// only one lookup.
template <typename Key, int Together, typename Run>
bool with_lanes(std::uint32_t fanout, Run run) {
    const std::uint32_t width = fanout - 1;
    if (width <= 1) {
        return run(static_cast<KarySearch<Key, 1, 1, 1> *>(nullptr));
    }
    if (width <= 2) {
        return run(static_cast<KarySearch<Key, 2, 1, Together> *>(nullptr));
    }
    if (width <= 4) {
        return run(static_cast<KarySearch<Key, 4, 1, Together> *>(nullptr));
    }
    if (width <= 8) {
        return run(static_cast<KarySearch<Key, 8, 1, Together> *>(nullptr));
    }
    if (width <= 16) {
        return run(static_cast<KarySearch<Key, 16, 1, Together> *>(nullptr));
    }
    if (width <= 32) {
        return run(static_cast<KarySearch<Key, 32, 1, Together> *>(nullptr));
    }
    return run(static_cast<KarySearch<Key, 32, 2, Together> *>(nullptr));
}

}  // namespace gpu_engine::bench::paper
