// This file turns scan keys into ranges of keys. Every column's conditions become one range of codes, or one
// set of points. The ranges of keys are made of the columns, from the first on, that have one code or a set
// of codes, and of the range of the column after them. What other columns ask for is a filter.
#include "kary/condition.h"

#include <algorithm>
#include <functional>

#include "kary/row_bounds.h"
#include "keys/keys.h"
#include "sort.h"

namespace pg_gpu::kary {

// Arrays on several columns make as many ranges as their sizes' product, up to this many.
static constexpr uint64 kMaxRanges = 1 << 20;

// This holds everything about one column while scan keys are combined. Codes are stored codes.
template <typename Key>
struct ColumnState {
    Key low;
    Key high;
    bool empty;
    Key *points;  // nullptr: none
    uint32 point_count;
    const uint32 *elements;  // the condition's elements
};

template <typename Key>
static void restrict_stored(const CodeRange<Bits<Key>> &stored, ColumnState<Key> *state) {
    const CodeRange<Bits<Key>> both =
        intersect({bits_of(state->low), bits_of(state->high), state->empty}, stored);
    state->low = key_from<Key>(both.low);
    state->high = key_from<Key>(both.high);
    state->empty = both.empty;
}

// Turns ascending codes into the column's stored codes.
template <typename Key>
static void restrict_column(const KeyColumn &column, const CodeRange<Bits<Key>> &range,
                            ColumnState<Key> *state) {
    CodeRange<Bits<Key>> stored = {orient(column, range.low), orient(column, range.high), range.empty};
    if (column.descending)
        std::swap(stored.low, stored.high);
    restrict_stored(stored, state);
}

// ---- arrays -----------------------------------------------------------------------------------------------

// Sorts by the code of each element, in place.
template <typename Key, typename Element, typename CodeOf>
static void sort_by_code(Element *elements, uint32 count, CodeOf code_of) {
    // Below this the histograms cost more than the comparisons.
    constexpr uint32 kRadixFrom = 256;
    const auto less = [code_of](const Element &a, const Element &b) { return code_of(a) < code_of(b); };
    if (std::is_sorted(elements, elements + count, less))
        return;
    if (count < kRadixFrom) {
        std::sort(elements, elements + count, less);
        return;
    }
    auto *scratch = allocate<Element>(count);
    const Element *sorted =
        radix_sort_by<Key>(elements, scratch, count, code_of, [] { CHECK_FOR_INTERRUPTS(); });
    if (sorted != elements)
        memcpy(elements, sorted, count * sizeof(Element));
    pfree(scratch);
}

template <typename Key>
uint32 sort_points(Key *points, uint32 count) {
    sort_by_code<Key>(points, count, [](Key key) { return key; });
    return static_cast<uint32>(std::unique(points, points + count) - points);
}

// Makes the points the column's set, or intersects them with the set that it has.
template <typename Key>
static void set_points(Key *points, uint32 count, const uint32 *elements, ColumnState<Key> *state) {
    if (state->points != nullptr) {
        count = static_cast<uint32>(std::set_intersection(state->points, state->points + state->point_count,
                                                          points, points + count, points) -
                                    points);
        elements = nullptr;
    }
    state->points = points;
    state->point_count = count;
    state->elements = elements;
}

static uint32 room_for(ArrayType *array) {
    return static_cast<uint32>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array))) + 1;
}

// Handles `= ANY`. codes_of(element) are the ascending codes that equal an element: one, or none.
template <typename Key, typename CodesOf>
static void add_points(const KeyColumn &column, ArrayType *array, CodesOf codes_of, ColumnState<Key> *state) {
    auto *points = allocate<Key>(room_for(array));
    uint32 count = 0;
    for_each_element(array, [&](Datum value, uint32) {
        const CodeRange<Bits<Key>> codes = codes_of(value);
        if (!codes.empty)
            points[count++] = key_from<Key>(orient(column, codes.low));
    });
    set_points<Key>(points, sort_points(points, count), nullptr, state);
}

