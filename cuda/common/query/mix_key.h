// The hash of a key's words, of groups and of joined rows.
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"

namespace gpu_engine {

GPU_ENGINE_BOTH std::uint64_t mix_key(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93;
    return hash ^ hash >> 32;
}

}  // namespace gpu_engine
