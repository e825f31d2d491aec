#include "device/kary/merge.cuh"

namespace gpu_engine::device {

template Status DeviceKary<std::uint32_t>::merge(Stream &, const KaryArray<std::uint32_t> *const *,
                                                 std::size_t,
                                                 std::unique_ptr<KaryArray<std::uint32_t>> *) noexcept;

}  // namespace gpu_engine::device
