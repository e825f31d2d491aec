#include "device/kary/loader.cuh"

namespace gpu_engine::device {

template Status DeviceKary<Key128>::open_loader(Stream &, std::uint64_t,
                                                std::unique_ptr<KaryLoader<Key128>> *) noexcept;
template std::uint64_t DeviceKary<Key128>::array_bytes(std::uint64_t) const noexcept;

}  // namespace gpu_engine::device
