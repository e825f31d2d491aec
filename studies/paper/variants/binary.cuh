// Offset-based binary search, in which each thread has a lookup: it takes a step of a power of two forward
// wherever the key at the step's end is below the one looked up. The result is a number of entries, so keys
// behind the last have an answer, too.
#pragma once

#include <bit>
#include <cstdint>

#include "studies/paper/variants/search.h"
#include "device/kary/key.cuh"

namespace gpu_engine::bench::paper {

template <typename Key>
__device__ __forceinline__ Key read_key(const Key *address) {
    if constexpr (sizeof(Key) == 16) {
        const ulonglong2 words = __ldg(reinterpret_cast<const ulonglong2 *>(address));
        return Key{words.x, words.y};
    } else {
        return __ldg(address);
    }
}

template <typename KeyType, Pinning Pinned>
struct BinarySearch {
    using Key = KeyType;

    const Key *keys;
    std::uint32_t entries;
    // The greatest power of two that is no more than the number of entries searched: all of them, or with
    // full-pinning those between two pinned keys.
    std::uint32_t first_step;
    std::uint32_t pinned;   // keys in shared memory; with steps-pinning a power of two
    std::uint32_t segment;  // entries between pinned keys, with full-pinning

    // `place_bytes` are for pinned keys.
    BinarySearch(const Index<Key> &index, const Variant &variant, std::size_t place_bytes)
        : keys(index.keys),
          entries(static_cast<std::uint32_t>(index.entries)),
          first_step(std::bit_floor(entries)),
          pinned(0),
          segment(entries) {
        const auto places = static_cast<std::uint32_t>(place_bytes / sizeof(Key));
        if constexpr (Pinned == Pinning::steps) {
            const int most = static_cast<int>(std::bit_width(places)) - 1;
            int steps = variant.steps > 0 ? variant.steps : most;
            steps = std::min({steps, most, static_cast<int>(std::bit_width(first_step))});
            pinned = steps > 0 ? 1U << steps : 0;
        } else if constexpr (Pinned == Pinning::full) {
            // There is one more segment than keys. Segments begin with sectors of the caches, so that a
            // search's last steps stay in one.
            constexpr std::uint32_t sector = 32 / sizeof(Key);
            if (places > 0) {
                segment = static_cast<std::uint32_t>((index.entries + places) / (std::uint64_t(places) + 1));
                segment = (segment + sector - 1) / sector * sector;
            }
            pinned = (entries - 1) / segment;
            first_step = std::bit_floor(segment);
        }
    }

    std::size_t pinned_bytes() const { return pinned * sizeof(Key); }

    // All threads of a block call it.
    __device__ void pin(Key *shared) const {
        if (pinned == 0) {
            return;
        }
        for (std::uint32_t place = threadIdx.x; place < pinned; place += blockDim.x) {
            if constexpr (Pinned == Pinning::steps) {
                shared[place] = step_key(place);
            } else {
                shared[place] = read_key(keys + (std::uint64_t(place) + 1) * segment - 1);
            }
        }
        __syncthreads();
    }

    // The steps' keys lie as a tree in breadth-first order from 1 on: what neighbours read lies in different
    // banks.
    __device__ Key step_key(std::uint32_t place) const {
        if (place == 0) {
            return device::highest_key<Key>();
        }
        const int depth = device::bit_width(place) - 1;
        const std::uint64_t step = first_step >> depth;
        const std::uint64_t end = (std::uint64_t(place) - (1U << depth)) * 2 * step + step;
        return end <= entries ? read_key(keys + end - 1) : device::highest_key<Key>();
    }

    __device__ std::uint32_t rank(const Key *shared, const Key &key, bool) const {
        std::uint32_t position = 0;
        std::uint32_t left = entries;
        std::uint32_t step = first_step;
        if constexpr (Pinned == Pinning::steps) {
            if (pinned > 0) {
                std::uint32_t place = 1;
                while (place < pinned) {
                    place = place * 2 + (device::less(shared[place], key) ? 1 : 0);
                    step >>= 1;
                }
                // This shift holds after the last step, too, where `step` is 0.
                position = (place - pinned) * (first_step >> (device::bit_width(pinned) - 2));
                left = entries - position;
            }
        } else if constexpr (Pinned == Pinning::full) {
            std::uint32_t low = 0;
            std::uint32_t high = pinned;
            while (low < high) {
                const std::uint32_t middle = (low + high) / 2;
                if (device::less(shared[middle], key)) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            position = low * segment;
            left = min(entries - position, segment);
        }
        for (; step > 0; step >>= 1) {
            if (step <= left && device::less(read_key(keys + position + step - 1), key)) {
                position += step;
                left -= step;
            }
        }
        return position;
    }
};

}  // namespace gpu_engine::bench::paper
