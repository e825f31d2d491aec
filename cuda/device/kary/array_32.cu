#include "device/kary/array.cuh"
#include "device/kary/match.cuh"
#include "device/kary/ranges.cuh"

namespace gpu_engine::device {

template class DeviceKaryArray<std::uint32_t>;
template Status DeviceKary<std::uint32_t>::build(Stream &, const std::uint32_t *, const Tid *, std::uint64_t,
                                                 std::unique_ptr<KaryArray<std::uint32_t>> *) noexcept;
template Status DeviceKary<std::uint32_t>::load(Stream &, const std::uint32_t *, const Tid *, std::uint64_t,
                                                std::unique_ptr<KaryArray<std::uint32_t>> *) noexcept;
template Status DeviceKary<std::uint32_t>::match(Stream &, const KaryArray<std::uint32_t> *const *,
                                                 std::size_t, const std::uint32_t *, std::uint64_t,
                                                 const Kary<std::uint32_t>::PlacesFor &) noexcept;

}  // namespace gpu_engine::device
