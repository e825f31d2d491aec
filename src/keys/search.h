// Searches in sorted key arrays, as used on pages. Plain C++, tested without PostgreSQL.
#pragma once

#include <cstdint>

namespace pg_gpu::keys {

// Number of the first `count` ascending keys for which is_left(key) holds: it does for a prefix of them. Each
// step looks at seven keys that split the rest in eight, which do not wait for one another, so a page costs
// three rounds of cache misses where halving costs seven; no branch depends on a key (Schlegel, Gemulla and
// Lehner, "k-Ary Search on Modern Processors").
template <typename Key, typename IsLeft>
inline uint32_t partition_point(const Key *keys, uint32_t count, IsLeft is_left) {
    constexpr uint32_t kParts = 8;
    constexpr uint32_t kFew = 16;
    const Key *base = keys;
    while (count > kFew) {
        const uint32_t part = count / kParts;
        uint32_t parts_left = 0;
        for (uint32_t i = 1; i < kParts; i++)
            parts_left += is_left(base[i * part - 1]) ? 1 : 0;
        base += parts_left * part;
        count = parts_left == kParts - 1 ? count - parts_left * part : part;
    }
    uint32_t left = static_cast<uint32_t>(base - keys);
    for (uint32_t i = 0; i < count; i++)
        left += is_left(base[i]) ? 1 : 0;
    return left;
}

// Returns the index of the first of `count` ascending keys that is not below `key`.
template <typename Key>
inline uint32_t lower_bound(const Key *keys, uint32_t count, Key key) {
    return partition_point(keys, count, [key](Key other) { return other < key; });
}

// Returns the index of the first key above `key`.
template <typename Key>
inline uint32_t upper_bound(const Key *keys, uint32_t count, Key key) {
    return partition_point(keys, count, [key](Key other) { return other <= key; });
}

}  // namespace pg_gpu::keys