// Does the same for hashes, which remember an element for each point.
template <typename Key, typename HashOf>
static void add_hashed_points(const KeyColumn &column, ArrayType *array, HashOf hash_of,
                              ColumnState<Key> *state) {
    struct HashedElement {
        uint64 code;
        uint32 element;
    };
    auto *hashed = allocate<HashedElement>(room_for(array));
    uint32 count = 0;
    for_each_element(array, [&](Datum value, uint32 element) {
        hashed[count++] = {orient(column, hash_of(value)), element};
    });
    sort_by_code<uint64>(hashed, count, [](const HashedElement &element) { return element.code; });
    auto *points = allocate<Key>(count + 1);
    auto *elements = allocate<uint32>(count + 1);
    uint32 distinct = 0;
    for (uint32 i = 0; i < count; i++) {
        if (i > 0 && hashed[i].code == hashed[i - 1].code)
            continue;
        points[distinct] = key_from<Key>(static_cast<Bits<Key>>(hashed[i].code));
        elements[distinct++] = hashed[i].element;
    }
    pfree(hashed);
    set_points<Key>(points, distinct, elements, state);
}

// x < ANY (...) asks for one element above x. The result is all that some element leaves, which is a range
// again.
template <typename Key, typename CodesOf>
static void add_array(const KeyColumn &column, ArrayType *array, CodesOf codes_of, ColumnState<Key> *state) {
    CodeRange<Bits<Key>> all = {low_bits<Bits<Key>>(column.width), 0, true};
    for_each_element(array, [&](Datum value, uint32) {
        const CodeRange<Bits<Key>> one = codes_of(value);
        if (!one.empty)
            all = {Min(all.low, one.low), Max(all.high, one.high), false};
    });
    restrict_column(column, all, state);
}

// ---- timestamptz beside dates and timestamps --------------------------------------------------------------

// Leaves a wide range of codes, which the filter then looks into.
template <typename Key>
static void add_instants(const KeyColumn &column, int64 *constants, uint32 count, StrategyNumber strategy,
                         ColumnState<Key> *state, InstantTest *test) {
    using Code = Bits<Key>;
    if (count == 0) {
        state->empty = true;
        return;
    }
    sort_interruptibly(constants, constants + count, std::less<>());
    *test = {strategy, constants, count};
    CodeRange<Code> range = {0, low_bits<Code>(column.width), false};
    if (strategy >= BTEqualStrategyNumber)
        range.low = static_cast<Code>(code_before_instant(column, constants[0]));
    if (strategy <= BTEqualStrategyNumber)
        range.high = static_cast<Code>(code_after_instant(column, constants[count - 1]));
    restrict_column(column, range, state);
}

// ---- all scan keys together -------------------------------------------------------------------------------

// Handles a comparison with a constant or with an array's elements. codes_of(constant) are the ascending
// codes that the operator accepts.
template <typename Key, typename CodesOf>
static void add_comparison(const KeyColumn &column, const ScanKeyData &key, CodesOf codes_of,
                           ColumnState<Key> *state) {
    if ((key.sk_flags & SK_SEARCHARRAY) == 0) {
        restrict_column(column, codes_of(key.sk_argument), state);
        return;
    }
    ArrayType *array = DatumGetArrayTypeP(key.sk_argument);
    if (key.sk_strategy == BTEqualStrategyNumber)
        add_points(column, array, codes_of, state);
    else
        add_array(column, array, codes_of, state);
    if (reinterpret_cast<Pointer>(array) != DatumGetPointer(key.sk_argument))
        pfree(array);
}

static bool is_integer(Oid type) {
    return type == INT2OID || type == INT4OID || type == INT8OID;
}

