#include "column/numeric.h"

namespace pg_gpu::column {

__extension__ typedef unsigned __int128 UnsignedInt128;

// 10^38 is the greatest power that 127 bits hold.
static constexpr int kMaxDigits = 38;

// Sign, digits in base 10000 and scale as numerics have them on disk, where they can't change.
namespace {

struct Digits {
    bool is_finite;
    bool is_negative;
    int scale;
    int weight;  // of the first digit: the power of 10000
    int count;
    const char *digits;
};

}  // namespace

static uint16 read_word(const char *at) {
    uint16 word;
    memcpy(&word, at, sizeof(word));
    return word;
}

static Digits digits_of(Numeric value) {
    constexpr uint16 form = 0xc000;
    constexpr uint16 negative_form = 0x4000;
    constexpr uint16 short_form = 0x8000;
    const auto *data = reinterpret_cast<const char *>(value) + VARHDRSZ;
    const auto bytes = static_cast<int>(VARSIZE(value)) - VARHDRSZ;
    const uint16 head = read_word(data);
    constexpr int word = sizeof(uint16);
    if ((head & form) == form)
        return {};
    if ((head & form) == short_form)
        return {true,
                (head & 0x2000) != 0,
                (head & 0x1f80) >> 7,
                (head & 0x003f) - ((head & 0x0040) != 0 ? 0x0040 : 0),
                bytes / word - 1,
                data + word};
    return {true,
            (head & form) == negative_form,
            head & 0x3fff,
            static_cast<int16>(read_word(data + word)),
            bytes / word - 2,
            data + 2 * word};
}

int shown_scale(Numeric value) {
    const Digits digits = digits_of(value);
    return digits.is_finite ? digits.scale : -1;
}

bool multiply_by_power(Int128 *number, int power) {
    for (; power > 0; power--)
        if (__builtin_mul_overflow(*number, Int128{10}, number))
            return false;
    return true;
}

bool read_wide(Numeric value, uint64 *words, uint8 *scale) {
    constexpr int word_digits = 4;
    const Digits digits = digits_of(value);
    if (!digits.is_finite || digits.scale > kMaxDigits)
        return false;
    // The integer has so many digits more than there are, all of them 0, or fewer, since the last word's are.
    int missing = digits.count == 0 ? 0 : digits.scale - word_digits * (digits.count - 1 - digits.weight);
    Int128 number = 0;
    for (int i = 0; i < digits.count; i++) {
        int digit = read_word(digits.digits + i * static_cast<int>(sizeof(uint16)));
        int taken = word_digits;
        for (; i == digits.count - 1 && missing < 0 && taken > 0; missing++, taken--)
            digit /= 10;
        if (!multiply_by_power(&number, taken) || __builtin_add_overflow(number, Int128{digit}, &number))
            return false;
    }
    if (missing < 0 || !multiply_by_power(&number, missing))
        return false;
    const auto wide = static_cast<UnsignedInt128>(digits.is_negative ? -number : number);
    words[0] = static_cast<uint64>(wide);
    words[1] = static_cast<uint64>(wide >> 64);
    *scale = static_cast<uint8>(digits.scale);
    return true;
}

Numeric make_numeric(Int128 number, int scale, int shown) {
    if (scale == 0 && shown == 0 && number >= PG_INT64_MIN && number <= PG_INT64_MAX)
        return int64_to_numeric(static_cast<int64>(number));
    // Sign, digits, point, leading zeros of a fraction, end.
    char text[2 * kMaxDigits + 8];
    char *at = text + sizeof(text);
    *--at = '\0';
    UnsignedInt128 left =
        number < 0 ? -static_cast<UnsignedInt128>(number) : static_cast<UnsignedInt128>(number);
    for (int i = scale; i > shown; i--)
        left /= 10;
    int digits = 0;
    do {
        if (digits == shown && shown > 0)
            *--at = '.';
        *--at = static_cast<char>('0' + static_cast<int>(left % 10));
        left /= 10;
        digits++;
    } while (left != 0 || digits <= shown);
    if (number < 0)
        *--at = '-';
    return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(at), ObjectIdGetDatum(InvalidOid),
                                               Int32GetDatum(-1)));
}

}  // namespace pg_gpu::column
