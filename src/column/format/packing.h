// Packing integers of 0 to 64 bits in groups of 64, and unpacking them.
#pragma once

#include "column/format/layout.h"
#include "gpu_engine/packing.h"

namespace pg_gpu::column {

static_assert(kGroup == gpu_engine::packing::group);

// Unpacks `groups` groups of values of `bits` bits; values have 32 or 64 bits (packing.cpp).
void unpack(uint32 bits, const uint64 *words, uint64 groups, uint32 *values);
void unpack(uint32 bits, const uint64 *words, uint64 groups, uint64 *values);

// Packs one group of values below 2^bits.
void pack(uint32 bits, const uint64 *values, uint64 *words);

}  // namespace pg_gpu::column
