#include "device/kary/merge.cuh"

namespace gpu_engine::device {

template Status DeviceKary<std::uint64_t>::merge(Stream &, const KaryArray<std::uint64_t> *const *,
                                                 std::size_t,
                                                 std::unique_ptr<KaryArray<std::uint64_t>> *) noexcept;

}  // namespace gpu_engine::device
