#include "column/scan/condition.h"

#include <algorithm>

#include "column/column.h"
#include "column/operators.h"
#include "column/format/format.h"

namespace pg_gpu::column {

// ---- ranges of ordered integers ---------------------------------------------------------------------------

static bool is_one_of(Oid type, std::initializer_list<Oid> types) {
    return std::find(types.begin(), types.end(), type) != types.end();
}

// Does btree's order of the column's values hold for comparisons with this type, for whatever number a code
// may stand for? Dates beside timestamps have borders, and depend on the time zone.
static bool compares_as_codes(const ColumnType &column, Oid argument) {
    if (column.base_type == argument)
        return true;
    for (const auto &family : {std::initializer_list<Oid>{INT2OID, INT4OID, INT8OID},
                               std::initializer_list<Oid>{FLOAT4OID, FLOAT8OID}})
        if (is_one_of(column.base_type, family) && is_one_of(argument, family))
            return true;
    return false;
}

namespace {

// `<` and `<=` between a column's values and an argument's.
struct Comparison {
    const ColumnType *type;
    FmgrInfo less;
    FmgrInfo not_greater;
    Oid collation;
};

}  // namespace

static bool find_comparison(Relation index, int column, const ColumnType &type, Oid argument,
                            Comparison *comparison) {
    const Oid family = index->rd_opfamily[column];
    const Oid less = get_opfamily_member(family, type.base_type, argument, BTLessStrategyNumber);
    const Oid not_greater = get_opfamily_member(family, type.base_type, argument, BTLessEqualStrategyNumber);
    if (!OidIsValid(less) || !OidIsValid(not_greater))
        return false;
    comparison->type = &type;
    comparison->collation = type.collation;
    fmgr_info(get_opcode(less), &comparison->less);
    fmgr_info(get_opcode(not_greater), &comparison->not_greater);
    return true;
}

// The codes of values, which are in their order.
struct CodeSpace {
    uint64 lowest;
    uint64 highest;
};

// Finds the last of the codes for which holds(code), which holds for the least values. Returns false when it
// does for none.
template <typename Holds>
static bool last_that_holds(const CodeSpace &space, Holds holds, uint64 *last) {
    uint64 low = space.lowest;
    uint64 high = space.highest;
    if (!holds(low))
        return false;
    while (low < high) {
        const uint64 middle = high - (high - low) / 2;
        if (holds(middle))
            low = middle;
        else
            high = middle - 1;
    }
    *last = low;
    return true;
}

static void add_range(CodeRanges *ranges, uint64 low, uint64 high) {
    ranges->item[ranges->count++] = {low, high};
}

// Adds the ranges of values that compare so, of which there are two at most.
template <typename IsLess, typename IsNotGreater>
static void add_ranges(CodeRanges *ranges, const CodeSpace &space, StrategyNumber strategy, IsLess is_less,
                       IsNotGreater is_not_greater) {
    const uint64 top = space.highest;
    uint64 last_less = 0;
    uint64 last_not_greater = 0;
    const bool any_less = last_that_holds(space, is_less, &last_less);
    const bool any_not_greater = last_that_holds(space, is_not_greater, &last_not_greater);
    const uint64 first_not_less = any_less ? last_less + 1 : 0;
    const bool all_less = any_less && last_less == top;
    const bool all_not_greater = any_not_greater && last_not_greater == top;
    switch (strategy) {
        case BTLessStrategyNumber:
            if (any_less)
                add_range(ranges, 0, last_less);
            break;
        case BTLessEqualStrategyNumber:
            if (any_not_greater)
                add_range(ranges, 0, last_not_greater);
            break;
        case BTEqualStrategyNumber:
            if (any_not_greater && !all_less && first_not_less <= last_not_greater)
                add_range(ranges, first_not_less, last_not_greater);
            break;
        case BTGreaterEqualStrategyNumber:
            if (!all_less)
                add_range(ranges, first_not_less, top);
            break;
        case BTGreaterStrategyNumber:
            if (!all_not_greater)
                add_range(ranges, any_not_greater ? last_not_greater + 1 : 0, top);
            break;
        default:  // <>
            if (any_less)
                add_range(ranges, 0, last_less);
            if (!all_not_greater)
                add_range(ranges, any_not_greater ? last_not_greater + 1 : 0, top);
    }
}

static void join_ranges(CodeRanges *joined) {
    CodeRange *ranges = joined->item;
    std::sort(ranges, ranges + joined->count,
              [](const CodeRange &a, const CodeRange &b) { return a.low < b.low; });
    uint32 cached = 0;
    for (uint32 i = 0; i < joined->count; i++) {
        if (cached > 0 && ranges[i].low <= ranges[cached - 1].high) {
            ranges[cached - 1].high = Max(ranges[cached - 1].high, ranges[i].high);
            continue;
        }
        ranges[cached++] = ranges[i];
    }
    joined->count = cached;
}

static CodeRanges begin_ranges(const Key &key) {
    return {allocate<CodeRange>(2 * size_t{key.argument_count} + 1), 0};
}

static void make_ranges(Key *key, Comparison *comparison, StrategyNumber strategy) {
    const ColumnType &type = *comparison->type;
    CodeRanges made = begin_ranges(*key);
    for (uint32 i = 0; i < key->argument_count; i++) {
        CHECK_FOR_INTERRUPTS();
        const auto holds = [&, i](FmgrInfo *function) {
            return [&, i, function](uint64 code) {
                return DatumGetBool(FunctionCall2Coll(function, comparison->collation,
                                                      decode_integer(type, code), key->arguments[i]));
            };
        };
        add_ranges(&made, {lowest_code(type), low_bits(type.width * 8U)}, strategy, holds(&comparison->less),
                   holds(&comparison->not_greater));
    }
    join_ranges(&made);
    key->ranges = made;
}

// ---- ranges of numerics -----------------------------------------------------------------------------------

static StrategyNumber strategy_of_numerics(Oid function) {
    switch (function) {
        case F_NUMERIC_LT:
            return BTLessStrategyNumber;
        case F_NUMERIC_LE:
            return BTLessEqualStrategyNumber;
        case F_NUMERIC_EQ:
            return BTEqualStrategyNumber;
        case F_NUMERIC_GE:
            return BTGreaterEqualStrategyNumber;
        case F_NUMERIC_GT:
            return BTGreaterStrategyNumber;
        case F_NUMERIC_NE:
            return kNotEqualStrategy;
        default:
            return InvalidStrategy;
    }
}

// The argument may be any numeric, NaN and infinities among them: numeric's own comparison knows its place
// among the numerics of the scale.
static CodeRanges make_scaled_ranges(const Key &key, uint8 scale) {
    const ColumnType type = describe_type(NUMERICOID, InvalidOid);
    ValueBuffer buffer = {nullptr, 0};
    CodeRanges made = begin_ranges(key);
    for (uint32 i = 0; i < key.argument_count; i++) {
        CHECK_FOR_INTERRUPTS();
        const auto compare = [&, i](PGFunction function, uint64 code) {
            return DatumGetBool(
                DirectFunctionCall2(function, datum_of_scaled(type, code, scale, &buffer), key.arguments[i]));
        };
        add_ranges(
            &made, {0, PG_UINT64_MAX}, strategy_of_numerics(key.function.fn_oid),
            [&](uint64 code) { return compare(numeric_lt, code); },
            [&](uint64 code) { return compare(numeric_le, code); });
    }
    join_ranges(&made);
    if (buffer.data != nullptr)
        pfree(buffer.data);
    return made;
}

const CodeRanges &ranges_of_scale(const Key &key, uint8 scale) {
    CodeRanges *ranges = &key.scaled[scale];
    if (ranges->item == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(key.context);
        *ranges = make_scaled_ranges(key, scale);
        MemoryContextSwitchTo(caller);
    }
    return *ranges;
}

// ---- keys -------------------------------------------------------------------------------------------------

// Elements that aren't NULL.
static void read_arguments(const ScanKeyData &scan_key, Key *key) {
    if ((scan_key.sk_flags & SK_SEARCHARRAY) == 0) {
        key->arguments = allocate<Datum>(1);
        key->arguments[0] = scan_key.sk_argument;
        key->argument_count = 1;
        return;
    }
    ArrayType *array = DatumGetArrayTypeP(scan_key.sk_argument);
    int16 length;
    bool by_value;
    char alignment;
    get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
    bool *nulls;
    int count;
    deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &key->arguments, &nulls,
                      &count);
    for (int i = 0; i < count; i++)
        if (!nulls[i])
            key->arguments[key->argument_count++] = key->arguments[i];
}

