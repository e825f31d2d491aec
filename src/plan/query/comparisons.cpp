// Comparisons, and what is made of them.
#include "compat.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"
#include "plan/query/zone.h"

namespace pg_gpu::plan::query {

// ---- comparisons ------------------------------------------------------------------------------------------

int strategy_of(Oid operator_oid) {
    return operator_oid >= FirstUnpinnedObjectId ? 0 : find_comparison(operator_oid);
}

// Makes moments of two types ones of one type.
static void make_moments_alike(Compiler *compiler, const Expr *left, const Expr *right, Value *one,
                               Value *other) {
    const Oid types[] = {exprType(reinterpret_cast<const Node *>(left)),
                         exprType(reinterpret_cast<const Node *>(right))};
    const Oid type = type_of_compared(types[0], types[1]);
    if (!OidIsValid(type))
        return;
    *one = convert_compared(compiler, *one, types[0], type);
    *other = convert_compared(compiler, *other, types[1], type);
}

bool make_comparable(Compiler *compiler, const Comparison &equality, const List *arguments, Value *one,
                     Value *other) {
    const auto *left = static_cast<const Expr *>(linitial(arguments));
    const auto *right = static_cast<const Expr *>(lsecond(arguments));
    make_moments_alike(compiler, left, right, one, other);
    if (is_refused(compiler) || !bring_together(compiler, one, other))
        return false;
    if (one->kind == Kind::Group && !is_own_comparison(*compiler->program, *one, equality.strategy,
                                                       equality.operator_oid, equality.collation))
        refuse(&compiler->refusal, "a comparison isn't known");
    return !is_refused(compiler);
}

static Value compare(Compiler *compiler, const Comparison &comparison, Value one, Value other) {
    if (is_refused(compiler) || !bring_together(compiler, &one, &other))
        return {};
    const int strategy = comparison.strategy;
    if (one.kind == Kind::Group) {
        if (!is_own_comparison(*compiler->program, one, strategy, comparison.operator_oid,
                               comparison.collation))
            return refuse_value(compiler, "a comparison isn't known");
        if (strategy != BTEqualStrategyNumber && strategy != kNotEqualStrategy &&
            (!order_numbers(compiler, &one, comparison.collation) ||
             !order_numbers(compiler, &other, comparison.collation)))
            return {};
    }
    const auto step = [&](Operation operation, const Value &left, const Value &right) {
        return truth(logic(compiler, operation, left.step, right.step));
    };
    switch (strategy) {
        case BTEqualStrategyNumber:
            return step(Operation::equal, one, other);
        case kNotEqualStrategy:
            return step(Operation::not_equal, one, other);
        case BTLessStrategyNumber:
            return step(Operation::less, one, other);
        case BTLessEqualStrategyNumber:
            return step(Operation::less_or_equal, one, other);
        case BTGreaterStrategyNumber:
            return step(Operation::less, other, one);
        case BTGreaterEqualStrategyNumber:
            return step(Operation::less_or_equal, other, one);
        default:
            return refuse_value(compiler, "a comparison isn't known");
    }
}

static bool is_of_dictionary(const Value &interval, const Value &computed) {
    return interval.kind == Kind::Group && !interval.is_null && computed.kind == Kind::Interval &&
           !computed.is_null && computed.interval == nullptr;
}

Value compile_comparison(Compiler *compiler, const Comparison &comparison, const List *arguments) {
    const auto *left = static_cast<const Expr *>(linitial(arguments));
    const auto *right = static_cast<const Expr *>(lsecond(arguments));
    Value one = compile(compiler, left);
    Value other = compile(compiler, right);
    if (is_refused(compiler))
        return {};
    make_moments_alike(compiler, left, right, &one, &other);
    // Intervals of a dictionary are compared by their fields with those that are computed.
    if (is_of_dictionary(one, other) || is_of_dictionary(other, one)) {
        one = compile_interval(compiler, left);
        other = compile_interval(compiler, right);
    }
    return compare(compiler, comparison, one, other);
}

Value compile_distinct(Compiler *compiler, const DistinctExpr *expression) {
    const auto *left = static_cast<const Expr *>(linitial(expression->args));
    const auto *right = static_cast<const Expr *>(lsecond(expression->args));
    if (strategy_of(expression->opno) != BTEqualStrategyNumber)
        return refuse_value(compiler, "a comparison isn't known", expression);
    Value one = compile(compiler, left);
    Value other = compile(compiler, right);
    const Comparison equality = {BTEqualStrategyNumber, expression->opno, expression->inputcollid};
    if (is_refused(compiler) || !make_comparable(compiler, equality, expression->args, &one, &other))
        return {};
    return truth(logic(compiler, Operation::is_distinct, one.step, other.step));
}

Value compile_null_if(Compiler *compiler, const NullIfExpr *expression) {
    const auto *left = static_cast<const Expr *>(linitial(expression->args));
    const auto *right = static_cast<const Expr *>(lsecond(expression->args));
    if (strategy_of(expression->opno) != BTEqualStrategyNumber)
        return refuse_value(compiler, "a comparison isn't known", expression);
    const Value value = compile(compiler, left);
    Value one = value;
    Value other = compile(compiler, right);
    if (is_refused(compiler))
        return {};
    make_moments_alike(compiler, left, right, &one, &other);
    const Value same =
        compare(compiler, {BTEqualStrategyNumber, expression->opno, expression->inputcollid}, one, other);
    if (is_refused(compiler))
        return {};
    Value result = value;
    result.real = no_step;
    if (value.kind == Kind::Interval)
        choose_fields(compiler, same.step, null_value(compiler, INTERVALOID), value, &result);
    const uint16 null = add_step(compiler->program, make_step(Operation::null, value.type));
    result.step =
        add_step(compiler->program, make_step(Operation::choose, value.type, same.step, null, value.step));
    return result;
}

// ---- rows -------------------------------------------------------------------------------------------------

// Two columns by an operator of the family that the row's comparison goes by.
static Expr *compare_columns(const RowCompareExpr *rows, int number, int16 strategy) {
    Oid left;
    Oid right;
    op_input_types(list_nth_oid(rows->opnos, number), &left, &right);
    const Oid own = get_opfamily_member(list_nth_oid(rows->opfamilies, number), left, right, strategy);
    if (!OidIsValid(own))
        return nullptr;
    Expr *comparison = make_opclause(own, BOOLOID, false, static_cast<Expr *>(list_nth(rows->largs, number)),
                                     static_cast<Expr *>(list_nth(rows->rargs, number)), InvalidOid,
                                     list_nth_oid(rows->inputcollids, number));
    set_opfuncid(reinterpret_cast<OpExpr *>(comparison));
    return comparison;
}

// Columns from one on. Where two are equal, the next ones decide; where one is NULL, nothing is known, which
// `<` tells as well.
static Expr *compare_rows_from(const RowCompareExpr *rows, int number, int16 strategy) {
    check_stack_depth();
    if (number + 1 == list_length(rows->opnos))
        return compare_columns(rows, number, strategy);
    const bool is_less = strategy == BTLessStrategyNumber || strategy == BTLessEqualStrategyNumber;
    Expr *same = compare_columns(rows, number, BTEqualStrategyNumber);
    Expr *strict = compare_columns(rows, number, is_less ? BTLessStrategyNumber : BTGreaterStrategyNumber);
    Expr *rest = compare_rows_from(rows, number + 1, strategy);
    if (same == nullptr || strict == nullptr || rest == nullptr)
        return nullptr;
    auto *when = makeNode(CaseWhen);
    when->expr = same;
    when->result = rest;
    when->location = -1;
    auto *choice = makeNode(CaseExpr);
    choice->casetype = BOOLOID;
    choice->args = list_make1(when);
    choice->defresult = strict;
    choice->location = -1;
    return &choice->xpr;
}

Value compile_rows(Compiler *compiler, const RowCompareExpr *rows) {
    const Expr *whole = compare_rows_from(rows, 0, static_cast<int16>(row_comparison_strategy(rows)));
    return whole == nullptr ? refuse_value(compiler, "a comparison isn't known", rows)
                            : compile(compiler, whole);
}

// ---- lists ------------------------------------------------------------------------------------------------

namespace {

// Memory of PostgreSQL's is aligned for integers of 64 bits.
struct __attribute__((packed, aligned(alignof(uint64)))) ListedNumber {
    Int128 number;
};

struct ListedNumbers {
    ListedNumber *items;
    uint32 count;
    bool has_null;
};

}  // namespace

// A constant as a number of the value's scale. False: none of the value's numbers equals it.
static bool scale_listed(const Value &value, Int128 *number, int scale) {
    for (; scale > value.scale; scale--) {
        if (*number % 10 != 0)
            return false;
        *number /= 10;
    }
    if (!column::multiply_by_power(number, value.scale - scale))
        return false;
    return value.type == ValueType::int128 ||
           (*number >= std::numeric_limits<int64>::min() && *number <= std::numeric_limits<int64>::max());
}

// Can it be a finite number of the value's?
static bool is_below_unit(const Value &value, Int128 number) {
    Int128 unit = 1;
    column::multiply_by_power(&unit, value.unit);
    return value.kind != Kind::Extended || (number < unit && number > -unit);
}

namespace {

struct Items {
    Oid type;
    int16 length;
    bool by_value;
    Datum *values;
    bool *nulls;
    int count;
};

}  // namespace

static Items read_items(const Const &array) {
    ArrayType *whole = DatumGetArrayTypeP(array.constvalue);
    Items items = {};
    items.type = ARR_ELEMTYPE(whole);
    char alignment;
    get_typlenbyvalalign(items.type, &items.length, &items.by_value, &alignment);
    deconstruct_array(whole, items.type, items.length, items.by_value, alignment, &items.values, &items.nulls,
                      &items.count);
    return items;
}

// An integer in the order of floats, of which 0 and -0 are the same, and all NaNs.
static Int128 code_of_float(Datum value, uint8 width) {
    const float8 real = width == 4 ? static_cast<float8>(DatumGetFloat4(value)) : DatumGetFloat8(value);
    return Int128{column::encode_float8(real == 0 ? 0.0 : real)};
}

// Moments become ones of the type that they are compared as.
static bool read_list(Compiler *compiler, const Value &value, const Const &array, Oid compared,
                      ListedNumbers *listed) {
    const Items items = read_items(array);
    const Oid type = items.type;
    const Datum *values = items.values;
    listed->items = allocate<ListedNumber>(static_cast<size_t>(items.count) + 1);
    for (int i = 0; i < items.count; i++) {
        CHECK_FOR_INTERRUPTS();
        if (items.nulls[i]) {
            listed->has_null = true;
            continue;
        }
        Int128 number;
        uint8 scale = 0;
        switch (kind_of_type(type)) {
            case Kind::Integer:
                number = width_of_type(type) == 2   ? DatumGetInt16(values[i])
                         : width_of_type(type) == 4 ? DatumGetInt32(values[i])
                                                    : DatumGetInt64(values[i]);
                break;
            case Kind::Decimal: {
                uint64 words[2];
                const Numeric numeric = DatumGetNumeric(values[i]);
                const int special = column::special_of(numeric);
                if (special == 0 && column::read_wide(numeric, words, &scale)) {
                    number = column::wide_of_words(words[0], words[1]);
                    break;
                }
                // No finite number equals one that isn't.
                if (special == 0 || value.kind != Kind::Extended)
                    continue;
                number = special;
                column::multiply_by_power(&number, value.unit);
                listed->items[listed->count++] = {number};
                continue;
            }
            case Kind::Float:
                listed->items[listed->count++] = {code_of_float(values[i], width_of_type(type))};
                continue;
            case Kind::Date:
                number = convert_compared(DatumGetDateADT(values[i]), type, compared);
                break;
            case Kind::Timestamp:
                number = convert_compared(DatumGetTimestamp(values[i]), type, compared);
                break;
            default:
                refuse(&compiler->refusal, "a list of its type isn't looked into");
                return false;
        }
        if (scale_listed(value, &number, scale) && is_below_unit(value, number))
            listed->items[listed->count++] = {number};
    }
    std::sort(listed->items, listed->items + listed->count,
              [](const ListedNumber &a, const ListedNumber &b) { return a.number < b.number; });
    return true;
}

// The float's bits.
static Int128 float_of_code(Int128 code) {
    const float8 real = column::decode_float8(static_cast<uint64>(code));
    return Int128{static_cast<uint64>(DatumGetInt64(Float8GetDatum(real)))};
}

// Is a value, of those that are only told apart, among a few constants?
static Value compile_few(Compiler *compiler, const ScalarArrayOpExpr *any, const Value &value,
                         const Expr *array) {
    constexpr int max_items = 100;
    const auto *constant = reinterpret_cast<const Const *>(array);
    if (!IsA(array, Const) || constant->constisnull)
        return refuse_value(compiler, "a list isn't a constant", any);
    const Items items = read_items(*constant);
    if (items.count == 0 || items.count > max_items)
        return refuse_value(compiler, "a list is empty or too long", any);
    uint16 all = no_step;
    for (int i = 0; i < items.count && !is_refused(compiler); i++) {
        Const *item = makeConst(items.type, -1, any->inputcollid, items.length, items.values[i],
                                items.nulls[i], items.by_value);
        const Value one = compare(compiler, {strategy_of(any->opno), any->opno, any->inputcollid}, value,
                                  value_of_constant(compiler, *item));
        all = all == no_step ? one.step
                             : logic(compiler, any->useOr ? Operation::logical_or : Operation::logical_and,
                                     all, one.step);
    }
    return truth(all);
}

Value compile_list(Compiler *compiler, const ScalarArrayOpExpr *any) {
    const int strategy = strategy_of(any->opno);
    const auto *expression = static_cast<const Expr *>(linitial(any->args));
    const auto *array = static_cast<const Expr *>(lsecond(any->args));
    if ((any->useOr ? strategy != BTEqualStrategyNumber : strategy != kNotEqualStrategy) ||
        contain_var_clause(reinterpret_cast<Node *>(const_cast<Expr *>(array))))
        return refuse_value(compiler, "a comparison with an array isn't known", any);
    const Oid type = exprType(reinterpret_cast<const Node *>(expression));
    const Oid element = get_base_element_type(exprType(reinterpret_cast<const Node *>(array)));
    const Oid compared = type_of_compared(type, element);
    if (!OidIsValid(compared) && kind_of_type(type) != kind_of_type(element))
        return refuse_value(compiler, "a list of another type isn't looked into", any);
    Value value = compile(compiler, expression);
    if (is_refused(compiler))
        return {};
    if (OidIsValid(compared))
        value = convert_compared(compiler, value, type, compared);
    if (is_refused(compiler))
        return {};
    if (value.kind == Kind::Group)
        return compile_few(compiler, any, value, array);
    if (value.kind != Kind::Integer && !is_numeric(value) && value.kind != Kind::Float &&
        value.kind != Kind::Date && value.kind != Kind::Timestamp)
        return refuse_value(compiler, "a list of its type isn't looked into", any);
    ListedNumbers listed = {};
    Const constant = {};
    if (IsA(array, Const))
        constant = *reinterpret_cast<const Const *>(array);
    else if (compiler->context != nullptr &&
             !evaluate_without_columns(const_cast<Expr *>(array), compiler->context, &constant))
        return refuse_value(compiler, "an expression raised an error");
    if (IsA(array, Const) || compiler->context != nullptr) {
        if (constant.constisnull)
            return null_value(compiler, BOOLOID);
        if (!read_list(compiler, value, constant, compared, &listed))
            return {};
    }
    auto *constants = allocate<engine::Constant>(size_t{listed.count} + 1);
    uint32 count = 0;
    for (uint32 i = 0; i < listed.count; i++) {
        const Int128 number =
            value.kind == Kind::Float ? float_of_code(listed.items[i].number) : listed.items[i].number;
        if (i == 0 || listed.items[i].number != listed.items[i - 1].number)
            constants[count++] = {static_cast<uint64>(number), static_cast<uint64>(number >> 64)};
    }
    if (count >= no_step)
        return refuse_value(compiler, "a list is too long", any);
    engine::Step step = make_step(Operation::in_list, value.type, value.step, static_cast<uint16>(count),
                                  static_cast<uint16>(add_constants(compiler->program, constants, count)));
    step.type = ValueType::boolean;
    step.detail = listed.has_null ? 1 : 0;
    const uint16 found = add_step(compiler->program, step);
    return truth(any->useOr ? found : logic(compiler, Operation::logical_not, found));
}

}  // namespace pg_gpu::plan::query
