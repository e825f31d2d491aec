// Numerics as integers of 128 bits that are all scaled alike.
#pragma once

#include "column/format/numeric.h"
#include "memory.h"

namespace pg_gpu::plan {

using column::Int128;
using column::make_numeric;
using column::read_wide;
using column::wide_of_words;

// Numbers that were read, each with the scale that it has; kNoScale: there is none.
inline constexpr uint8 kNoScale = UINT8_MAX;
// The scale of what isn't finite, or has too many digits.
inline constexpr uint8 kOddScale = UINT8_MAX - 1;
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

// Is there no odd number, and have all room in 64 bits once they are scaled alike?
bool is_plain(const WideNumbers &wide);

// Scales all alike. False when a sum of so many of them, or one of them, might not fit.
bool scale_wide(WideNumbers *wide, uint64 rows, uint8 *scale);

// Have all of them room in 64 bits?
bool fits_narrow(const WideNumbers &wide);

// A number in the middle of all of them. False: they are further apart than 2^62.
bool centre_wide(const WideNumbers &wide, Int128 *centre);

}  // namespace pg_gpu::plan
