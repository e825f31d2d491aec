// Memory that the host engine keeps for further calls.
#pragma once

#include <cstdint>

namespace gpu_engine::host {

// Is to be called every second or so, by one thread: if no call has used what all engines of the process keep
// since then, most of it is the system's again. Returns how many bytes are kept on, which no budget counts.
std::uint64_t give_back_kept_memory() noexcept;

}  // namespace gpu_engine::host
