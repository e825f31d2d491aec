#include "plan/query/aggregate_float.h"

#include <cmath>

namespace pg_gpu::plan {

__extension__ typedef unsigned __int128 UnsignedInt128;

static int count_bits(UnsignedInt128 number) {
    const auto high = static_cast<uint64>(number >> 64);
    const auto low = static_cast<uint64>(number);
    return high != 0 ? 128 - __builtin_clzll(high) : low != 0 ? 64 - __builtin_clzll(low) : 0;
}

// With so many bits of its own, which a double holds: further rounding does nothing.
static double round_to(int precision, Int128 number, int unit) {
    const UnsignedInt128 magnitude =
        number < 0 ? -static_cast<UnsignedInt128>(number) : static_cast<UnsignedInt128>(number);
    const int cut = Max(count_bits(magnitude) - precision, 0);
    auto rounded = static_cast<uint64>(magnitude >> cut);
    if (cut > 0) {
        const UnsignedInt128 rest = magnitude - (static_cast<UnsignedInt128>(rounded) << cut);
        const UnsignedInt128 half = UnsignedInt128{1} << (cut - 1);
        rounded += rest > half || (rest == half && rounded % 2 == 1) ? 1 : 0;
    }
    const double value = std::ldexp(static_cast<double>(rounded), unit + cut);
    return number < 0 ? -value : value;
}

double float8_of_sum(Int128 number, int unit) {
    const double value = round_to(std::numeric_limits<double>::digits, number, unit);
    if (unlikely(std::isinf(value)))
        float_overflow_error();
    return value;
}

float float4_of_sum(Int128 number, int unit) {
    const auto value = static_cast<float>(round_to(std::numeric_limits<float>::digits, number, unit));
    if (unlikely(std::isinf(value)))
        float_overflow_error();
    return value;
}

}  // namespace pg_gpu::plan
