// From scan keys to one interval or one set of points.
#include "kary/condition.h"

#include <algorithm>

#include "kary/radix_sort.h"

namespace pg_gpu::kary {

// Integers the scan is after, before they are encoded.
struct IntegerRange {
    int64 low;
    int64 high;
    bool empty;
};

static void restrict_range(IntegerRange *range, StrategyNumber strategy, int64 value) {
    switch (strategy) {
        case BTLessStrategyNumber:
            if (value == PG_INT64_MIN)
                range->empty = true;
            else
                range->high = Min(range->high, value - 1);
            break;
        case BTLessEqualStrategyNumber:
            range->high = Min(range->high, value);
            break;
        case BTEqualStrategyNumber:
            range->low = Max(range->low, value);
            range->high = Min(range->high, value);
            break;
        case BTGreaterEqualStrategyNumber:
            range->low = Max(range->low, value);
            break;
        case BTGreaterStrategyNumber:
            if (value == PG_INT64_MAX)
                range->empty = true;
            else
                range->low = Max(range->low, value + 1);
            break;
        default:
            ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("unknown strategy number %d", strategy)));
    }
}

int64 integer_from_datum(Datum value, Oid type) {
    switch (type) {
        case INT2OID:
            return DatumGetInt16(value);
        case INT4OID:
            return DatumGetInt32(value);
        default:
            return DatumGetInt64(value);
    }
}

// Integers of an array without its NULLs, which match nothing. palloc'd.
struct IntegerArray {
    int64 *values;
    uint32 count;
};

template <typename Element>
static uint32 copy_elements(const ArrayType *array, int64 *values) {
    const auto *data = reinterpret_cast<const Element *>(ARR_DATA_PTR(array));
    const int items = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    const bits8 *bitmap = ARR_NULLBITMAP(array);
    uint32 count = 0;
    for (int i = 0; i < items; i++)
        if (bitmap == nullptr || (bitmap[i / 8] >> (i % 8)) & 1)
            values[count++] = *data++;  // absent elements take no room
    return count;
}

static IntegerArray integers_of(Datum datum, Oid element_type) {
    ArrayType *array = DatumGetArrayTypeP(datum);
    const int items = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
    IntegerArray result;
    result.values = allocate<int64>(items + 1);
    switch (element_type) {
        case INT2OID:
            result.count = copy_elements<int16>(array, result.values);
            break;
        case INT4OID:
            result.count = copy_elements<int32>(array, result.values);
            break;
        default:
            result.count = copy_elements<int64>(array, result.values);
            break;
    }
    if (reinterpret_cast<Pointer>(array) != DatumGetPointer(datum))
        pfree(array);
    return result;
}

template <typename Key>
uint32 sort_points(Key *points, uint32 count) {
    // Below this the histograms cost more than the comparisons.
    constexpr uint32 kRadixFrom = 4096;
    if (!std::is_sorted(points, points + count)) {
        if (count < kRadixFrom) {
            std::sort(points, points + count);
        } else {
            auto *scratch = allocate<Key>(count);
            const Key *sorted = radix_sort_by<Key>(
                points, scratch, count, [](Key key) { return key; }, [] { CHECK_FOR_INTERRUPTS(); });
            if (sorted != points)
                memcpy(points, sorted, count * sizeof(Key));
            pfree(scratch);
        }
    }
    return static_cast<uint32>(std::unique(points, points + count) - points);
}

// Intersects the condition's points with a sorted set, which becomes the condition's.
template <typename Key>
static void intersect_points(Condition<Key> *condition, Key *points, uint32 count) {
    if (condition->has_points)
        count = static_cast<uint32>(std::set_intersection(condition->points,
                                                          condition->points + condition->point_count, points,
                                                          points + count, points) -
                                    points);
    condition->has_points = true;
    condition->points = points;
    condition->point_count = count;
}

// `= ANY`: a set of points. Values outside the column's type match nothing.
template <typename Key>
static void add_points(const KeyFormat &format, const IntegerArray &array, Condition<Key> *condition) {
    using Integer = typename SignedOf<Key>::type;
    auto *points = allocate<Key>(array.count + 1);
    uint32 count = 0;
    for (uint32 i = 0; i < array.count; i++)
        if (array.values[i] >= std::numeric_limits<Integer>::min() &&
            array.values[i] <= std::numeric_limits<Integer>::max())
            points[count++] = encode_integer<Key>(static_cast<Integer>(array.values[i]), format.descending);
    count = sort_points(points, count);
    intersect_points(condition, points, count);
}

