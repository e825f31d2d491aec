// Entries of a table in parts by their hashes, so that each part of several tables is put together by one
// thread.
#pragma once

#include "host/buffer.h"

namespace gpu_engine::host {

inline constexpr std::uint32_t hash_part_bits = 6;
inline constexpr std::uint32_t hash_parts = 1U << hash_part_bits;

// Entries in the order of the parts that they belong to.
struct HashParts {
    Buffer<std::uint32_t> entries;
    std::uint64_t begin[hash_parts + 1];
};

// `hash_of` gives the hash of each of `count` entries.
template <typename HashOf>
HashParts order_by_part(MemoryBudget &budget, std::uint64_t count, HashOf hash_of) {
    HashParts parts = {Buffer<std::uint32_t>(budget, count), {}};
    Buffer<std::uint8_t> part_of(budget, count);
    std::uint64_t counts[hash_parts] = {};
    for (std::uint64_t i = 0; i < count; ++i) {
        part_of[i] = static_cast<std::uint8_t>(hash_of(i) >> (64 - hash_part_bits));
        ++counts[part_of[i]];
    }
    std::uint64_t next[hash_parts];
    std::uint64_t first = 0;
    for (std::uint32_t part = 0; part < hash_parts; ++part) {
        parts.begin[part] = first;
        next[part] = first;
        first += counts[part];
    }
    parts.begin[hash_parts] = first;
    for (std::uint64_t i = 0; i < count; ++i) {
        parts.entries[next[part_of[i]]++] = static_cast<std::uint32_t>(i);
    }
    return parts;
}

}  // namespace gpu_engine::host
