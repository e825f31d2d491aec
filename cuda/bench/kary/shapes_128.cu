#include "bench/kary/lookup.cuh"
#include "bench/kary/tried_shape.h"
#include "device/kary/shapes.h"

namespace gpu_engine::bench {

using device::CacheHints;
using device::TriedShape;
using K = Key128;
using u8 = std::uint8_t;
using u16 = std::uint16_t;

// Parameters: code, lanes a node, lanes a leaf, prefixes a block, depth of the top, threads a block, searches
// a thread, hints, shared nodes.
std::vector<LookupVariant<K>> tree_variants_128() {
    constexpr CacheHints pass = CacheHints::leaves_pass_l1;
    constexpr CacheHints l2 = CacheHints::leaves_leave_l2_first;
    return {
        tree_variant<TriedShape<K, u8, 1, 8, 4, 13, 1024, 1, pass, true>>(),
        tree_variant<TriedShape<K, u16, 4, 4, 4, 15, 1024>>(),
        tree_variant<TriedShape<K, u16, 4, 4, 4, 15, 1024, 2>>(),
        tree_variant<TriedShape<K, u16, 4, 4, 4, 15, 1024, 1, l2>>(),
        tree_variant<TriedShape<K, u16, 4, 4, 4, 14, 512>>(),
        tree_variant<TriedShape<K, u16, 2, 4, 4, 15, 1024>>(),
        tree_variant<TriedShape<K, u16, 2, 4, 4, 14, 512>>(),
        tree_variant<TriedShape<K, u16, 4, 8, 4, 15, 1024>>(),
        tree_variant<TriedShape<K, u8, 4, 4, 4, 15, 1024>>(),
        tree_variant<TriedShape<K, u8, 2, 4, 4, 15, 1024>>(),
        tree_variant<TriedShape<K, u8, 2, 4, 4, 15, 1024, 2>>(),
        tree_variant<TriedShape<K, u8, 2, 4, 4, 15, 1024, 1, l2>>(),
        tree_variant<TriedShape<K, u8, 1, 4, 8, 15, 1024>>(),
        tree_variant<TriedShape<K, u8, 2, 8, 4, 15, 1024>>(),
    };
}

}  // namespace gpu_engine::bench
