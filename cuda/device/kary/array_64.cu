#include "device/kary/array.cuh"
#include "device/kary/match.cuh"
#include "device/kary/ranges.cuh"

namespace gpu_engine::device {

template class DeviceKaryArray<std::uint64_t>;
template Status DeviceKary<std::uint64_t>::build(Stream &, const std::uint64_t *, const Tid *, std::uint64_t,
                                                 std::unique_ptr<KaryArray<std::uint64_t>> *) noexcept;
template Status DeviceKary<std::uint64_t>::load(Stream &, const std::uint64_t *, const Tid *, std::uint64_t,
                                                std::unique_ptr<KaryArray<std::uint64_t>> *) noexcept;
template Status DeviceKary<std::uint64_t>::match(Stream &, const KaryArray<std::uint64_t> *const *,
                                                 std::size_t, const std::uint64_t *, std::uint64_t,
                                                 const Kary<std::uint64_t>::PlacesFor &) noexcept;

}  // namespace gpu_engine::device
