// Numerics as integers of 128 bits, and back.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::column {

__extension__ typedef __int128 Int128;

// Reads a numeric as two words, the lower one first, and the scale. Returns false when it isn't finite, or
// has too many digits.
bool read_wide(Numeric value, uint64 *words, uint8 *scale);

// Which numeric that isn't finite it is, in their order; 0: it is finite.
inline constexpr int kInfinity = 1;
inline constexpr int kNaN = 2;
int special_of(Numeric value);
Numeric make_special(int special);

// Multiplies the number by 10^power. Returns false when it doesn't fit.
bool multiply_by_power(Int128 *number, int power);

// number / 10^scale, showing `shown` digits behind the point, which are all that aren't 0; shown <= scale.
Numeric make_numeric(Int128 number, int scale, int shown);

inline Int128 wide_of_words(uint64 low, uint64 high) {
    __extension__ typedef unsigned __int128 Unsigned;
    return static_cast<Int128>(static_cast<Unsigned>(high) << 64 | low);
}

}  // namespace pg_gpu::column
