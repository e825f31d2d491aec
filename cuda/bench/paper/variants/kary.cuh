// K-ary search: a group of threads reads the separators of a node together and counts those below the key.
// Each thread has a lookup of its own, and the group searches for them one after the other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/paper/variants/binary.cuh"

namespace gpu_engine::bench::paper {

// Up to Lanes * Parts separators a node, read by Lanes threads.
template <typename KeyType, int Lanes, int Parts>
struct KarySearch {
    using Key = KeyType;

    const Key *keys;
    const Key *separators;
    std::uint32_t entries;
    std::uint32_t fanout;
    std::int32_t levels;
    std::int32_t pinned_levels;  // that are pinned as a whole
    std::uint32_t pinned;        // separators in shared memory, the topmost
    std::uint32_t first[most_levels + 1];

    // With `place_bytes` for pinned separators.
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
            // Whole nodes of the next level.
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

    // How many of a node's keys are below; from `end` on they count as none.
    template <typename Read>
    __device__ __forceinline__ std::uint32_t below(const Key &key, std::uint32_t end, Read read) const {
        const std::uint32_t lane = threadIdx.x % Lanes;
        std::uint32_t count = 0;
#pragma unroll
        for (int part = 0; part < Parts; ++part) {
            const std::uint32_t i = part * Lanes + lane;
            const bool is_below = i < end && device::less(read(i), key);
            if constexpr (Lanes == 1) {
                count += is_below ? 1 : 0;
            } else {
                constexpr std::uint32_t all = 0xffffffffU >> (32 - Lanes);
                const std::uint32_t group = all << (threadIdx.x % 32 / Lanes * Lanes);
                count += __popc(__ballot_sync(0xffffffffU, is_below) & group);
            }
        }
        return count;
    }

    // By all threads of a warp; those with a lookup come before those without.
    __device__ std::uint32_t rank(const Key *shared, const Key &own, bool valid) const {
        const std::uint32_t width = fanout - 1;
        // The first group has as many as any.
        const int searches = min(Lanes, __popc(__ballot_sync(0xffffffffU, valid)));
        std::uint32_t result = 0;
        for (int search = 0; search < searches; ++search) {
            const Key key = device::shuffle(own, search, Lanes);
            std::uint32_t node = 0;
            int level = 0;
            for (; level < pinned_levels; ++level) {
                const Key *place = shared + first[level] + node * width;
                node = node * fanout + below(key, width, [&](std::uint32_t i) { return place[i]; });
            }
            if (first[level] < pinned) {
                const std::uint32_t place = first[level] + node * width;
                node = node * fanout + below(key, width, [&](std::uint32_t i) {
                           return place < pinned ? shared[place + i] : read_key(separators + place + i);
                       });
                ++level;
            }
            for (; level < levels; ++level) {
                const Key *place = separators + first[level] + node * width;
                node =
                    node * fanout + below(key, width, [&](std::uint32_t i) { return read_key(place + i); });
            }
            const std::uint32_t position = node * width;
            const std::uint32_t rank =
                position + below(key, min(width, entries - position),
                                 [&](std::uint32_t i) { return read_key(keys + position + i); });
            if (threadIdx.x % Lanes == search) {
                result = rank;
            }
        }
        return result;
    }
};

// Calls `run` with the null pointer of the search that a node of so many separators takes.
template <typename Key, typename Run>
bool with_lanes(std::uint32_t fanout, Run run) {
    const std::uint32_t width = fanout - 1;
    if (width <= 1) {
        return run(static_cast<KarySearch<Key, 1, 1> *>(nullptr));
    }
    if (width <= 2) {
        return run(static_cast<KarySearch<Key, 2, 1> *>(nullptr));
    }
    if (width <= 4) {
        return run(static_cast<KarySearch<Key, 4, 1> *>(nullptr));
    }
    if (width <= 8) {
        return run(static_cast<KarySearch<Key, 8, 1> *>(nullptr));
    }
    if (width <= 16) {
        return run(static_cast<KarySearch<Key, 16, 1> *>(nullptr));
    }
    if (width <= 32) {
        return run(static_cast<KarySearch<Key, 32, 1> *>(nullptr));
    }
    return run(static_cast<KarySearch<Key, 32, 2> *>(nullptr));
}

}  // namespace gpu_engine::bench::paper