// Handles `= ANY` of integers. Asking of each element what it is and where it lies would take as long as
// sorting them.
template <typename Key>
static void add_integers(const KeyColumn &column, const ScanKeyData &key, Oid type, ColumnState<Key> *state) {
    ArrayType *array = DatumGetArrayTypeP(key.sk_argument);
    auto *points = allocate<Key>(room_for(array));
    const auto most = static_cast<int64>(low_bits<uint64>(column.width) >> 1);
    uint32 count = 0;
    for_each_integer(array, type, [&](int64 value) {
        if (value >= -most - 1 && value <= most)
            points[count++] =
                key_from<Key>(orient(column, static_cast<Bits<Key>>(encode_signed(value, column.width))));
    });
    set_points<Key>(points, sort_points(points, count), nullptr, state);
    if (reinterpret_cast<Pointer>(array) != DatumGetPointer(key.sk_argument))
        pfree(array);
}

// Handles comparisons whose result depends on the time zone.
template <typename Key>
static void add_instant_comparison(const KeyColumn &column, const ScanKeyData &key, ColumnState<Key> *state,
                                   InstantTest *test) {
    uint32 count = 0;
    int64 *constants;
    if (key.sk_flags & SK_SEARCHARRAY) {
        ArrayType *array = DatumGetArrayTypeP(key.sk_argument);
        constants = allocate<int64>(ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) + 1);
        for_each_element(array,
                         [&](Datum value, uint32) { constants[count++] = DatumGetTimestampTz(value); });
    } else {
        constants = allocate<int64>(1);
        constants[count++] = DatumGetTimestampTz(key.sk_argument);
    }
    add_instants(column, constants, count, key.sk_strategy, state, test);
}

template <typename Key>
static void add_hash_comparison(const KeyColumn &column, const ScanKeyData &key, ColumnState<Key> *state) {
    using Code = Bits<Key>;
    if (key.sk_strategy != BTEqualStrategyNumber)
        raise_unknown_strategy(key.sk_strategy);
    FmgrInfo *function = hash_for_operator(column.hash, key.sk_func.fn_oid);
    if (function == nullptr)
        return;  // the recheck finds what the hash cannot tell
    const auto hash_of = [&](Datum value) { return hash_value_with(function, *column.hash, value); };
    if (key.sk_flags & SK_SEARCHARRAY) {
        add_hashed_points(column, DatumGetArrayTypeP(key.sk_argument), hash_of, state);
        return;
    }
    const auto code = static_cast<Code>(hash_of(key.sk_argument));
    restrict_column(column, CodeRange<Code>{code, code, false}, state);
}

template <typename Key>
static void add_rounded_comparison(const KeyColumn &column, const ScanKeyData &key, ColumnState<Key> *state) {
    const StrategyNumber strategy = strategy_on_rounded(btree_strategy(key.sk_strategy));
    add_comparison(
        column, key,
        [&](Datum value) {
            return codes_for(strategy, encode_tid<Key>(column, value, column.type), column.width);
        },
        state);
}

template <typename Key>
static void add_text_comparison(const KeyColumn &column, const ScanKeyData &key, ColumnState<Key> *state) {
    if constexpr (sizeof(Key) == 16) {
        const auto codes_of = [&](Datum value) {
            const TextKeys keys = text_keys_for(column.type, key.sk_strategy, value);
            return CodeRange<Uint128>{keys.low.bits(), keys.high.bits(), false};
        };
        add_comparison(column, key, codes_of, state);
    } else {
        pg_unreachable();
    }
}

template <typename Key>
static void add_row_comparison(const KeyFormat &format, const ScanKeyData &key, RowBounds<Key> *rows,
                               ColumnState<Key> *state) {
    const int shift = format.columns[key.sk_attno - 1].shift;
    if (narrow_by_row(format, key, rows))
        restrict_stored(CodeRange<Bits<Key>>{rows->low >> shift, rows->high >> shift, false}, state);
    else
        state->empty = true;
}