// Cuts the range to the column's type and encodes it; false, and no keys wanted, when nothing is left.
template <typename Key>
static bool encode_range(const KeyFormat &format, IntegerRange range, Condition<Key> *condition) {
    using Integer = typename SignedOf<Key>::type;
    range.low = Max(range.low, int64{std::numeric_limits<Integer>::min()});
    range.high = Min(range.high, int64{std::numeric_limits<Integer>::max()});
    if (range.empty || range.low > range.high) {
        condition->wants_keys = false;
        return false;
    }
    condition->low = encode_integer<Key>(static_cast<Integer>(range.low), format.descending);
    condition->high = encode_integer<Key>(static_cast<Integer>(range.high), format.descending);
    if (format.descending)
        std::swap(condition->low, condition->high);
    return true;
}

template <typename Key>
void make_range(const KeyFormat &format, const int64 *low, const int64 *high, Condition<Key> *condition) {
    *condition = {};
    condition->wants_keys = true;
    condition->wants_nulls = low == nullptr && high == nullptr;
    encode_range(
        format,
        IntegerRange{low != nullptr ? *low : PG_INT64_MIN, high != nullptr ? *high : PG_INT64_MAX, false},
        condition);
}

template <typename Key>
static void add_array(const KeyFormat &format, const ScanKeyData &key, IntegerRange *range,
                      Condition<Key> *condition) {
    const IntegerArray array =
        integers_of(key.sk_argument, OidIsValid(key.sk_subtype) ? key.sk_subtype : format.type);
    if (array.count == 0)
        range->empty = true;
    else if (key.sk_strategy == BTEqualStrategyNumber)
        add_points(format, array, condition);
    // x < ANY(...) asks for one element above x, so the greatest decides; > likewise with the least.
    else if (key.sk_strategy < BTEqualStrategyNumber)
        restrict_range(range, key.sk_strategy, *std::max_element(array.values, array.values + array.count));
    else
        restrict_range(range, key.sk_strategy, *std::min_element(array.values, array.values + array.count));
    pfree(array.values);
}

template <typename Key>
void make_condition(const KeyFormat &format, const ScanKeyData *keys, int key_count,
                    Condition<Key> *condition) {
    IntegerRange range = {PG_INT64_MIN, PG_INT64_MAX, false};
    *condition = {};
    condition->wants_keys = true;
    condition->wants_nulls = true;

    for (int i = 0; i < key_count; i++) {
        const ScanKeyData &key = keys[i];
        if (key.sk_flags & SK_SEARCHNULL) {
            condition->wants_keys = false;
            continue;
        }
        condition->wants_nulls = false;  // operators are strict, and IS NOT NULL says so
        if (key.sk_flags & SK_SEARCHNOTNULL)
            continue;
        if (key.sk_flags & SK_ISNULL)
            range.empty = true;
        else if (key.sk_flags & SK_SEARCHARRAY)
            add_array(format, key, &range, condition);
        else
            restrict_range(&range, key.sk_strategy,
                           integer_from_datum(key.sk_argument,
                                              OidIsValid(key.sk_subtype) ? key.sk_subtype : format.type));
    }

    if (!encode_range(format, range, condition))
        return;
    if (condition->has_points) {
        Key *end =
            std::upper_bound(condition->points, condition->points + condition->point_count, condition->high);
        condition->points = std::lower_bound(condition->points, end, condition->low);
        condition->point_count = static_cast<uint32>(end - condition->points);
        if (condition->point_count == 0) {
            condition->wants_keys = false;
            return;
        }
        condition->low = condition->points[0];
        condition->high = condition->points[condition->point_count - 1];
    }
}

template void make_condition(const KeyFormat &, const ScanKeyData *, int, Condition<uint32> *);
template void make_condition(const KeyFormat &, const ScanKeyData *, int, Condition<uint64> *);
template uint32 sort_points(uint32 *, uint32);
template uint32 sort_points(uint64 *, uint32);
template void make_range(const KeyFormat &, const int64 *, const int64 *, Condition<uint32> *);
template void make_range(const KeyFormat &, const int64 *, const int64 *, Condition<uint64> *);

}  // namespace pg_gpu::kary
