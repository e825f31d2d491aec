// Whether another process could open the device.
#pragma once

#include <cstdint>

namespace gpu_engine::server {

// Runs this program once more; the new process opens the device and ends. A CUDA runtime that met no driver
// never looks for one again, so only a new process can tell that there is one now. Returns false too when
// that takes longer than half a minute, or can't be tried.
bool another_process_opens_device(std::int32_t device);

}  // namespace gpu_engine::server
