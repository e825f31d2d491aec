// An EngineId distinguishes the server's engines.
#pragma once

#include <cstdint>

namespace gpu_engine::server {

// An engine's place in the server's list: the host's engines come first, then one for each device. A kind of
// engine (protocol::EngineName) is what sessions ask; which of its engines computes is the server's business.
using EngineId = std::uint32_t;
inline constexpr EngineId max_engines = 32;
// On whose account runs' strings are in the machine's memory.
inline constexpr EngineId strings_engine = 0;

}  // namespace gpu_engine::server
