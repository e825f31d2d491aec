#include "plan/query/expression.h"

#include "compat.h"
#include "expressions.h"
#include "plan/query/conditional.h"
#include "plan/query/failure.h"
#include "plan/query/numbering.h"
#include "plan/query/tables.h"
#include "plan/query/zone.h"

namespace pg_gpu::plan::query {

// ---- values -----------------------------------------------------------------------------------------------

Value refuse_value(Compiler *compiler, const char *reason, const void *expression) {
    refuse(&compiler->refusal, reason, static_cast<Node *>(const_cast<void *>(expression)));
    return {};
}

Kind kind_of_type(Oid type) {
    switch (getBaseType(type)) {
        case BOOLOID:
            return Kind::Boolean;
        case INT2OID:
        case INT4OID:
        case INT8OID:
            return Kind::Integer;
        case NUMERICOID:
            return Kind::Decimal;
        case FLOAT4OID:
        case FLOAT8OID:
            return Kind::Float;
        case DATEOID:
            return Kind::Date;
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return Kind::Timestamp;
        default:
            return Kind::Group;
    }
}

Kind kind_of_results(Oid type) {
    return getBaseType(type) == INTERVALOID ? Kind::Interval : kind_of_type(type);
}

uint8 width_of_type(Oid type) {
    switch (getBaseType(type)) {
        case INT2OID:
            return 2;
        case INT4OID:
        case FLOAT4OID:
        case DATEOID:
            return 4;
        default:
            return 8;
    }
}

Value make_value(uint16 step, Kind kind, ValueType type, double limit) {
    return {step,         kind,       type,  8,       0, 0,       no_step, false,   limit,   false,
            no_numbering, InvalidOid, false, no_step, 0, nullptr, no_step, no_step, no_step, 0};
}

bool read_numeric_typmod(int32 typmod, int *precision, int *scale) {
    const uint32 packed = static_cast<uint32>(typmod) - VARHDRSZ;
    *precision = static_cast<int>(packed >> 16);
    *scale = static_cast<int>((packed & 0x7ff) ^ 1024) - 1024;
    return typmod >= static_cast<int32>(VARHDRSZ);
}

// Others show the digits that they have, which are so many that one of 16 digits has room.
Value value_of_computed(int32 typmod) {
    constexpr int16 any_scale = 20;
    constexpr int narrow_digits = 18;
    int precision;
    int scale;
    const bool is_known = read_numeric_typmod(typmod, &precision, &scale);
    if (is_known && scale >= 0 && precision <= narrow_digits) {
        Value value = make_value(no_step, Kind::Decimal, ValueType::int64, std::pow(10.0, precision));
        value.scale = value.shown = static_cast<int16>(scale);
        return value;
    }
    Value value = make_value(no_step, Kind::Decimal, ValueType::int128, kMaxComputed);
    value.scale = any_scale;
    value.shown = kShownByRow;
    return value;
}

uint16 add_guarded(Compiler *compiler, engine::Step step, bool may_fail) {
    step.guard = may_fail ? compiler->guard : no_step;
    return add_step(compiler->program, step);
}

Guarded begin_guarded(Compiler *compiler, uint16 condition) {
    const Guarded guarded = {compiler, compiler->guard};
    compiler->guard = compiler->guard == no_step
                          ? condition
                          : add_step(compiler->program, make_step(Operation::logical_and, ValueType::boolean,
                                                                  compiler->guard, condition));
    return guarded;
}

static ValueType type_of_kind(Kind kind) {
    return kind == Kind::Boolean ? ValueType::boolean
           : kind == Kind::Float ? ValueType::float64
                                 : ValueType::int64;
}

Value null_value(Compiler *compiler, Oid type) {
    const Kind kind = kind_of_results(type);
    const ValueType words = type_of_kind(kind);
    Value value = make_value(add_step(compiler->program, make_step(Operation::null, words)), kind, words);
    value.width = width_of_type(type);
    value.is_null = true;
    return value;
}

// Intervals compare by their microseconds, a month being 30 days.
static bool read_interval(const Interval &interval, Int128 *micros, int16 *shown) {
    const Int128 days = Int128{interval.month} * DAYS_PER_MONTH + interval.day;
    *micros = days * USECS_PER_DAY + interval.time;
    const bool is_justified = interval.month == 0 && *micros / USECS_PER_DAY == interval.day;
    *shown = is_justified ? 0 : kShownByRow;
    return std::fabs(static_cast<double>(*micros)) < kMaxInt64;
}

Value value_of_constant(Compiler *compiler, const Const &constant) {
    if (constant.constisnull)
        return null_value(compiler, constant.consttype);
    const Kind kind = kind_of_results(constant.consttype);
    if (kind == Kind::Group)
        return value_of_numbered(compiler, constant.consttype, constant.constcollid, &constant);
    const uint8 width = width_of_type(constant.consttype);
    Int128 number = 0;
    Value value = make_value(no_step, kind, type_of_kind(kind));
    value.width = width;
    switch (kind) {
        case Kind::Boolean:
            number = DatumGetBool(constant.constvalue) ? 1 : 0;
            break;
        case Kind::Integer:
            number = width == 2   ? DatumGetInt16(constant.constvalue)
                     : width == 4 ? DatumGetInt32(constant.constvalue)
                                  : DatumGetInt64(constant.constvalue);
            break;
        case Kind::Decimal: {
            uint64 words[2];
            uint8 scale;
            const Numeric numeric = DatumGetNumeric(constant.constvalue);
            if (const int special = column::special_of(numeric); special != 0)
                return value_of_special(compiler, special);
            if (!column::read_wide(numeric, words, &scale))
                return refuse_value(compiler, "a constant has too many digits", &constant);
            number = column::wide_of_words(words[0], words[1]);
            value.scale = value.shown = scale;
            break;
        }
        case Kind::Float: {
            const float8 real = width == 4 ? static_cast<float8>(DatumGetFloat4(constant.constvalue))
                                           : DatumGetFloat8(constant.constvalue);
            number = static_cast<Int128>(static_cast<uint64>(DatumGetInt64(Float8GetDatum(real))));
            value.may_be_minus_0 = real == 0 && std::signbit(real);
            break;
        }
        case Kind::Date:
            number = DatumGetDateADT(constant.constvalue);
            break;
        case Kind::Timestamp:
            number = DatumGetTimestamp(constant.constvalue);
            break;
        case Kind::Interval:
            if (!read_interval(*DatumGetIntervalP(constant.constvalue), &number, &value.shown))
                return refuse_value(compiler, "an interval is too long", &constant);
            value.interval = static_cast<const Const *>(copyObjectImpl(&constant));
            break;
        default:
            return refuse_value(compiler, "a constant of its type isn't computed with", &constant);
    }
    if (kind != Kind::Float)
        value.limit = std::fabs(static_cast<double>(number));
    if (kind == Kind::Decimal && value.limit >= kMaxInt64)
        value.type = ValueType::int128;
    value.step = constant_step(compiler->program, number, value.type);
    return value;
}

// Which value it has, only the executor knows.
static Value any_value(Compiler *compiler, Oid type, Oid collation) {
    const Kind kind = kind_of_results(type);
    if (kind == Kind::Group)
        return value_of_numbered(compiler, type, collation, nullptr);
    const ValueType words = type_of_kind(kind);
    Value value = make_value(constant_step(compiler->program, 1, words), kind, words, 1);
    value.width = width_of_type(type);
    return value;
}

Value compile_constant(Compiler *compiler, const Expr *expression) {
    if (IsA(expression, Const))
        return value_of_constant(compiler, *reinterpret_cast<const Const *>(expression));
    const auto *node = reinterpret_cast<const Node *>(expression);
    if (compiler->context == nullptr)
        return any_value(compiler, exprType(node), exprCollation(node));
    Const constant;
    if (!evaluate_without_columns(const_cast<Expr *>(expression), compiler->context, &constant))
        return refuse_value(compiler, "an expression raised an error");
    return value_of_constant(compiler, constant);
}

static bool is_interval(const Expr *expression) {
    return getBaseType(exprType(reinterpret_cast<const Node *>(expression))) == INTERVALOID;
}

static bool gives_fields(const Compiler *compiler, const Expr *expression) {
    return compiler->has_fields && is_interval(expression);
}

static Value compile_place(Compiler *compiler, const Var *place) {
    Source source = begin_source(SourceKind::Number, place, ValueType::int64, Kind::Integer);
    source.column = 0;
    Value value = make_value(add_step(compiler->program, make_step(Operation::column, ValueType::int64,
                                                                   add_source(compiler->program, source))),
                             Kind::Integer, ValueType::int64, kMaxInt64);
    value.width = sizeof(int64);
    return value;
}

static Value compile_column(Compiler *compiler, const Var *column) {
    if (column->varno == kRowVarno)
        return compile_row_value(compiler, column);
    if (column->varattno == SelfItemPointerAttributeNumber)
        return compile_place(compiler, column);
    if (column->varattno <= 0)
        return refuse_value(compiler, "a system column is computed with", column);
    if (is_of_groups(*compiler, column))
        return compile_groups_column(compiler, column);
    const ColumnFacts &facts = facts_of(*compiler, column);
    if (facts.kind == Kind::Group)
        return gives_fields(compiler, &column->xpr) ? compile_fields_of_map(compiler, &column->xpr)
                                                    : compile_group(compiler, column);
    if (facts.problem != nullptr)
        return refuse_value(compiler, facts.problem, column);
    const bool is_extended = facts.kind == Kind::Decimal && facts.has_special;
    const Kind kind = is_extended ? Kind::Extended : facts.kind;
    const int16 unit = is_extended ? unit_above(facts.limit) : int16{0};
    const double limit = is_extended ? limit_of_unit(unit) : facts.limit;
    if (limit >= kMaxInt128)
        return refuse_value(compiler, "numerics have too many digits", column);
    const ValueType type =
        facts.kind == Kind::Decimal && limit >= kMaxInt64 ? ValueType::int128 : type_of_kind(kind);
    Source source = begin_source(SourceKind::Own, column, type, kind);
    source.scale = facts.scale;
    source.unit = unit;
    const uint16 place = add_source(compiler->program, source);
    Value value =
        make_value(add_step(compiler->program, make_step(Operation::column, type, place)), kind, type, limit);
    value.unit = unit;
    value.width = width_of_type(facts.type.type);
    value.scale = facts.scale;
    value.shown = facts.shown;
    value.may_be_minus_0 = facts.may_be_minus_0;
    if (facts.kind == Kind::Decimal && facts.shown == kShownByRow) {
        Source shown = source;
        shown.kind = SourceKind::Shown;
        shown.type = ValueType::int64;
        shown.result = Kind::Integer;
        value.shown_step = add_step(compiler->program, make_step(Operation::column, ValueType::int64,
                                                                 add_source(compiler->program, shown)));
    }
    return value;
}

uint16 shown_step_of(Compiler *compiler, const Value &value) {
    return value.shown == kShownByRow ? value.shown_step
                                      : constant_step(compiler->program, value.shown, ValueType::int64);
}

static void become_null_of(Compiler *compiler, Value *null, const Value &other) {
    *null = other;
    null->is_null = true;
    null->limit = 0;
    null->real = no_step;
    null->step = add_step(compiler->program, make_step(Operation::null, other.type));
    null->interval = nullptr;
    if (other.kind == Kind::Interval)
        null->month_step = null->day_step = null->time_step = null->step;
}

bool bring_together(Compiler *compiler, Value *one, Value *other) {
    if (one->is_null)
        become_null_of(compiler, one, *other);
    else if (other->is_null)
        become_null_of(compiler, other, *one);
    if (is_numeric(*one) && other->kind == Kind::Integer)
        *other = as_decimal(*other);
    if (is_numeric(*other) && one->kind == Kind::Integer)
        *one = as_decimal(*one);
    if (is_numeric(*one) && is_numeric(*other)) {
        const int scale = Max(one->scale, other->scale);
        *one = rescale(compiler, *one, scale);
        *other = rescale(compiler, *other, scale);
        const bool is_extended = one->kind == Kind::Extended || other->kind == Kind::Extended;
        if (is_refused(compiler) || (is_extended && !extend_both(compiler, one, other)))
            return false;
    }
    for (Value *value : {one, other})
        if (value->interval != nullptr && (value == one ? other : one)->kind == Kind::Group)
            *value = value_of_numbered(compiler, INTERVALOID, InvalidOid, value->interval);
    const bool is_alike = one->numbering == other->numbering || take_numbering(compiler, one, *other) ||
                          take_numbering(compiler, other, *one);
    if (one->kind != other->kind || !is_alike || one->coded != other->coded) {
        refuse(&compiler->refusal, "values of different kinds meet");
        return false;
    }
    // Numbers that have their order are others.
    if (one->is_ranked != other->is_ranked &&
        !order_numbers(compiler, one->is_ranked ? other : one, InvalidOid))
        return false;
    if (is_numeric(*one)) {
        const ValueType type = one->type == ValueType::int128 ? one->type : other->type;
        *one = widen_to(compiler, *one, type);
        *other = widen_to(compiler, *other, type);
    }
    return !is_refused(compiler);
}

// ---- truth ------------------------------------------------------------------------------------------------

uint16 compile_truth(Compiler *compiler, const Expr *expression) {
    const Value value = compile(compiler, expression);
    if (!is_refused(compiler) && value.kind != Kind::Boolean)
        refuse_value(compiler, "a condition isn't a truth value", expression);
    return value.step;
}

// An operand is needed only where those before it leave the result open.
static Value compile_junction(Compiler *compiler, const BoolExpr *junction) {
    const bool is_and = junction->boolop == AND_EXPR;
    const uint16 outer = compiler->guard;
    uint16 all = no_step;
    ListCell *cell;
    foreach (cell, junction->args) {
        const uint16 next = compile_truth(compiler, static_cast<const Expr *>(lfirst(cell)));
        if (is_refused(compiler))
            break;
        all = all == no_step
                  ? next
                  : logic(compiler, is_and ? Operation::logical_and : Operation::logical_or, all, next);
        const uint16 decided = logic(compiler, is_and ? Operation::is_false : Operation::is_true, all);
        compiler->guard = outer;
        begin_guarded(compiler, logic(compiler, Operation::logical_not, decided));
    }
    compiler->guard = outer;
    return truth(all);
}

static Value compile_boolean(Compiler *compiler, const BoolExpr *expression) {
    if (expression->boolop != NOT_EXPR)
        return compile_junction(compiler, expression);
    const uint16 step = compile_truth(compiler, static_cast<const Expr *>(linitial(expression->args)));
    return truth(logic(compiler, Operation::logical_not, step));
}

static Value compile_presence(Compiler *compiler, const Var *column) {
    const Source source = begin_source(SourceKind::Presence, column, ValueType::int64, Kind::Integer);
    const uint16 place = add_source(compiler->program, source);
    return make_value(add_step(compiler->program, make_step(Operation::column, ValueType::int64, place)),
                      Kind::Integer, ValueType::int64);
}

Value compile_existence(Compiler *compiler, const Expr *expression) {
    const Expr *inner = without_relabels(expression);
    if (IsA(inner, Var) && reinterpret_cast<const Var *>(inner)->varattno > 0 &&
        !is_of_groups(*compiler, reinterpret_cast<const Var *>(inner))) {
        const auto *column = reinterpret_cast<const Var *>(inner);
        const ColumnFacts &facts = facts_of(*compiler, column);
        if (facts.kind == Kind::Group || facts.problem != nullptr)
            return compile_presence(compiler, column);
    }
    return compile(compiler, expression);
}

static Value compile_null_test(Compiler *compiler, const NullTest *test) {
    if (test->argisrow)
        return refuse_value(compiler, "a whole row is tested", test);
    const Value value = compile_existence(compiler, test->arg);
    const uint16 step = logic(compiler, Operation::is_null, value.step);
    return truth(test->nulltesttype == IS_NULL ? step : logic(compiler, Operation::logical_not, step));
}

static Value compile_boolean_test(Compiler *compiler, const BooleanTest *test) {
    const uint16 step = compile_truth(compiler, test->arg);
    const auto negated = [&](Operation operation) {
        return truth(logic(compiler, Operation::logical_not, logic(compiler, operation, step)));
    };
    switch (test->booltesttype) {
        case IS_TRUE:
            return truth(logic(compiler, Operation::is_true, step));
        case IS_NOT_TRUE:
            return negated(Operation::is_true);
        case IS_FALSE:
            return truth(logic(compiler, Operation::is_false, step));
        case IS_NOT_FALSE:
            return negated(Operation::is_false);
        case IS_UNKNOWN:
            return truth(logic(compiler, Operation::is_null, step));
        default:
            return negated(Operation::is_null);
    }
}

// ---- the whole --------------------------------------------------------------------------------------------

static Value compile_call(Compiler *compiler, Oid function, const List *arguments, const Expr *expression) {
    Value value;
    const Oid result = exprType(reinterpret_cast<const Node *>(expression));
    if (function < FirstUnpinnedObjectId &&
        (compile_number_call(compiler, function, arguments, result, &value) ||
         compile_float_call(compiler, function, arguments, &value) ||
         compile_bucket_call(compiler, function, arguments, &value) ||
         compile_moment_call(compiler, function, arguments, &value) ||
         compile_zone_call(compiler, function, arguments, &value) ||
         compile_clock_call(compiler, function, arguments, &value) ||
         compile_bin_call(compiler, function, arguments, &value)))
        return value;
    return refuse_value(compiler, "the engine doesn't have a function", expression);
}

static Value compile_operator(Compiler *compiler, const OpExpr *expression) {
    const int strategy = list_length(expression->args) == 2 ? strategy_of(expression->opno) : 0;
    if (strategy != 0)
        return compile_comparison(compiler, {strategy, expression->opno, expression->inputcollid},
                                  expression->args);
    return compile_call(compiler, expression->opfuncid, expression->args, &expression->xpr);
}

// Are values, if they aren't computed with, told apart alike when they are taken for those of another type or
// collation?
static bool is_numbered_alike(Compiler *compiler, const RelabelType *relabel) {
    const auto *argument = reinterpret_cast<const Node *>(relabel->arg);
    const Oid type = exprType(argument);
    if (is_coded(type) || is_coded(relabel->resulttype))
        return getBaseType(type) == getBaseType(relabel->resulttype);
    const uint16 own = find_numbering(compiler, type, exprCollation(argument));
    return !is_refused(compiler) &&
           own == find_numbering(compiler, relabel->resulttype, relabel->resultcollid);
}

// A cast between types that are stored alike.
static Value compile_relabel(Compiler *compiler, const RelabelType *relabel) {
    const Kind kind = kind_of_type(exprType(reinterpret_cast<const Node *>(relabel->arg)));
    if (kind != kind_of_type(relabel->resulttype) ||
        (kind == Kind::Group && !is_numbered_alike(compiler, relabel)))
        return is_map(compiler, &relabel->xpr)
                   ? compile_map(compiler, &relabel->xpr)
                   : refuse_value(compiler, "a value is taken for one of another kind", relabel);
    return compile(compiler, relabel->arg);
}

static bool is_without_columns(const Expr *expression) {
    auto *node = reinterpret_cast<Node *>(const_cast<Expr *>(expression));
    return !contain_var_clause(node) && !IsA(node, CaseTestExpr);
}

static bool has_case_value(Node *node, void *context) {
    return node != nullptr && (IsA(node, CaseTestExpr) || walk_expression(node, has_case_value, context));
}

static Value compile_itself(Compiler *compiler, const Expr *expression) {
    if (is_without_columns(expression) &&
        !has_case_value(reinterpret_cast<Node *>(const_cast<Expr *>(expression)), nullptr))
        return compile_constant(compiler, expression);
    if (!IsA(expression, RelabelType) && is_map(compiler, expression))
        return gives_fields(compiler, expression) ? compile_fields_of_map(compiler, expression)
                                                  : compile_map(compiler, expression);
    switch (nodeTag(expression)) {
        case T_Var:
            return compile_column(compiler, reinterpret_cast<const Var *>(expression));
        case T_RelabelType:
            return compile_relabel(compiler, reinterpret_cast<const RelabelType *>(expression));
        case T_OpExpr:
            return compile_operator(compiler, reinterpret_cast<const OpExpr *>(expression));
        case T_FuncExpr: {
            const auto *call = reinterpret_cast<const FuncExpr *>(expression);
            return compile_call(compiler, call->funcid, call->args, expression);
        }
        case T_BoolExpr:
            return compile_boolean(compiler, reinterpret_cast<const BoolExpr *>(expression));
        case T_NullTest:
            return compile_null_test(compiler, reinterpret_cast<const NullTest *>(expression));
        case T_BooleanTest:
            return compile_boolean_test(compiler, reinterpret_cast<const BooleanTest *>(expression));
        case T_DistinctExpr:
            return compile_distinct(compiler, reinterpret_cast<const DistinctExpr *>(expression));
        case T_ScalarArrayOpExpr:
            return compile_list(compiler, reinterpret_cast<const ScalarArrayOpExpr *>(expression));
        case T_CaseExpr:
            return compile_case(compiler, reinterpret_cast<const CaseExpr *>(expression));
        case T_CaseTestExpr:
            return compiler->case_value == nullptr
                       ? refuse_value(compiler, "an expression isn't of a row alone", expression)
                       : *compiler->case_value;
        case T_CoalesceExpr:
            return compile_coalesce(compiler, reinterpret_cast<const CoalesceExpr *>(expression)->args, 0);
        case T_RowCompareExpr:
            return compile_rows(compiler, reinterpret_cast<const RowCompareExpr *>(expression));
        case T_NullIfExpr:
            return compile_null_if(compiler, reinterpret_cast<const NullIfExpr *>(expression));
        case T_MinMaxExpr:
            return compile_extreme(compiler, reinterpret_cast<const MinMaxExpr *>(expression));
        default:
            return refuse_value(compiler, "the engine doesn't have an expression of this kind", expression);
    }
}

Value compile(Compiler *compiler, const Expr *expression) {
    check_stack_depth();
    CHECK_FOR_INTERRUPTS();
    if (is_refused(compiler))
        return {};
    const uint16 guard = compiler->guard;
    const Value *case_value = compiler->case_value;
    Value value = compile_itself(compiler, expression);
    // Numbers of values and computed intervals don't meet, but fields do.
    if (is_refused(compiler) && !compiler->has_fields && is_interval(expression)) {
        const Refusal refusal = compiler->refusal;
        compiler->refusal = {};
        compiler->guard = guard;
        compiler->case_value = case_value;
        compiler->has_fields = true;
        value = compile_itself(compiler, expression);
        compiler->has_fields = false;
        if (is_refused(compiler))
            compiler->refusal = refusal;
    }
    if (is_refused(compiler) && compiler->has_tables) {
        compiler->guard = guard;
        compiler->case_value = case_value;
        value = compile_table(compiler, expression);
    }
    return value;
}

}  // namespace pg_gpu::plan::query
