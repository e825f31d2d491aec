#include "column/format/scaled_numeric.h"

#include "compat.h"

namespace pg_gpu::column {

// Numerics have digits in base 10000. Those with few of them have one word in front, as numeric.c of
// PostgreSQL defines it, which can't change because it is on disk.
static constexpr int kWordDigits = 4;
static constexpr uint64 kBase = 10000;
static constexpr uint16 kForm = 0xc000;
static constexpr uint16 kShortForm = 0x8000;
static constexpr uint16 kShortNegative = 0x2000;
static constexpr int kShortScaleShift = 7;
static constexpr uint16 kShortScaleMask = 0x1f80;
static constexpr uint16 kShortWeightSign = 0x0040;
static constexpr uint16 kShortWeightMask = 0x003f;

static constexpr uint64 kPowers[kMaxScaledDigits + 1] = {UINT64CONST(1),
                                                         UINT64CONST(10),
                                                         UINT64CONST(100),
                                                         UINT64CONST(1000),
                                                         UINT64CONST(10000),
                                                         UINT64CONST(100000),
                                                         UINT64CONST(1000000),
                                                         UINT64CONST(10000000),
                                                         UINT64CONST(100000000),
                                                         UINT64CONST(1000000000),
                                                         UINT64CONST(10000000000),
                                                         UINT64CONST(100000000000),
                                                         UINT64CONST(1000000000000),
                                                         UINT64CONST(10000000000000),
                                                         UINT64CONST(100000000000000),
                                                         UINT64CONST(1000000000000000),
                                                         UINT64CONST(10000000000000000),
                                                         UINT64CONST(100000000000000000),
                                                         UINT64CONST(1000000000000000000)};

static uint16 word_at(const char *data, int word) {
    uint16 value;
    memcpy(&value, data + static_cast<size_t>(word) * sizeof(value), sizeof(value));
    return value;
}

static uint64 magnitude_of(uint64 code) {
    const int64 number = number_of_scaled(code);
    return number < 0 ? -static_cast<uint64>(number) : static_cast<uint64>(number);
}

// Returns how many words so many digits take, in front of the point or behind it.
static int words_of_digits(int digits) {
    return (digits + kWordDigits - 1) / kWordDigits;
}

bool read_scaled(const Bytes &bytes, ScaledNumeric *scaled) {
    constexpr size_t word_bytes = sizeof(uint16);
    if (bytes.length < word_bytes || bytes.length > kMaxReadBytes || bytes.length % word_bytes != 0)
        return false;
    const uint16 head = word_at(bytes.data, 0);
    const int scale = (head & kShortScaleMask) >> kShortScaleShift;
    if ((head & kForm) != kShortForm || scale > kMaxScaledDigits)
        return false;
    const int weight = (head & kShortWeightMask) - ((head & kShortWeightSign) != 0 ? kShortWeightSign : 0);
    const int count = static_cast<int>(bytes.length / word_bytes) - 1;
    uint64 number = 0;
    for (int i = 0; i < count; i++) {
        const uint64 digit = word_at(bytes.data, i + 1);
        // `behind` is the number of digits behind the point up to the end of this word. The last word may
        // have more digits than are shown.
        const int behind = (i - weight) * kWordDigits;
        const int taken = Min(kWordDigits, scale - behind + kWordDigits);
        uint64 next;
        if (digit >= kBase || taken <= 0 || __builtin_mul_overflow(number, kPowers[taken], &next) ||
            __builtin_add_overflow(next, digit / kPowers[kWordDigits - taken], &number) ||
            number >= kPowers[kMaxScaledDigits])
            return false;
    }
    // Words that are 0 at the end aren't there.
    const int missing = count == 0 ? 0 : scale - (count - 1 - weight) * kWordDigits;
    if (missing > kMaxScaledDigits ||
        (missing > 0 &&
         (__builtin_mul_overflow(number, kPowers[missing], &number) || number >= kPowers[kMaxScaledDigits])))
        return false;
    const auto value = static_cast<int64>(number);
    *scaled = {code_of_scaled((head & kShortNegative) != 0 ? -value : value), static_cast<uint8>(scale)};
    FormattedNumeric formatted;
    format_scaled(scaled->code, scaled->scale, &formatted);
    return formatted.length == bytes.length && memcmp(formatted.room, bytes.data, bytes.length) == 0;
}

void format_scaled(uint64 code, uint8 scale, FormattedNumeric *formatted) {
    const uint64 magnitude = magnitude_of(code);
    const int words_behind = words_of_digits(scale);
    // The words are written from the last one on, because each takes the digits that are left of the
    // magnitude.
    uint16 words[kMaxFormattedBytes / sizeof(uint16)];
    constexpr int room = kMaxFormattedBytes / sizeof(uint16);
    int first = room;
    uint64 left = magnitude;
    if (const int partial = scale % kWordDigits; partial != 0) {
        words[--first] = static_cast<uint16>(left % kPowers[partial] * kPowers[kWordDigits - partial]);
        left /= kPowers[partial];
    }
    for (; left != 0; left /= kBase)
        words[--first] = static_cast<uint16>(left % kBase);
    // Leading words may have become 0, if there is but a partial one, and so may trailing ones.
    int end = room;
    const int weight = room - first - words_behind - 1;
    int leading = 0;
    while (first + leading < end && words[first + leading] == 0)
        leading++;
    while (end > first + leading && words[end - 1] == 0)
        end--;
    const int count = end - first - leading;
    const int own_weight = count == 0 ? 0 : weight - leading;
    uint16 head = kShortForm;
    head |= static_cast<uint16>(scale << kShortScaleShift);
    head |= static_cast<uint16>(own_weight & kShortWeightMask);
    head |= own_weight < 0 ? kShortWeightSign : 0;
    head |= number_of_scaled(code) < 0 ? kShortNegative : 0;
    memcpy(formatted->room, &head, sizeof(head));
    memcpy(formatted->room + sizeof(head), words + first + leading,
           static_cast<size_t>(count) * sizeof(uint16));
    formatted->length = sizeof(head) + static_cast<size_t>(count) * sizeof(uint16);
}

size_t max_formatted_bytes(uint64 lowest, uint64 highest, uint8 scale) {
    const uint64 magnitude = Max(magnitude_of(lowest), magnitude_of(highest));
    int digits = 0;
    while (digits < kMaxScaledDigits && magnitude >= kPowers[digits])
        digits++;
    const int words = words_of_digits(Max(digits - scale, 0)) + words_of_digits(scale);
    return sizeof(uint16) * (1 + static_cast<size_t>(words));
}

double float8_of_scaled(uint64 code, uint8 scale) {
    constexpr uint64 max_exact = UINT64CONST(1) << 53;
    const uint64 magnitude = magnitude_of(code);
    // The quotient of two exact floats is rounded once.
    if (magnitude <= max_exact)
        return static_cast<double>(number_of_scaled(code)) / static_cast<double>(kPowers[scale]);
    alignas(int64) char value[VARHDRSZ + kMaxFormattedBytes];
    FormattedNumeric formatted;
    format_scaled(code, scale, &formatted);
    SET_VARSIZE(value, VARHDRSZ + formatted.length);
    memcpy(VARDATA(value), formatted.room, formatted.length);
    return DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, PointerGetDatum(value)));
}

}  // namespace pg_gpu::column