static void find_function(Relation index, const ColumnType &type, const ScanKeyData &scan_key, Key *key) {
    Oid function = scan_key.sk_func.fn_oid;
    if (!OidIsValid(function)) {
        const Oid family = index->rd_opfamily[key->column];
        const Oid found =
            get_opfamily_member(family, type.base_type, scan_key.sk_subtype, scan_key.sk_strategy);
        function = OidIsValid(found) ? get_opcode(found) : InvalidOid;
    }
    if (!OidIsValid(function)) {
        // Arrays, enums and the like share operators.
        const TypeCacheEntry *entry =
            lookup_type_cache(type.base_type, TYPECACHE_EQ_OPR | TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
        const Oid equality = entry->eq_opr;
        Oid found = equality;
        if (scan_key.sk_strategy == BTLessStrategyNumber)
            found = entry->lt_opr;
        else if (scan_key.sk_strategy == BTGreaterStrategyNumber)
            found = entry->gt_opr;
        else if (scan_key.sk_strategy == BTLessEqualStrategyNumber)
            found = OidIsValid(entry->gt_opr) ? get_negator(entry->gt_opr) : InvalidOid;
        else if (scan_key.sk_strategy == BTGreaterEqualStrategyNumber)
            found = OidIsValid(entry->lt_opr) ? get_negator(entry->lt_opr) : InvalidOid;
        if (!OidIsValid(found))
            ereport(ERROR, (errcode(ERRCODE_UNDEFINED_FUNCTION),
                            errmsg("values of column \"%s\" of type %s have no order",
                                   NameStr(TupleDescAttr(RelationGetDescr(index), key->column)->attname),
                                   format_type_be(type.type))));
        function = get_opcode(found);
    }
    fmgr_info(function, &key->function);
    key->collation = OidIsValid(scan_key.sk_collation) ? scan_key.sk_collation : type.collation;
    key->is_safe = get_func_leakproof(function);
}

// Is this the equality of a type whose equal values have the same bytes?
static bool is_equality_of_bytes(const ColumnType &type, Oid function, Oid collation) {
    switch (function) {
        case F_TEXTEQ:
            return !type.is_integer && type.length == -1 && OidIsValid(collation) &&
                   get_collation_isdeterministic(collation);
        case F_BYTEAEQ:
            return type.base_type == BYTEAOID;
        case F_UUID_EQ:
            return type.base_type == UUIDOID;
        default:
            return false;
    }
}

static void compare_strings(const ColumnType &type, Key *key) {
    key->kind = KeyKind::Strings;
    key->is_safe = true;
    key->strings = allocate<Bytes>(size_t{key->argument_count} + 1);
    for (uint32 i = 0; i < key->argument_count; i++)
        key->strings[key->string_count++] = bytes_of(type, key->arguments[i]);
    std::sort(key->strings, key->strings + key->string_count,
              [](const Bytes &a, const Bytes &b) { return compare_bytes(a, b) < 0; });
}

static void read_patterns(const ColumnType &type, Key *key) {
    if (type.is_integer || type.length != -1)
        return;
    auto *patterns = allocate<const LikePattern *>(size_t{key->argument_count} + 1);
    for (uint32 i = 0; i < key->argument_count; i++) {
        CHECK_FOR_INTERRUPTS();
        patterns[i] = read_like_pattern(key->function.fn_oid, key->collation, key->arguments[i]);
        if (patterns[i] == nullptr)
            return;
    }
    key->patterns = patterns;
}

static void make_key(Relation index, const Format &format, const ScanKeyData &scan_key,
                     Condition *condition) {
    Key *key = &condition->keys[condition->count++];
    *key = {};
    key->column = scan_key.sk_attno - 1;
    key->is_safe = true;
    if ((scan_key.sk_flags & SK_SEARCHNULL) != 0) {
        key->kind = KeyKind::IsNull;
        return;
    }
    if ((scan_key.sk_flags & SK_SEARCHNOTNULL) != 0) {
        key->kind = KeyKind::IsNotNull;
        return;
    }
    // All operators are strict.
    if ((scan_key.sk_flags & SK_ISNULL) != 0) {
        condition->matches_nothing = true;
        return;
    }
    read_arguments(scan_key, key);
    const ColumnType &type = format.types[key->column];
    Comparison comparison;
    const Oid argument = OidIsValid(scan_key.sk_subtype) ? scan_key.sk_subtype : type.base_type;
    if (type.is_integer && type.is_ordered && scan_key.sk_strategy <= kNotEqualStrategy &&
        compares_as_codes(type, argument) &&
        find_comparison(index, key->column, type, argument, &comparison)) {
        key->kind = KeyKind::Ranges;
        make_ranges(key, &comparison, scan_key.sk_strategy);
        if (key->ranges.count == 0)
            condition->matches_nothing = true;
        return;
    }
    key->kind = KeyKind::Evaluate;
    find_function(index, type, scan_key, key);
    if (is_equality_of_bytes(type, key->function.fn_oid, key->collation))
        compare_strings(type, key);
    read_patterns(type, key);
    if (type.base_type == NUMERICOID && strategy_of_numerics(key->function.fn_oid) != InvalidStrategy) {
        key->compares_numerics = true;
        key->context = CurrentMemoryContext;
        key->scaled = allocate_zeroed<CodeRanges>(kMaxScaledDigits + 1);
        // The comparison of numerics can't fail, whatever is compared. But the numerics of a long dictionary
        // are compared only where visible rows have them.
        key->is_safe = key->is_safe || scales_numerics(index);
    }
    if (key->argument_count == 0)
        condition->matches_nothing = true;
}

void make_condition(Relation index, const Format &format, const ScanKeyData *keys, int count,
                    Condition *condition) {
    *condition = {};
    condition->keys = allocate<Key>(count + 1);
    for (int i = 0; i < count; i++)
        make_key(index, format, keys[i], condition);
}

const CodeRanges *ranges_in(const ColumnHeader &header, const Key &key) {
    if (is_scaled(header))
        return key.compares_numerics ? &ranges_of_scale(key, header.scale) : nullptr;
    return key.kind == KeyKind::Ranges ? &key.ranges : nullptr;
}

// ---- values -----------------------------------------------------------------------------------------------

bool evaluate(const Key &key, Datum value) {
    CHECK_FOR_INTERRUPTS();
    for (uint32 i = 0; i < key.argument_count; i++)
        if (DatumGetBool(FunctionCall2Coll(const_cast<FmgrInfo *>(&key.function), key.collation, value,
                                           key.arguments[i])))
            return true;
    return false;
}

bool item_matches(const Key &key, const ColumnType &type, const TupleValue &value, ValueBuffer *buffer) {
    if (key.kind == KeyKind::IsNull || value.is_null)
        return key.kind == KeyKind::IsNull && value.is_null;
    switch (key.kind) {
        case KeyKind::IsNotNull:
            return true;
        case KeyKind::Ranges:
            return is_in_ranges(key.ranges, value.integer);
        case KeyKind::Strings:
            return is_among_strings(key, value.bytes);
        default:
            if (key.patterns != nullptr)
                return is_like_any(key, value.bytes);
            return evaluate(key, type.is_integer ? decode_integer(type, value.integer)
                                                 : datum_of(type, value.bytes, buffer));
    }
}

// ---- whole runs -------------------------------------------------------------------------------------------

// Are all of the key's ranges below or above the column's values?
static bool is_outside(const ColumnHeader &header, const Key &key) {
    const CodeRanges *ranges = key.kind == KeyKind::Ranges ? &key.ranges : ranges_in(header, key);
    if (ranges == nullptr)
        return false;
    for (uint32 i = 0; i < ranges->count; i++)
        if (ranges->item[i].low <= header.highest && ranges->item[i].high >= header.base)
            return false;
    return true;
}

bool is_excluded(const RunHeader &header, const Condition &condition) {
    for (int i = 0; i < condition.count; i++) {
        const Key &key = condition.keys[i];
        const ColumnHeader &column = header.column[key.column];
        const bool has_values = column.nulls < header.entries;
        if (key.kind == KeyKind::IsNull ? column.nulls == 0 : !has_values || is_outside(column, key))
            return true;
    }
    return condition.matches_nothing;
}

}  // namespace pg_gpu::column
