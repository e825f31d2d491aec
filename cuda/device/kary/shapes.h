// The tree shapes the library uses, one a key width: the fastest measured (cuda/bench/kary_device.cu).
#pragma once

#include <cstdint>

#include "device/kary/tree.h"
#include "gpu_engine/entry.h"

namespace gpu_engine::device {

template <typename Key>
struct DefaultShape;
template <>
struct DefaultShape<std::uint32_t> {
    using type = TreeShape<std::uint32_t, std::uint8_t, 4, 4, 8, 14, 512>;
};
template <>
struct DefaultShape<std::uint64_t> {
    using type = TreeShape<std::uint64_t, std::uint8_t, 4, 4, 8, 13, 512>;
};
template <>
struct DefaultShape<Key128> {
    using type = TreeShape<Key128, std::uint8_t, 4, 4, 4, 12, 512>;
};

}  // namespace gpu_engine::device
