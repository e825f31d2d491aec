#include "plan/aggregate_numeric.h"

namespace pg_gpu::plan {

__extension__ typedef unsigned __int128 UnsignedInt128;

// 10^38 is the greatest power that 127 bits hold.
static constexpr int kMaxDigits = 38;

static char *text_of(Numeric value) {
    return DatumGetCString(DirectFunctionCall1(numeric_out, NumericGetDatum(value)));
}

int shown_scale(Numeric value) {
    char *text = text_of(value);
    const char *point = strchr(text, '.');
    const int scale = strpbrk(text, "NI") != nullptr ? -1
                      : point == nullptr             ? 0
                                                     : static_cast<int>(strlen(point + 1));
    pfree(text);
    return scale;
}

bool read_wide(Numeric value, uint64 *words, uint8 *scale) {
    char *text = text_of(value);
    const char *at = text;
    const bool is_negative = *at == '-';
    at += is_negative ? 1 : 0;
    UnsignedInt128 number = 0;
    int digits = 0;
    int behind = 0;
    bool has_point = false;
    bool is_sound = true;
    for (; *at != '\0' && is_sound; at++) {
        if (*at == '.') {
            has_point = true;
            continue;
        }
        is_sound = *at >= '0' && *at <= '9' && digits < kMaxDigits;
        digits += number == 0 && *at == '0' ? 0 : 1;
        behind += has_point ? 1 : 0;
        number = number * 10 + static_cast<unsigned>(*at - '0');
    }
    pfree(text);
    if (!is_sound || behind > kMaxDigits)
        return false;
    const UnsignedInt128 wide = is_negative ? -number : number;
    words[0] = static_cast<uint64>(wide);
    words[1] = static_cast<uint64>(wide >> 64);
    *scale = static_cast<uint8>(behind);
    return true;
}

void add_wide_map(WideNumbers *wide, uint64 *words, const uint8 *scales, uint64 count) {
    if (wide->count == wide->room) {
        wide->room = Max(wide->room * 2, 8);
        wide->maps = wide->maps == nullptr ? allocate<WideMap>(static_cast<size_t>(wide->room))
                                           : reallocate(wide->maps, static_cast<size_t>(wide->room));
    }
    wide->maps[wide->count++] = {words, scales, count};
}

static bool multiply(Int128 *number, int power) {
    for (; power > 0; power--)
        if (__builtin_mul_overflow(*number, Int128{10}, number))
            return false;
    return true;
}

bool scale_wide(WideNumbers *wide, uint64 rows, uint8 *scale) {
    *scale = 0;
    for (int i = 0; i < wide->count; i++)
        for (uint64 j = 0; j < wide->maps[i].count; j++)
            if (wide->maps[i].scales[j] != kNoScale)
                *scale = Max(*scale, wide->maps[i].scales[j]);
    for (int i = 0; i < wide->count; i++) {
        const WideMap &map = wide->maps[i];
        for (uint64 j = 0; j < map.count; j++) {
            if (map.scales[j] == kNoScale)
                continue;
            uint64 *words = map.words + 2 * j;
            Int128 number = wide_of_words(words[0], words[1]);
            Int128 sum;
            if (!multiply(&number, *scale - map.scales[j]) ||
                __builtin_mul_overflow(number, static_cast<Int128>(rows), &sum))
                return false;
            words[0] = static_cast<uint64>(number);
            words[1] = static_cast<uint64>(static_cast<UnsignedInt128>(number) >> 64);
        }
    }
    return true;
}

bool centre_wide(const WideNumbers &wide, Int128 *centre) {
    bool any = false;
    Int128 least = 0;
    Int128 greatest = 0;
    for (int i = 0; i < wide.count; i++) {
        const WideMap &map = wide.maps[i];
        for (uint64 j = 0; j < map.count; j++) {
            if (map.scales[j] == kNoScale)
                continue;
            const Int128 number = wide_of_words(map.words[2 * j], map.words[2 * j + 1]);
            least = any ? Min(least, number) : number;
            greatest = any ? Max(greatest, number) : number;
            any = true;
        }
    }
    const UnsignedInt128 range = static_cast<UnsignedInt128>(greatest) - static_cast<UnsignedInt128>(least);
    *centre = least + static_cast<Int128>(range / 2);
    return range <= UINT64CONST(1) << 62;
}

Numeric make_numeric(Int128 number, int scale, int shown) {
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

}  // namespace pg_gpu::plan
