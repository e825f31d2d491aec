// Numerics as integers of 128 bits, all scaled alike, and back.
#pragma once

#include "memory.h"

namespace pg_gpu::plan {

__extension__ typedef __int128 Int128;

// How many digits the numeric shows behind the point; -1: it is NaN or infinite.
int shown_scale(Numeric value);

// Two words, the lower one first, and the scale. False: it isn't finite, or has too many digits.
bool read_wide(Numeric value, uint64 *words, uint8 *scale);

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

// number / 10^scale, showing `shown` digits behind the point, which are all that aren't 0; shown <= scale.
Numeric make_numeric(Int128 number, int scale, int shown);

inline Int128 wide_of_words(uint64 low, uint64 high) {
    __extension__ typedef unsigned __int128 Unsigned;
    return static_cast<Int128>(static_cast<Unsigned>(high) << 64 | low);
}

}  // namespace pg_gpu::plan
