// What the variants search, and the calls that run them.
#pragma once

#include <cstdint>

#include "studies/paper/variants/variant.h"
#include "device/call.h"

namespace gpu_engine::bench::paper {

inline constexpr int max_levels = 32;

// The levels of nodes above a sorted array that is cut into leaves of fanout - 1 keys. A node has fanout - 1
// separators, each the last key below one of its children, so the number of its child is the number of
// separators below the key that is looked up; behind the last child they are the highest key. The child's
// number among its level's nodes follows from its parent's, so there are no pointers.
template <typename Key>
struct Separators {
    device::Buffer<Key> keys;  // level after level from the top
    std::uint32_t fanout = 0;
    int levels = 0;                            // without the leaves
    std::uint32_t first[max_levels + 1] = {};  // where each level begins; the last: how many there are
};

template <typename Key>
Separators<Key> build_separators(const device::Call &call, const Key *sorted, std::uint64_t entries,
                                 std::uint32_t fanout);

template <typename Key>
struct Index {
    const Key *keys;  // sorted, on the device
    std::uint64_t entries;
    Key last_key;
    const Separators<Key> *separators;  // null: for binary search alone
};

// Sets ranks[j] to the number of entries below lookups[j], for `count` lookups. All arrays are on the device.
template <typename Key>
struct Batch {
    const Key *lookups;
    std::uint64_t count;
    std::uint32_t *ranks;
};

// Launches the lookup. Returns false when the variant isn't compiled, or when its tile leaves no place for
// what it pins.
template <typename Key>
bool look_up(const device::Call &call, const Index<Key> &index, const Variant &variant,
             const Batch<Key> &batch);

// ---- The parts, each in a file of its own, and a width of keys a file ---------------------------

template <typename Key>
bool look_up_binary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                    const Batch<Key> &batch);
template <typename Key>
bool look_up_kary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                  const Batch<Key> &batch);
template <typename Key>
bool reorder_binary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                    const Batch<Key> &batch);
template <typename Key>
bool reorder_kary(const device::Call &call, const Index<Key> &index, const Variant &variant,
                  const Batch<Key> &batch);
// Tiles of all shapes, without pinning, for 32-bit keys.
template <int Threads>
bool reorder_by_tiles(const device::Call &call, const Index<std::uint32_t> &index, const Variant &variant,
                      const Batch<std::uint32_t> &batch);

}  // namespace gpu_engine::bench::paper
