#include "device/kary/array.cuh"
#include "device/kary/match.cuh"
#include "device/kary/ranges.cuh"

namespace gpu_engine::device {

template class DeviceKaryArray<Key128>;
template Status DeviceKary<Key128>::build(Stream &, const Key128 *, const Tid *, std::uint64_t,
                                          std::unique_ptr<KaryArray<Key128>> *) noexcept;
template Status DeviceKary<Key128>::load(Stream &, const Key128 *, const Tid *, std::uint64_t,
                                         std::unique_ptr<KaryArray<Key128>> *) noexcept;
template Status DeviceKary<Key128>::match(Stream &, const KaryArray<Key128> *const *, std::size_t,
                                          const Key128 *, std::uint64_t,
                                          const Kary<Key128>::PlacesFor &) noexcept;

}  // namespace gpu_engine::device
