#include "column/scan/values.h"

#include <algorithm>
#include <functional>

#include "column/format/format.h"
#include "sort.h"

namespace pg_gpu::column {

// Up to so many codes, neighbouring rows count into arrays of their own: equal ones don't wait for each
// other then.
static constexpr uint32 kMaxSpreadBits = 12;
static constexpr uint32 kSpread = 4;

uint64 count_codes(ColumnView *view, int run, int column, uint32 *counts) {
    const ColumnHeader &header = view->runs[run].header.column[column];
    if (is_remote(view, run)) {
        const RemoteCounts &counted = view->counted[run];
        for (uint64 code = 0; code < counted.codes; code++)
            counts[code] = static_cast<uint32>(counted.by_code[code]);
        return counted.nulls;
    }
    const uint64 codes = UINT64CONST(1) << header.bits;
    const bool spread = header.bits <= kMaxSpreadBits;
    uint32 *parts = spread ? allocate_zeroed<uint32>(codes * kSpread) : counts;
    const uint64 distance = spread ? codes : 0;
    const uint64 nulls = visit_selected<uint32>(view, run, column, [=](const uint32 *values, uint64 bits) {
        if (bits == PG_UINT64_MAX) {
            for (uint32 j = 0; j < kGroup; j += kSpread)
                for (uint32 k = 0; k < kSpread; k++)
                    parts[k * distance + values[j + k]]++;
            return;
        }
        for (; bits != 0; bits &= bits - 1)
            parts[values[__builtin_ctzll(bits)]]++;
    });
    if (spread) {
        for (uint32 k = 0; k < kSpread; k++)
            for (uint64 code = 0; code < codes; code++)
                counts[code] += parts[k * distance + code];
        pfree(parts);
    }
    return nulls;
}

// ---- distinct values --------------------------------------------------------------------------------------

namespace {

struct Collected {
    DistinctValue *values;
    uint64 count;
    uint64 room;
};

}  // namespace

static DistinctValue *add_value(Collected *collected) {
    if (collected->count == collected->room) {
        collected->room *= 2;
        collected->values = reallocate(collected->values, collected->room);
    }
    return &collected->values[collected->count++];
}

// Adds up the counts of neighbours that are the same.
template <typename Same>
static void join_neighbours(Collected *collected, Same same) {
    uint64 cached = 0;
    for (uint64 i = 0; i < collected->count; i++) {
        if (cached > 0 && same(collected->values[cached - 1], collected->values[i]))
            collected->values[cached - 1].count += collected->values[i].count;
        else
            collected->values[cached++] = collected->values[i];
    }
    collected->count = cached;
}

namespace {

// A value beside its datum, or its hash.
struct Keyed {
    Datum datum;
    uint32 hash;
    uint64 place;
};

}  // namespace

// PostgreSQL's own comparison may raise an error, which is a longjmp: nothing with a destructor is alive.
static int compare_keyed(const void *a, const void *b, void *context) {
    auto *entry = static_cast<TypeCacheEntry *>(context);
    CHECK_FOR_INTERRUPTS();
    return DatumGetInt32(FunctionCall2Coll(&entry->cmp_proc_finfo, entry->typcollation,
                                           static_cast<const Keyed *>(a)->datum,
                                           static_cast<const Keyed *>(b)->datum));
}

namespace {

// It has two words, because palloc doesn't align for one of 128 bits.
struct WideNumber {
    int64 high;
    uint64 low;
    uint64 place;
};

}  // namespace

// Numerics as integers that are all scaled alike; nullptr where one isn't finite, or has too many digits.
static WideNumber *widen(const ColumnType &type, const Collected &collected) {
    auto *wide = allocate<WideNumber>(collected.count + 1);
    auto *scales = allocate<uint8>(collected.count + 1);
    ValueBuffer buffer = {nullptr, 0};
    uint8 greatest = 0;
    for (uint64 i = 0; i < collected.count; i++) {
        uint64 words[2];
        if (!read_wide(DatumGetNumeric(datum_of_value(type, collected.values[i], &buffer)), words,
                       &scales[i]))
            return nullptr;
        wide[i] = {static_cast<int64>(words[1]), words[0], i};
        greatest = Max(greatest, scales[i]);
    }
    for (uint64 i = 0; i < collected.count; i++) {
        Int128 number = wide_of_words(wide[i].low, static_cast<uint64>(wide[i].high));
        if (!multiply_by_power(&number, greatest - scales[i]))
            return nullptr;
        wide[i].high = static_cast<int64>(number >> 64);
        wide[i].low = static_cast<uint64>(number);
    }
    pfree(scales);
    return wide;
}

// Does what join_equal does, without PostgreSQL's own comparison.
static void join_numbers(WideNumber *wide, Collected *collected) {
    sort_interruptibly(wide, wide + collected->count, [](const WideNumber &a, const WideNumber &b) {
        return a.high != b.high ? a.high < b.high : a.low != b.low ? a.low < b.low : a.place < b.place;
    });
    auto *joined = allocate<DistinctValue>(collected->count + 1);
    uint64 cached = 0;
    for (uint64 i = 0; i < collected->count; i++) {
        const DistinctValue &value = collected->values[wide[i].place];
        if (i > 0 && wide[i].high == wide[i - 1].high && wide[i].low == wide[i - 1].low)
            joined[cached - 1].count += value.count;
        else
            joined[cached++] = value;
    }
    collected->values = joined;
    collected->count = cached;
    pfree(wide);
}

// Values that differ in their bytes may be equal (1.0 and 1.00): of those the first in the order of bytes
// stands for all.
static void join_equal(const ColumnType &type, Collected *collected, bool *is_ordered) {
    TypeCacheEntry entry = *lookup_type_cache(
        type.base_type, TYPECACHE_CMP_PROC_FINFO | TYPECACHE_EQ_OPR_FINFO | TYPECACHE_HASH_PROC_FINFO);
    entry.typcollation = type.collation;
    *is_ordered = OidIsValid(entry.cmp_proc_finfo.fn_oid);
    WideNumber *wide = type.base_type == NUMERICOID ? widen(type, *collected) : nullptr;
    if (wide != nullptr) {
        join_numbers(wide, collected);
        return;
    }
    const uint64 count = collected->count;
    auto *keyed = allocate<Keyed>(count + 1);
    for (uint64 i = 0; i < count; i++) {
        ValueBuffer buffer = {nullptr, 0};
        keyed[i] = {datum_of_value(type, collected->values[i], &buffer), 0, i};
        if (!*is_ordered)
            keyed[i].hash =
                DatumGetUInt32(FunctionCall1Coll(&entry.hash_proc_finfo, type.collation, keyed[i].datum));
    }
    const auto same = [&](const Keyed &a, const Keyed &b) {
        return DatumGetBool(FunctionCall2Coll(&entry.eq_opr_finfo, type.collation, a.datum, b.datum));
    };
    auto *joined = allocate<DistinctValue>(count + 1);
    uint64 cached = 0;
    if (*is_ordered) {
        qsort_arg(keyed, count, sizeof(Keyed), compare_keyed, &entry);
    } else {
        sort_interruptibly(keyed, keyed + count, [](const Keyed &a, const Keyed &b) {
            return a.hash != b.hash ? a.hash < b.hash : a.place < b.place;
        });
    }
    for (uint64 i = 0; i < count;) {
        // Those of one hash needn't be neighbours.
        uint64 end = i + 1;
        while (end < count && (*is_ordered ? same(keyed[i], keyed[end]) : keyed[i].hash == keyed[end].hash))
            end++;
        for (uint64 first = i; first < end; first++) {
            if (keyed[first].place == PG_UINT64_MAX)
                continue;
            uint64 representative = keyed[first].place;
            uint64 rows = collected->values[representative].count;
            for (uint64 j = first + 1; j < end; j++) {
                if (keyed[j].place == PG_UINT64_MAX || (!*is_ordered && !same(keyed[first], keyed[j])))
                    continue;
                rows += collected->values[keyed[j].place].count;
                representative = Min(representative, keyed[j].place);
                keyed[j].place = PG_UINT64_MAX;
            }
            joined[cached] = collected->values[representative];
            joined[cached++].count = rows;
        }
        i = end;
        CHECK_FOR_INTERRUPTS();
    }
    collected->values = joined;
    collected->count = cached;
}

namespace {

// Integers that come row by row.
struct RowValues {
    uint64 *values;
    uint64 count;
    uint64 room;
};

}  // namespace

static void add_row_values(RowValues *rows, const uint64 *values, uint32 count, uint64 base) {
    if (rows->count + count > rows->room) {
        rows->room = Max(rows->room * 2, uint64{4096});
        rows->values =
            rows->values == nullptr ? allocate<uint64>(rows->room) : reallocate(rows->values, rows->room);
    }
    for (uint32 i = 0; i < count; i++)
        rows->values[rows->count++] = values[i] + base;
}

static void count_row_values(const RowValues &rows, Collected *collected) {
    sort_interruptibly(rows.values, rows.values + rows.count, std::less<uint64>());
    for (uint64 i = 0; i < rows.count;) {
        const uint64 start = i;
        while (i < rows.count && rows.values[i] == rows.values[start])
            i++;
        *add_value(collected) = {rows.values[start], {nullptr, 0}, i - start};
    }
}

// Writes the numerics' bytes, of which `first` is the first that was collected as an integer.
static void format_collected(const Collected &collected, uint64 first, uint8 scale) {
    char *room = allocate<char>((collected.count - first) * kMaxFormattedBytes + 1);
    for (uint64 i = first; i < collected.count; i++) {
        FormattedNumeric formatted;
        format_scaled(collected.values[i].integer, scale, &formatted);
        memcpy(room, formatted.room, formatted.length);
        collected.values[i].bytes = {room, formatted.length};
        room += formatted.length;
    }
}

DistinctValues find_distinct(ColumnView *view, int column) {
    const ColumnType &type = view->format->types[column];
    Collected collected = {allocate<DistinctValue>(1024), 0, 1024};
    // The values of numerics, by scale.
    RowValues by_scale[kMaxScaledDigits + 1] = {};
    DistinctValues result = {};
    result.nulls = visit_values(
        view, column,
        [&](uint64 code, uint64 count) {
            *add_value(&collected) = {code, {nullptr, 0}, count};
        },
        [&](const uint64 *values, uint32 count, uint64 base, const ColumnHeader &header) {
            add_row_values(&by_scale[header.scale], values, count, base);
        },
        [&](const Bytes &bytes, uint64 count) {
            char *copy = allocate<char>(bytes.length + 1);
            memcpy(copy, bytes.data, bytes.length);
            *add_value(&collected) = {0, {copy, bytes.length}, count};
        });
    const uint64 listed = collected.count;
    int scales = 0;
    for (int scale = 0; scale <= kMaxScaledDigits; scale++) {
        const RowValues &rows = by_scale[scale];
        if (rows.count == 0)
            continue;
        const uint64 before = collected.count;
        count_row_values(rows, &collected);
        pfree(rows.values);
        if (!type.is_integer)
            format_collected(collected, before, static_cast<uint8>(scale));
        scales++;
    }
    // Numerics of one scale have come in their order, and no two of them are equal.
    if (!type.is_integer && listed == 0 && scales == 1) {
        result.is_ordered = true;
        result.values = collected.values;
        result.count = collected.count;
        return result;
    }
    DistinctValue *first = collected.values;
    if (type.is_integer) {
        const auto is_less = [](const DistinctValue &a, const DistinctValue &b) {
            return a.integer < b.integer;
        };
        if (!std::is_sorted(first, first + collected.count, is_less))
            sort_interruptibly(first, first + collected.count, is_less);
        join_neighbours(&collected, [](const DistinctValue &a, const DistinctValue &b) {
            return a.integer == b.integer;
        });
    } else {
        sort_interruptibly(first, first + collected.count,
                           [](const DistinctValue &a, const DistinctValue &b) {
                               return compare_bytes(a.bytes, b.bytes) < 0;
                           });
        join_neighbours(&collected, [](const DistinctValue &a, const DistinctValue &b) {
            return compare_bytes(a.bytes, b.bytes) == 0;
        });
    }
    result.is_ordered = true;
    if (type.is_integer && type.is_ordered) {
        // Of floats only the two zeros differ though they are equal; the positive one stays.
        if (type.code == IntegerCode::Float4 || type.code == IntegerCode::Float8) {
            const uint64 zero = type.code == IntegerCode::Float8 ? encode_float8(0.0) : encode_float4(0.0F);
            for (uint64 i = 0; i + 1 < collected.count; i++) {
                if (collected.values[i].integer != zero - 1 || collected.values[i + 1].integer != zero)
                    continue;
                collected.values[i + 1].count += collected.values[i].count;
                std::copy(collected.values + i + 1, collected.values + collected.count, collected.values + i);
                collected.count--;
                break;
            }
        }
    } else {
        join_equal(type, &collected, &result.is_ordered);
    }
    result.values = collected.values;
    result.count = collected.count;
    return result;
}

}  // namespace pg_gpu::column
