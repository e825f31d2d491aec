#include "plan/query/aggregate_numeric.h"

namespace pg_gpu::plan {

__extension__ typedef unsigned __int128 UnsignedInt128;

void add_wide_map(WideNumbers *wide, uint64 *words, const uint8 *scales, uint64 count) {
    if (wide->count == wide->room) {
        wide->room = Max(wide->room * 2, 8);
        wide->maps = wide->maps == nullptr ? allocate<WideMap>(static_cast<size_t>(wide->room))
                                           : reallocate(wide->maps, static_cast<size_t>(wide->room));
    }
    wide->maps[wide->count++] = {words, scales, count};
}

bool is_plain(const WideNumbers &wide) {
    constexpr uint8 max_scale = 18;
    Int128 powers[max_scale + 1] = {1};
    for (uint8 i = 0; i < max_scale; i++)
        powers[i + 1] = powers[i] * 10;
    Int128 greatest[max_scale + 1] = {};
    uint8 common = 0;
    for (int i = 0; i < wide.count; i++) {
        const WideMap &map = wide.maps[i];
        for (uint64 j = 0; j < map.count; j++) {
            const uint8 scale = map.scales[j];
            if (scale == kNoScale)
                continue;
            const Int128 number = wide_of_words(map.words[2 * j], map.words[2 * j + 1]);
            if (scale > max_scale || number != static_cast<int64>(number))
                return false;
            greatest[scale] = Max(greatest[scale], number < 0 ? -number : number);
            common = Max(common, scale);
        }
    }
    for (uint8 i = 0; i <= common; i++)
        if (greatest[i] * powers[common - i] > PG_INT64_MAX)
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
            if (!column::multiply_by_power(&number, *scale - map.scales[j]) ||
                __builtin_mul_overflow(number, static_cast<Int128>(rows), &sum))
                return false;
            words[0] = static_cast<uint64>(number);
            words[1] = static_cast<uint64>(static_cast<UnsignedInt128>(number) >> 64);
        }
    }
    return true;
}

bool fits_narrow(const WideNumbers &wide) {
    for (int i = 0; i < wide.count; i++) {
        const WideMap &map = wide.maps[i];
        for (uint64 j = 0; j < map.count; j++) {
            const Int128 number = wide_of_words(map.words[2 * j], map.words[2 * j + 1]);
            if (map.scales[j] != kNoScale && number != static_cast<int64>(number))
                return false;
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

}  // namespace pg_gpu::plan
