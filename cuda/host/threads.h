// The threads of oneTBB that help callers, for all engines of the process.
#pragma once

#include <cstdint>

namespace gpu_engine::host {

// Sees to it that there are so many; they stay until the process ends. oneTBB itself starts threads when
// there is work for them, and one that can't be started then (a limit on processes or memory) is never made
// up for: calls would wait for it. Throws Failure where the system has no more threads.
void start_helpers(std::uint32_t count);

}  // namespace gpu_engine::host