template <typename Key>
static void add_scan_key(const KeyColumn &column, const ScanKeyData &key, ColumnState<Key> *state,
                         InstantTest *test) {
    const Oid type = OidIsValid(key.sk_subtype) ? key.sk_subtype : column.type;
    if (is_instant_of_time_zone(column, type)) {
        add_instant_comparison(column, key, state, test);
    } else if (column.encoding == Encoding::Hash) {
        add_hash_comparison(column, key, state);
    } else if (column.encoding == Encoding::Rounded) {
        add_rounded_comparison(column, key, state);
    } else if (column.encoding == Encoding::Prefix) {
        add_text_comparison(column, key, state);
    } else if (is_integer(column.type) && is_integer(type) && (key.sk_flags & SK_SEARCHARRAY) != 0 &&
               key.sk_strategy == BTEqualStrategyNumber) {
        add_integers(column, key, type, state);
    } else {
        const auto codes_of = [&](Datum value) {
            return codes_for(key.sk_strategy, encode_tid<Key>(column, value, type), column.width);
        };
        add_comparison(column, key, codes_of, state);
    }
}

// Cuts the points to the column's range and the range to the points. One point is a range.
template <typename Key>
static void settle_column(ColumnState<Key> *state) {
    if (state->points == nullptr || state->empty)
        return;
    Key *end = std::upper_bound(state->points, state->points + state->point_count, state->high);
    Key *begin = std::lower_bound(state->points, end, state->low);
    if (state->elements != nullptr)
        state->elements += begin - state->points;
    state->points = begin;
    state->point_count = static_cast<uint32>(end - state->points);
    if (state->point_count == 0) {
        state->empty = true;
        return;
    }
    state->low = state->points[0];
    state->high = state->points[state->point_count - 1];
    if (state->point_count == 1)
        state->points = nullptr;
}

// Appends the points of a further column to each of those of the columns before.
template <typename Key>
static void multiply_points(const KeyColumn &column, const ColumnState<Key> &state,
                            Condition<Key> *condition) {
    if (!condition->has_points) {
        condition->has_points = true;
        condition->point_count = state.point_count;
        condition->points = state.points;
        condition->elements = state.elements;
        if (column.shift > 0) {
            condition->points = allocate<Key>(state.point_count);
            for (uint32 i = 0; i < state.point_count; i++)
                condition->points[i] = key_from<Key>(bits_of(state.points[i]) << column.shift);
        }
        return;
    }
    const uint32 count = condition->point_count * state.point_count;
    auto *points = allocate<Key>(count);
    Key *next = points;
    for (uint32 i = 0; i < condition->point_count; i++)
        for (uint32 j = 0; j < state.point_count; j++)
            *next++ = key_from<Key>(bits_of(condition->points[i]) | bits_of(state.points[j]) << column.shift);
    condition->points = points;
    condition->point_count = count;
    condition->elements = nullptr;
}

// Cuts the range of keys to comparisons of rows that begin with a column, before which all columns have one
// code, or one of the points.
template <typename Key>
static void cut_to_rows(const KeyColumn &column, const RowBounds<Key> &rows, Bits<Key> *low, Bits<Key> *high,
                        Condition<Key> *condition) {
    const auto behind = low_bits<Bits<Key>>(column.shift + column.width);
    const Bits<Key> from = Max(*low & behind, rows.low);
    const Bits<Key> to = Min(*high & behind, rows.high);
    condition->nothing = condition->nothing || from > to;
    *low = (*low & ~behind) | from;
    *high = (*high & ~behind) | to;
}

