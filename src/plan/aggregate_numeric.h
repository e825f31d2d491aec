// Numerics as integers of 128 bits that are all scaled alike.
#pragma once

#include "column/numeric.h"
#include "memory.h"

namespace pg_gpu::plan {

using column::Int128;
using column::make_numeric;
using column::read_wide;
using column::shown_scale;
using column::wide_of_words;

// Numbers that were read, each with the scale that it has; kNoScale: there is none.
inline constexpr uint8 kNoScale = UINT8_MAX;
struct WideMap {
    uint64 *words;
    const uint8 *scales;
    uint64 count;
};
struct WideNumbers {
    WideMap *maps;
    int count;
    int room;
};
void add_wide_map(WideNumbers *wide, uint64 *words, const uint8 *scales, uint64 count);

// Scales all alike. False when a sum of so many of them, or one of them, might not fit.
bool scale_wide(WideNumbers *wide, uint64 rows, uint8 *scale);

// A number in the middle of all of them. False: they are further apart than 2^62.
bool centre_wide(const WideNumbers &wide, Int128 *centre);

}  // namespace pg_gpu::plan
