#include "device/kary/merge.cuh"

namespace gpu_engine::device {

template Status DeviceKary<Key128>::merge(Stream &, const KaryArray<Key128> *const *, std::size_t,
                                          std::unique_ptr<KaryArray<Key128>> *) noexcept;

}  // namespace gpu_engine::device