// Builds the ranges of keys; returns in *filtered the columns that need a filter.
template <typename Key>
static void make_ranges(const KeyFormat &format, const ColumnState<Key> *states, const RowBounds<Key> *rows,
                        Condition<Key> *condition, NullMask *filtered) {
    Bits<Key> low = 0;
    Bits<Key> high = 0;
    bool in_prefix = true;
    int row_column = -1;  // first column of the comparisons of rows that bound the ranges
    *filtered = 0;
    for (int i = 0; i < format.column_count; i++) {
        const KeyColumn &column = format.columns[i];
        const ColumnState<Key> &state = states[i];
        if ((condition->nulls >> i) & 1)
            continue;  // its bits are zero wherever it matters
        const uint64 ranges =
            (condition->has_points ? uint64{condition->point_count} : 1) * state.point_count;
        if (in_prefix && state.points != nullptr && (!condition->has_points || ranges <= kMaxRanges)) {
            multiply_points(column, state, condition);
            row_column = -1;  // points have bits that rows would bound
            continue;
        }
        if (in_prefix && rows[i].any && row_column < 0)
            row_column = i;
        low |= bits_of(state.low) << column.shift;
        high |= bits_of(state.high) << column.shift;
        const bool is_one = state.low == state.high;
        const bool is_open =
            bits_of(state.low) == 0 && bits_of(state.high) == low_bits<Bits<Key>>(column.width);
        if (state.points != nullptr || (!in_prefix && !is_open))
            *filtered |= static_cast<NullMask>(1U << i);
        in_prefix = in_prefix && is_one && state.points == nullptr;
    }
    if (row_column >= 0)
        cut_to_rows(format.columns[row_column], rows[row_column], &low, &high, condition);
    condition->low = key_from<Key>(low);
    condition->high = key_from<Key>(high);
}

template <typename Key>
static void make_filters(const KeyFormat &format, const ColumnState<Key> *states, NullMask filtered,
                         const ScanKeyData *keys, const InstantTest *tests, int key_count,
                         Condition<Key> *condition) {
    auto *filters = allocate<ColumnFilter<Key>>(format.column_count + key_count);
    for (int i = 0; i < format.column_count; i++)
        if ((filtered >> i) & 1)
            filters[condition->filter_count++] = {&format.columns[i], states[i].low,         states[i].high,
                                                  states[i].points,   states[i].point_count, nullptr};
    for (int i = 0; i < key_count; i++) {
        if (tests[i].count == 0)
            continue;
        const int column = keys[i].sk_attno - 1;
        filters[condition->filter_count++] = {
            &format.columns[column], states[column].low, states[column].high, nullptr, 0, &tests[i]};
    }
    condition->filters = filters;
}

template <typename Key>
void make_condition(const KeyFormat &format, const ScanKeyData *keys, int key_count,
                    Condition<Key> *condition) {
    ColumnState<Key> states[kMaxColumns];
    for (int i = 0; i < format.column_count; i++)
        states[i] = {
            key_from<Key>(0), key_from<Key>(low_bits<Bits<Key>>(format.columns[i].width)), false, nullptr, 0,
            nullptr};
    RowBounds<Key> rows[kMaxColumns] = {};
    *condition = {};
    InstantTest *tests = nullptr;

    for (int i = 0; i < key_count; i++) {
        const ScanKeyData &key = keys[i];
        const int number = key.sk_attno - 1;
        if (!take_null_test(key, condition))
            continue;
        const KeyColumn &column = format.columns[number];
        if (is_row_strategy(key.sk_strategy)) {
            if ((key.sk_flags & SK_SEARCHARRAY) != 0)
                elog(ERROR, "a column is compared with an array of rows");
            add_row_comparison(format, key, &rows[number], &states[number]);
            continue;
        }
        condition->recheck = condition->recheck || is_lossy(column.encoding);
        if (tests == nullptr && is_instant_of_time_zone(column, key.sk_subtype))
            tests = allocate_zeroed<InstantTest>(key_count);
        add_scan_key(column, key, &states[number], tests != nullptr ? &tests[i] : nullptr);
    }

    condition->nothing = condition->nothing || (condition->nulls & condition->not_nulls) != 0;
    for (int i = 0; i < format.column_count; i++) {
        settle_column(&states[i]);
        condition->nothing = condition->nothing || states[i].empty;
    }
    if (condition->nothing)
        return;
    NullMask filtered;
    make_ranges(format, states, rows, condition, &filtered);
    if (filtered != 0 || tests != nullptr)
        make_filters(format, states, filtered, keys, tests, tests != nullptr ? key_count : 0, condition);
}

