#include "bench/device/lookup.cuh"
#include "device/kary/shapes.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::bench {

using device::CacheHints;
using device::TreeShape;
using K = std::uint64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;

std::vector<LookupVariant<K>> tree_variants_64() {
    constexpr CacheHints l2 = CacheHints::leaves_leave_l2_first;
    return {
        tree_variant<device::DefaultShape<K>::type>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 13, 512, l2>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 12, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 8, 14, 1024>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 4, 13, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 4, 16, 13, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 8, 8, 13, 512>>(),
        tree_variant<TreeShape<K, u8, 4, 8, 8, 13, 512, l2>>(),
        tree_variant<TreeShape<K, u8, 2, 8, 8, 13, 512>>(),
        tree_variant<TreeShape<K, u16, 4, 4, 8, 13, 512>>(),
        tree_variant<TreeShape<K, u16, 4, 8, 8, 13, 512>>(),
        tree_variant<TreeShape<K, K, 4, 4, 8, 13, 512>>(),
    };
}

}  // namespace gpu_engine::bench
