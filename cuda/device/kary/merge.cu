#include "device/kary/merge.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template Status DeviceKary<Key>::merge(Stream &, const KaryArray<Key> *const *, std::size_t,
                                       std::unique_ptr<KaryArray<Key>> *) noexcept;

}  // namespace gpu_engine::device
