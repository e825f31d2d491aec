#include "device/kary/array.cuh"
#include "device/kary/match.cuh"
#include "device/kary/ranges.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template class DeviceKaryArray<Key>;
template Status DeviceKary<Key>::match(Stream &, const KaryArray<Key> *const *, std::size_t, const Key *,
                                       std::uint64_t, const Kary<Key>::PlacesFor &) noexcept;

}  // namespace gpu_engine::device
