#include "column/format/numeric.h"

namespace pg_gpu::column {

__extension__ typedef unsigned __int128 UnsignedInt128;

// 10^38 is the greatest power that 127 bits hold.
static constexpr int kMaxDigits = 38;
static constexpr uint32 kBase = 10000;
// The words of a numeric of 128 bits, one of them with fewer digits.
static constexpr int kMaxWords = 11;

// The short form's first word: its mark, sign, scale, and the weight with a sign of its own.
static constexpr uint16 kShortForm = 0x8000;
static constexpr uint16 kShortNegative = 0x2000;
static constexpr uint16 kShortScaleBits = 0x1f80;
static constexpr int kShortScaleShift = 7;
static constexpr int kMaxShortScale = 63;
static constexpr uint16 kShortWeightBits = 0x007f;
static constexpr int kMaxShortWeight = 63;

// Sign, digits in base 10000 and scale as numerics have them on disk, where they can't change.
namespace {

struct Digits {
    bool is_finite;
    bool is_negative;
    int scale;
    int weight;  // weight of the first digit: the power of 10000
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
    const auto *data = reinterpret_cast<const char *>(value) + VARHDRSZ;
    const auto bytes = static_cast<int>(VARSIZE(value)) - VARHDRSZ;
    const uint16 head = read_word(data);
    constexpr int word = sizeof(uint16);
    if ((head & form) == form)
        return {};
    if ((head & form) == kShortForm)
        return {true,
                (head & kShortNegative) != 0,
                (head & kShortScaleBits) >> kShortScaleShift,
                (head & kMaxShortWeight) - (head & (kMaxShortWeight + 1)),
                bytes / word - 1,
                data + word};
    return {true,
            (head & form) == negative_form,
            head & 0x3fff,
            static_cast<int16>(read_word(data + word)),
            bytes / word - 2,
            data + 2 * word};
}

int special_of(Numeric value) {
    constexpr uint16 forms = 0xf000;
    switch (read_word(reinterpret_cast<const char *>(value) + VARHDRSZ) & forms) {
        case 0xc000:
            return kNaN;
        case 0xd000:
            return kInfinity;
        case 0xf000:
            return -kInfinity;
        default:
            return 0;
    }
}

Numeric make_special(int special) {
    const char *text = special == kNaN ? "NaN" : special == kInfinity ? "Infinity" : "-Infinity";
    return DatumGetNumeric(DirectFunctionCall3(numeric_in, CStringGetDatum(text),
                                               ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
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

// Makes the words that numeric_recv takes, whose bytes lie in the network's order; digits in base 10000 are
// given from the last one on.
static Numeric receive_numeric(const uint16 *digits, int count, int weight, bool is_negative, int scale) {
    constexpr uint16 negative = 0x4000;
    constexpr int head = 4;
    uint16 words[head + kMaxWords] = {
        pg_hton16(static_cast<uint16>(count)), pg_hton16(static_cast<uint16>(weight)),
        pg_hton16(is_negative ? negative : 0), pg_hton16(static_cast<uint16>(scale))};
    for (int i = 0; i < count; i++)
        words[head + i] = pg_hton16(digits[count - 1 - i]);
    StringInfoData message = {};
    message.data = reinterpret_cast<char *>(words);
    message.len = (head + count) * static_cast<int>(sizeof(uint16));
    message.maxlen = message.len;
    return DatumGetNumeric(DirectFunctionCall3(numeric_recv, PointerGetDatum(&message),
                                               ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
}

// Digits in base 10000 are given from the last one on. Nearly all numerics have the short form, without
// digits that are 0 at either end; receiving one takes several times as long as writing it.
static Numeric write_numeric(const uint16 *digits, int count, int weight, bool is_negative, int scale) {
    int last = 0;
    while (last < count && digits[last] == 0)
        last++;
    while (count > last && digits[count - 1] == 0) {
        count--;
        weight--;
    }
    const int written = count - last;
    if (written == 0) {
        is_negative = false;
        weight = 0;
    }
    if (scale > kMaxShortScale || weight > kMaxShortWeight || weight < -kMaxShortWeight - 1)
        return receive_numeric(digits, count, weight, is_negative, scale);
    const auto bytes = VARHDRSZ + (1 + static_cast<size_t>(written)) * sizeof(uint16);
    auto *numeric = static_cast<char *>(palloc(bytes));
    SET_VARSIZE(numeric, bytes);
    auto *words = reinterpret_cast<uint16 *>(numeric + VARHDRSZ);
    words[0] = static_cast<uint16>(kShortForm | (is_negative ? kShortNegative : 0) |
                                   scale << kShortScaleShift | (weight & kShortWeightBits));
    for (int i = 0; i < written; i++)
        words[i + 1] = digits[count - 1 - i];
    return reinterpret_cast<Numeric>(numeric);
}

// Divides the number by a small one, whose remainder is returned.
static uint16 divide(UnsignedInt128 *number, uint32 by) {
    if (*number <= PG_UINT64_MAX) {
        const auto small = static_cast<uint64>(*number);
        *number = small / by;
        return static_cast<uint16>(small % by);
    }
    const UnsignedInt128 quotient = *number / by;
    const auto remainder = static_cast<uint16>(*number - quotient * by);
    *number = quotient;
    return remainder;
}

static UnsignedInt128 magnitude(Int128 number) {
    return number < 0 ? -static_cast<UnsignedInt128>(number) : static_cast<UnsignedInt128>(number);
}

Numeric make_numeric(Int128 number, int scale, int shown) {
    if (scale == 0 && shown == 0 && number >= PG_INT64_MIN && number <= PG_INT64_MAX)
        return int64_to_numeric(static_cast<int64>(number));
    static constexpr uint32 power[] = {1, 10, 100, 1000};
    constexpr int word_digits = 4;
    UnsignedInt128 left = magnitude(number);
    for (int i = scale; i > shown; i--)
        divide(&left, 10);
    uint16 digits[kMaxWords];
    int count = 0;
    // The last word behind the point may have fewer digits of the number than others.
    const int last = shown % word_digits;
    if (last != 0)
        digits[count++] = static_cast<uint16>(divide(&left, power[last]) * power[word_digits - last]);
    while (left != 0)
        digits[count++] = divide(&left, kBase);
    const int behind = (shown + word_digits - 1) / word_digits;
    return write_numeric(digits, count, count - behind - 1, number < 0, shown);
}

}  // namespace pg_gpu::column
