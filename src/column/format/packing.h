// Packing integers of 0 to 64 bits in groups of 64, and unpacking them.
#pragma once

#include "column/format/layout.h"
#include "gpu_engine/packing.h"

namespace pg_gpu::column {

static_assert(kGroup == gpu_engine::packing::group);

// Unpacks `groups` groups of values of `bits` bits; values have 32 or 64 bits (packing.cpp).
void unpack(uint32 bits, const uint64 *words, uint64 groups, uint32 *values);
void unpack(uint32 bits, const uint64 *words, uint64 groups, uint64 *values);

// Unpacks the values at `places` among them, of `bits` bits each; the word behind the last one may be read.
void unpack_some(uint32 bits, const uint64 *words, const uint16 *places, uint32 count, uint32 *values);
void unpack_some(uint32 bits, const uint64 *words, const uint16 *places, uint32 count, uint64 *values);

// Packs one group of values below 2^bits.
void pack(uint32 bits, const uint64 *values, uint64 *words);

// Writes down the places of set bits, and returns their number. So many places more than there are bits may
// be written, and mean nothing.
inline constexpr uint32 kMorePlaces = 8;
uint32 list_bits(const uint64 *bits, uint32 words, uint16 *places);

}  // namespace pg_gpu::column