// ---- testing one entry ------------------------------------------------------------------------------------

template <typename Key>
bool passes_filters(const Condition<Key> &condition, Key key) {
    for (uint32 i = 0; i < condition.filter_count; i++) {
        const ColumnFilter<Key> &filter = condition.filters[i];
        const Key code = key_from<Key>(stored_code(*filter.column, key));
        if (code < filter.low || code > filter.high)
            return false;
        if (filter.points != nullptr &&
            !std::binary_search(filter.points, filter.points + filter.point_count, code))
            return false;
        if (filter.instant != nullptr &&
            !passes_instant_test(*filter.column, static_cast<uint64>(orient(*filter.column, bits_of(code))),
                                 *filter.instant))
            return false;
    }
    return true;
}

template <typename Key>
bool matches(const KeyFormat &format, const Condition<Key> &condition, NullMask nulls, Key key) {
    if (!wants(condition, nulls))
        return false;
    const Ranges<Key> ranges = ranges_in(format, condition, nulls);
    if (key < ranges.low || key > ranges.high)
        return false;
    if (condition.has_points) {
        const uint32 point = partition_point(condition.points, condition.point_count, [&](Key other) {
            return join_keys(other, ranges.point_high) < key;
        });
        if (point == condition.point_count || join_keys(condition.points[point], ranges.point_low) > key)
            return false;
    }
    return condition.filter_count == 0 || passes_filters(condition, key);
}

// ---- single keys ------------------------------------------------------------------------------------------

template <typename Key>
bool make_key(const KeyFormat &format, const Datum *values, const Oid *types, Key *key) {
    Bits<Key> bits = 0;
    for (int i = 0; i < format.column_count; i++) {
        const KeyColumn &column = format.columns[i];
        if (is_instant_of_time_zone(column, types[i]))
            ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                            errmsg("a key of type %s stands for none of type %s by itself",
                                   format_type_be(types[i]), format_type_be(column.type)),
                            errdetail("Which one it equals depends on the time zone."),
                            errhint("Cast it to %s.", format_type_be(column.type))));
        if (column.encoding == Encoding::Hash) {
            FmgrInfo *function = hash_for_type(column.hash, types[i]);
            if (function == nullptr)
                ereport(ERROR,
                        (errcode(ERRCODE_DATATYPE_MISMATCH),
                         errmsg("values of type %s are not hashed as those of type %s are",
                                format_type_be(types[i]), format_type_be(column.hash->type->type_id))));
            const uint64 hash = hash_value_with(function, *column.hash, values[i]);
            bits |= orient(column, static_cast<Bits<Key>>(hash)) << column.shift;
            continue;
        }
        if (is_lossy(column.encoding)) {
            bits |= orient(column, encode_value<Key>(column, values[i])) << column.shift;
            continue;
        }
        const CodeRange<Bits<Key>> codes =
            codes_for(BTEqualStrategyNumber, encode_tid<Key>(column, values[i], types[i]), column.width);
        if (codes.empty)
            return false;
        bits |= orient(column, codes.low) << column.shift;
    }
    *key = key_from<Key>(bits);
    return true;
}

#define INSTANTIATE(Key)                                                                         \
    template void make_condition(const KeyFormat &, const ScanKeyData *, int, Condition<Key> *); \
    template uint32 sort_points(Key *, uint32);                                                  \
    template bool passes_filters(const Condition<Key> &, Key);                                   \
    template bool matches(const KeyFormat &, const Condition<Key> &, NullMask, Key);             \
    template bool make_key(const KeyFormat &, const Datum *, const Oid *, Key *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

}  // namespace pg_gpu::kary
