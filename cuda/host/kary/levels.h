// Separators above a sorted array, and the search through them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "gpu_engine/entry.h"
#include "host/buffer.h"
#include "host/parallel.h"

namespace gpu_engine::host {

template <typename Key>
constexpr Key max_key() noexcept {
    if constexpr (sizeof(Key) == 16) {
        return Key{UINT64_MAX, UINT64_MAX};
    } else {
        return std::numeric_limits<Key>::max();
    }
}

// Returns the key's successor; not for max_key.
template <typename Key>
constexpr Key next_key(Key key) noexcept {
    if constexpr (sizeof(Key) == 16) {
        return key.low == UINT64_MAX ? Key{key.high + 1, 0} : Key{key.high, key.low + 1};
    } else {
        return key + 1;
    }
}

// The levels of a K-ary search tree without child pointers: each level holds the last key of each node of the
// one below, and a node is `node_keys` neighbours, a cache line or two. The lowest level is the sorted array
// itself, filled up with max_key to whole nodes. The last separator of a level is max_key too, so that a
// search always finds a child. (Schlegel, Gemulla, Lehner: "k-ary search on modern processors", 2009, there
// with a different arrangement.)
template <typename Key>
class Levels {
  public:
    static constexpr std::uint64_t node_keys = sizeof(Key) == 4 ? 16 : 8;
    static constexpr int max_levels = 12;
    // Searches that are in flight together, so that one's cache miss hides behind the others'.
    static constexpr std::uint64_t batch = 32;

    static constexpr std::uint64_t padded(std::uint64_t keys) noexcept {
        return (keys + node_keys - 1) / node_keys * node_keys;
    }

    static constexpr std::uint64_t separators_above(std::uint64_t keys) noexcept {
        std::uint64_t separators = 0;
        for (std::uint64_t nodes = padded(keys) / node_keys; nodes > 1; nodes = padded(nodes) / node_keys) {
            separators += padded(nodes);
        }
        return separators;
    }

    Levels() = default;
    // `keys` has `padded(count)` places and outlives this. Builds from the bottom up.
    Levels(MemoryBudget &budget, const Workers &workers, const Key *keys, std::uint64_t count) {
        level_[0] = keys;
        std::uint64_t nodes[max_levels] = {padded(count) / node_keys};
        for (depth_ = 1; nodes[depth_ - 1] > 1; ++depth_) {
            nodes[depth_] = padded(nodes[depth_ - 1]) / node_keys;
        }
        separators_ = Buffer<Key>(budget, separators_above(count));
        Key *next = separators_.data();
        for (int level = 1; level < depth_; ++level) {
            const Key *below = level_[level - 1];
            const std::uint64_t children = nodes[level - 1];
            workers.for_pieces(children, std::uint64_t(1) << 16,
                               [&](std::uint64_t first, std::uint64_t last) {
                                   for (std::uint64_t i = first; i < last; ++i) {
                                       next[i] = below[i * node_keys + node_keys - 1];
                                   }
                               });
            std::fill(next + children - 1, next + nodes[level] * node_keys, max_key<Key>());
            level_[level] = next;
            next += nodes[level] * node_keys;
        }
    }

    std::uint64_t bytes() const noexcept { return separators_.bytes(); }

    // Makes ranks[i] the number of keys below wanted(i), for i < count <= batch.
    template <typename Wanted>
    void rank(Wanted wanted, std::uint64_t count, std::uint32_t *ranks) const noexcept {
        std::uint64_t node[batch] = {};
        for (int level = depth_ - 1; level > 0; --level) {
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t first = node[i] * node_keys;
                node[i] = first + keys_below(level_[level] + first, wanted(i));
                __builtin_prefetch(level_[level - 1] + node[i] * node_keys);
                if constexpr (node_keys * sizeof(Key) > 64) {
                    __builtin_prefetch(level_[level - 1] + node[i] * node_keys + node_keys / 2);
                }
            }
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t first = node[i] * node_keys;
            ranks[i] = static_cast<std::uint32_t>(first + keys_below(level_[0] + first, wanted(i)));
        }
    }

    std::uint32_t rank(Key key) const noexcept {
        std::uint32_t result;
        rank([&](std::uint64_t) { return key; }, 1, &result);
        return result;
    }

    // Returns how many of a node's keys are below `key`. It has no branch, so that the compiler vectorises
    // it.
    static std::uint64_t keys_below(const Key *node, Key key) noexcept {
        std::uint32_t below = 0;
        for (std::uint64_t i = 0; i < node_keys; ++i) {
            below += node[i] < key ? 1 : 0;
        }
        return below;
    }

  private:
    Buffer<Key> separators_;
    const Key *level_[max_levels] = {};
    int depth_ = 0;
};

}  // namespace gpu_engine::host
