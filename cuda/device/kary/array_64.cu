#include "device/kary/array.cuh"
#include "device/kary/ranges.cuh"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {

template class DeviceKaryArray<std::uint64_t>;
template Status DeviceKary<std::uint64_t>::build(Stream &, const std::uint64_t *, const Tid *, std::uint64_t,
                                                 std::unique_ptr<KaryArray<std::uint64_t>> *) noexcept;
template Status DeviceKary<std::uint64_t>::load(Stream &, const std::uint64_t *, const Tid *, std::uint64_t,
                                                std::unique_ptr<KaryArray<std::uint64_t>> *) noexcept;

}  // namespace gpu_engine::device
