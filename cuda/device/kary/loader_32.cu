#include "device/kary/loader.cuh"

namespace gpu_engine::device {

template Status DeviceKary<std::uint32_t>::open_loader(Stream &, std::uint64_t,
                                                       std::unique_ptr<KaryLoader<std::uint32_t>> *) noexcept;
template std::uint64_t DeviceKary<std::uint32_t>::array_bytes(std::uint64_t) const noexcept;

}  // namespace gpu_engine::device
