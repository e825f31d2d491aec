// Searches in sorted key arrays, as used on pages. Plain C++, tested without PostgreSQL.
#pragma once

#include <cstdint>

namespace pg_gpu::kary {

// Index of the first of `count` ascending keys that is not below `key`. The halving has no unpredictable
// branch, so a page costs its cache misses and little else (Khuong and Morin, "Array Layouts for
// Comparison-Based Searching").
template <typename Key>
inline uint32_t lower_bound(const Key *keys, uint32_t count, Key key) {
    const Key *base = keys;
    while (count > 1) {
        const uint32_t half = count / 2;
        base += (base[half - 1] < key) ? half : 0;
        count -= half;
    }
    return static_cast<uint32_t>(base - keys) + (count == 1 && *base < key ? 1 : 0);
}

// Index of the first key above `key`.
template <typename Key>
inline uint32_t upper_bound(const Key *keys, uint32_t count, Key key) {
    const Key *base = keys;
    while (count > 1) {
        const uint32_t half = count / 2;
        base += (base[half - 1] <= key) ? half : 0;
        count -= half;
    }
    return static_cast<uint32_t>(base - keys) + (count == 1 && *base <= key ? 1 : 0);
}

}  // namespace pg_gpu::kary
