#include "device/kary/array.cuh"
#include "device/kary/ranges.cuh"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {

template class DeviceKaryArray<Key128>;
template Status DeviceKary<Key128>::build(Stream &, const Key128 *, const Tid *, std::uint64_t,
                                          std::unique_ptr<KaryArray<Key128>> *) noexcept;
template Status DeviceKary<Key128>::load(Stream &, const Key128 *, const Tid *, std::uint64_t,
                                         std::unique_ptr<KaryArray<Key128>> *) noexcept;

}  // namespace gpu_engine::device
