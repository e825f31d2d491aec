// The tree shapes the library uses, by key width and number of entries: the fastest of those that
// cuda/bench/kary/shapes_*.cu try on an H100, bench/results/2026-11-21-kary-device-h100.json.
#pragma once

#include <cstdint>
#include <type_traits>

#include "device/kary/tree.h"
#include "gpu_engine/entry.h"

namespace gpu_engine::device {

// `Small` serves arrays of up to `small_entries`, `Large` those beyond `medium_entries`. The small ones'
// nodes go into shared memory with the top; beyond, codes of 16 bits are best while all of a tree but its
// leaves takes no more than about a third of L2, and codes of 8 bits where it would take more.
template <typename Key>
struct Shapes;
template <>
struct Shapes<std::uint32_t> {
    static constexpr std::uint64_t small_entries = std::uint64_t(1) << 20;
    static constexpr std::uint64_t medium_entries = std::uint64_t(1) << 27;
    using Small =
        TreeShape<std::uint32_t, std::uint16_t, 1, 4, 4, 13, 1024, 2, CacheHints::leaves_pass_l1, true>;
    using Medium = TreeShape<std::uint32_t, std::uint16_t, 4, 4, 8, 15, 1024, 2>;
    using Large = TreeShape<std::uint32_t, std::uint8_t, 1, 4, 8, 15, 1024, 2>;
};
template <>
struct Shapes<std::uint64_t> {
    static constexpr std::uint64_t small_entries = std::uint64_t(1) << 20;
    static constexpr std::uint64_t medium_entries = std::uint64_t(1) << 26;
    using Small =
        TreeShape<std::uint64_t, std::uint8_t, 1, 4, 4, 13, 1024, 2, CacheHints::leaves_pass_l1, true>;
    using Medium = TreeShape<std::uint64_t, std::uint16_t, 4, 4, 4, 15, 1024, 2>;
    using Large = TreeShape<std::uint64_t, std::uint8_t, 2, 4, 4, 15, 1024, 2>;
};
template <>
struct Shapes<Key128> {
    static constexpr std::uint64_t small_entries = std::uint64_t(1) << 25;
    static constexpr std::uint64_t medium_entries = std::uint64_t(1) << 27;
    using Small = TreeShape<Key128, std::uint16_t, 4, 4, 4, 15, 1024>;
    using Medium = TreeShape<Key128, std::uint8_t, 1, 4, 8, 15, 1024>;
    using Large = TreeShape<Key128, std::uint8_t, 4, 4, 4, 15, 1024>;
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
