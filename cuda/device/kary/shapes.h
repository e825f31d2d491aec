// The tree shapes the library uses, by key width and number of entries: the fastest of those that
// cuda/bench/kary/shapes_*.cu try on an H100, bench/results/kary/2026-11-21-kary-device-h100.json.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/kary/tree.h"
#include "gpu_engine/entry.h"

namespace gpu_engine::device {

// The shape for arrays so small that their nodes go into shared memory with the top.
struct SmallTree32 : TreePolicy {
    static constexpr int node_lanes = 1;
    static constexpr int top_depth = 13;
    static constexpr int searches = 2;
    static constexpr bool shared_nodes = true;
};
struct SmallTree64 : SmallTree32 {
    using Code = std::uint8_t;
};

// Codes of 16 bits are best while all of a tree but its leaves takes no more than about a third of L2.
struct WideCodes128 : TreePolicy {};
struct WideCodes64 : TreePolicy {
    static constexpr int searches = 2;
};
struct WideCodes32 : WideCodes64 {
    static constexpr int block_prefixes = 8;
};

// Codes of 8 bits are best where it would take more.
struct NarrowCodes128 : TreePolicy {
    using Code = std::uint8_t;
};
struct NarrowCodesInOneLane128 : NarrowCodes128 {
    static constexpr int node_lanes = 1;
    static constexpr int block_prefixes = 8;
};
struct NarrowCodes64 : NarrowCodes128 {
    static constexpr int node_lanes = 2;
    static constexpr int searches = 2;
};
struct NarrowCodes32 : NarrowCodesInOneLane128 {
    static constexpr int searches = 2;
};

// `Small` serves arrays of up to `small_entries`, `Large` those beyond `medium_entries`.
template <typename Key>
struct Shapes;
template <>
struct Shapes<std::uint32_t> {
    static constexpr std::uint64_t small_entries = std::uint64_t(1) << 20;
    static constexpr std::uint64_t medium_entries = std::uint64_t(1) << 27;
    using Small = TreeShape<std::uint32_t, SmallTree32>;
    using Medium = TreeShape<std::uint32_t, WideCodes32>;
    using Large = TreeShape<std::uint32_t, NarrowCodes32>;
};
template <>
struct Shapes<std::uint64_t> {
    static constexpr std::uint64_t small_entries = std::uint64_t(1) << 20;
    static constexpr std::uint64_t medium_entries = std::uint64_t(1) << 26;
    using Small = TreeShape<std::uint64_t, SmallTree64>;
    using Medium = TreeShape<std::uint64_t, WideCodes64>;
    using Large = TreeShape<std::uint64_t, NarrowCodes64>;
};
template <>
struct Shapes<Key128> {
    static constexpr std::uint64_t small_entries = std::uint64_t(1) << 25;
    static constexpr std::uint64_t medium_entries = std::uint64_t(1) << 27;
    using Small = TreeShape<Key128, WideCodes128>;
    using Medium = TreeShape<Key128, NarrowCodesInOneLane128>;
    using Large = TreeShape<Key128, NarrowCodes128>;
};

// Calls `visit` with the std::type_identity of the shape that arrays of so many entries have.
template <typename Key, typename Visit>
decltype(auto) with_shape(std::uint64_t entries, Visit visit) {
    if (entries <= Shapes<Key>::small_entries) {
        return visit(std::type_identity<typename Shapes<Key>::Small>{});
    }
    if (entries <= Shapes<Key>::medium_entries) {
        return visit(std::type_identity<typename Shapes<Key>::Medium>{});
    }
    return visit(std::type_identity<typename Shapes<Key>::Large>{});
}

}  // namespace gpu_engine::device
