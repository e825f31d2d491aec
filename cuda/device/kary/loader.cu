#include "device/kary/loader.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template Status DeviceKary<Key>::open_loader(Stream &, std::uint64_t,
                                             std::unique_ptr<KaryLoader<Key>> *) noexcept;
template std::uint64_t DeviceKary<Key>::array_bytes(std::uint64_t) const noexcept;

}  // namespace gpu_engine::device
