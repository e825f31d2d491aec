#include "bench/device/lookup.cuh"
#include "device/kary/shapes.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::bench {

using device::CacheHints;
using device::TreeShape;
using K = std::uint32_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

// Parameters: code, lanes a node, lanes a leaf, keys a block, depth of the top, threads a block, hints.
std::vector<LookupVariant<K>> tree_variants_32() {
    constexpr CacheHints none = CacheHints::none;
    constexpr CacheHints l2 = CacheHints::leaves_leave_l2_first;
    return {
        tree_variant<device::DefaultShape<K>::type>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 14, 512, none>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 14, 512, l2>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 14, 512>, true>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 14, 256>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 14, 1024>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 12, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 13, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 13, 1024>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 15, 1024>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 16, 14, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 4, 14, 512>>(),
        tree_variant<TreeShape<K, u8, 2, 4, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u8, 1, 4, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 8, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 2, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u16, 4, 4, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u16, 4, 4, 8, 14, 512, l2>>(),
        tree_variant<TreeShape<K, u16, 4, 4, 8, 14, 512>, true>(),
        tree_variant<TreeShape<K, u16, 4, 4, 8, 15, 1024>>(),
        tree_variant<TreeShape<K, u16, 4, 4, 16, 14, 512>>(),
        tree_variant<TreeShape<K, u16, 2, 4, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u16, 4, 2, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u32, 4, 4, 8, 14, 512>>(),
        tree_variant<TreeShape<K, u32, 4, 4, 8, 14, 512, l2>>(),
        tree_variant<TreeShape<K, u32, 4, 8, 8, 14, 512>>(),
    };
}

}  // namespace gpu_engine::bench
