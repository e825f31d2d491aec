#include "plan/query/accumulators.h"

#include "compat.h"
#include "plan/query/nested_groups.h"
#include "plan/query/numbering.h"
#include "plan/query/top.h"
#include "plan/query/windows.h"

namespace pg_gpu::plan::query {

using engine::AccumulatorKind;

// ---- accumulators -----------------------------------------------------------------------------------------

uint16 accumulate(CompiledQuery *compiled, AccumulatorKind kind, uint16 argument, uint16 filter,
                  bool is_distinct, uint32 detail) {
    const engine::Accumulator wanted = {kind,  static_cast<uint8>(is_distinct ? 1 : 0), argument, filter, 0,
                                        detail};
    uint32 i = compiled->first_accumulator;
    while (i < compiled->accumulator_count &&
           memcmp(&compiled->accumulators[i], &wanted, sizeof(wanted)) != 0)
        i++;
    if (i == engine::max_accumulators) {
        compiled->program->is_full = true;
        return 0;
    }
    if (i == compiled->accumulator_count)
        compiled->accumulators[compiled->accumulator_count++] = wanted;
    return static_cast<uint16>(compiled->key_count + i);
}

uint16 both(Compiler *compiler, uint16 one, uint16 other) {
    return one == no_step ? other
                          : add_step(compiler->program,
                                     make_step(Operation::logical_and, ValueType::boolean, one, other));
}

uint16 accumulate_shown(Compiler *compiler, CompiledQuery *compiled, const Argument &argument) {
    if (!is_numeric(argument.value) || argument.value.shown != kShownByRow)
        return no_step;
    Program *program = compiler->program;
    const uint16 is_null =
        add_step(program, make_step(Operation::is_null, ValueType::boolean, argument.value.step));
    const uint16 is_value = add_step(program, make_step(Operation::logical_not, ValueType::boolean, is_null));
    return accumulate(compiled, AccumulatorKind::greatest, argument.value.shown_step,
                      both(compiler, argument.filter, is_value));
}

void accumulate_special(Compiler *compiler, CompiledQuery *compiled, Argument *argument, Result *result) {
    if (argument->value.kind != Kind::Extended)
        return;
    const uint16 special = special_part(compiler, argument->value);
    result->least_special = accumulate(compiled, AccumulatorKind::least, special, argument->filter);
    result->greatest_special = accumulate(compiled, AccumulatorKind::greatest, special, argument->filter);
    argument->value = finite_part(compiler, argument->value);
}

// A char(n) has the same number as a varchar with fewer or more blanks at its end.
static int32 padded_to(const Expr *expression) {
    const auto *node = reinterpret_cast<const Node *>(expression);
    const Oid collation = exprCollation(node);
    return exprType(node) == BPCHAROID && OidIsValid(collation) && get_collation_isdeterministic(collation)
               ? Max(exprTypmod(node), 0)
               : 0;
}

Result make_result(ResultKind kind, const Aggref *aggregate, const Value &argument) {
    Result result = {};
    result.kind = kind;
    result.type = aggregate->aggtype;
    result.argument = argument;
    result.shown = result.least_shown = result.least_sign = result.least_special = result.distinct_values =
        no_step;
    return result;
}

// ---- kinds of aggregates ----------------------------------------------------------------------------------

static void compile_sum(Compiler *compiler, CompiledQuery *compiled, Argument argument, bool is_counted,
                        Result *result) {
    const Value whole = argument.value;
    accumulate_special(compiler, compiled, &argument, result);
    const Value &value = argument.value;
    result->argument = value;
    if (argument.is_distinct && value.kind == Kind::Decimal && value.shown == kShownByRow) {
        const auto count = [&](const Value &of) {
            return accumulate(compiled, AccumulatorKind::count, of.step, argument.filter, true);
        };
        result->distinct_values = count(whole);
        result->distinct_looks = count(append_shown(compiler, whole, false));
    }
    const bool is_float = value.kind == Kind::Float;
    result->value = accumulate(compiled, is_float ? AccumulatorKind::sum_float : AccumulatorKind::sum,
                               value.step, argument.filter, argument.is_distinct);
    result->shown = accumulate_shown(compiler, compiled, argument);
    if (is_counted)
        result->count =
            accumulate(compiled, AccumulatorKind::count, whole.step, argument.filter, argument.is_distinct);
}

// Are there intervals that equal each other, and show other fields?
static bool may_look_different(const Value &value) {
    return value.kind == Kind::Interval && value.shown == kShownByRow;
}

static void compile_extreme(Compiler *compiler, CompiledQuery *compiled, const Argument &argument,
                            bool is_least, Result *result) {
    Value value = argument.value;
    if (value.kind == Kind::Group && !order_numbers(compiler, &value, argument.collation))
        return;
    result->argument = value;
    const AccumulatorKind kind = is_least ? AccumulatorKind::least : AccumulatorKind::greatest;
    if (may_look_different(value)) {
        if (!has_fields(value)) {
            refuse(&compiler->refusal, "equal intervals may look different");
            return;
        }
        result->kind = ResultKind::IntervalExtreme;
        result->value = accumulate(compiled, kind, append_look(compiler, value, false), argument.filter);
        result->rest = accumulate(compiled, kind, append_look(compiler, value, true), argument.filter);
        return;
    }
    if (is_numeric(value) && value.shown == kShownByRow) {
        // Both are of rows that have the value: the one that shows the most digits, and the fewest.
        const Value with_shown = append_shown(compiler, value, false);
        const Value with_turned = append_shown(compiler, value, true);
        if (is_refused(compiler))
            return;
        result->kind = ResultKind::ShownExtreme;
        result->value = accumulate(compiled, kind, with_shown.step, argument.filter);
        result->rest = accumulate(compiled, kind, with_turned.step, argument.filter);
        return;
    }
    result->value = accumulate(compiled, kind, value.step, argument.filter);
}

// Intervals are added up field by field.
static void compile_interval_sum(Compiler *compiler, CompiledQuery *compiled, const Argument &argument,
                                 ResultKind kind, Result *result) {
    const Value &value = argument.value;
    if (argument.is_distinct) {
        refuse(&compiler->refusal, "distinct intervals may look different");
        return;
    }
    const IntervalFields fields = fields_of_interval(compiler, value);
    result->kind = kind;
    result->value = accumulate(compiled, AccumulatorKind::sum, fields.days.step, argument.filter);
    result->rest = accumulate(compiled, AccumulatorKind::sum, fields.time.step, argument.filter);
    result->months = fields.has_months
                         ? accumulate(compiled, AccumulatorKind::sum, fields.months.step, argument.filter)
                         : no_step;
    result->count = accumulate(compiled, AccumulatorKind::count, fields.time.step, argument.filter);
}

Oid sort_operator_of(Oid aggregate) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple))
        elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
    const Oid order = reinterpret_cast<const FormData_pg_aggregate *>(GETSTRUCT(tuple))->aggsortop;
    ReleaseSysCache(tuple);
    return order;
}

// Does an aggregate give the first value in an order: the type's own, or that backwards? 0: it doesn't; 1:
// the least value, -1: the greatest.
static int direction_of(const Aggref *aggregate) {
    const Oid order = sort_operator_of(aggregate->aggfnoid);
    const TypeCacheEntry *entry = lookup_type_cache(getBaseType(linitial_oid(aggregate->aggargtypes)),
                                                    TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
    return !OidIsValid(order) ? 0 : order == entry->lt_opr ? 1 : order == entry->gt_opr ? -1 : 0;
}

static void compile_count(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, uint16 filter,
                          Result *result) {
    if (aggregate->aggfnoid == F_COUNT_) {
        result->value = accumulate(compiled, AccumulatorKind::count_rows, no_step, filter);
        return;
    }
    const Expr *expression = linitial_node(TargetEntry, aggregate->args)->expr;
    const bool is_distinct = aggregate->aggdistinct != NIL;
    if (!is_distinct && IsA(expression, Const) && !reinterpret_cast<const Const *>(expression)->constisnull) {
        result->value = accumulate(compiled, AccumulatorKind::count_rows, no_step, filter);
        return;
    }
    const bool is_row = is_distinct && IsA(expression, RowExpr);
    const Value value = is_row ? compile_row_number(compiler, reinterpret_cast<const RowExpr *>(expression))
                        : is_distinct ? compile(compiler, expression)
                                      : compile_existence(compiler, expression);
    if (!is_refused(compiler))
        result->value = accumulate(compiled, AccumulatorKind::count, value.step, filter, is_distinct);
}

static void compile_bits(Compiler *compiler, CompiledQuery *compiled, AccumulatorKind kind,
                         const Argument &argument, Result *result) {
    if (argument.value.kind != Kind::Integer)
        refuse(&compiler->refusal, "the engine doesn't have an aggregate");
    result->value = accumulate(compiled, kind, argument.value.step, argument.filter);
}

// ---- which aggregate --------------------------------------------------------------------------------------

static void compile_known(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate,
                          const Argument &argument, Result *result) {
    switch (aggregate->aggfnoid) {
        case F_SUM_INT2:
        case F_SUM_INT4:
        case F_SUM_MONEY:
            result->kind = ResultKind::Integer;
            return compile_sum(compiler, compiled, argument, false, result);
        case F_SUM_INT8:
        case F_SUM_NUMERIC:
            result->kind = ResultKind::Sum;
            return compile_sum(compiler, compiled, argument, false, result);
        case F_SUM_FLOAT4:
        case F_SUM_FLOAT8:
            result->kind = ResultKind::FloatSum;
            return compile_sum(compiler, compiled, argument, false, result);
        case F_AVG_INT2:
        case F_AVG_INT4:
        case F_AVG_INT8:
        case F_AVG_NUMERIC:
            result->kind = ResultKind::Average;
            return compile_sum(compiler, compiled, argument, true, result);
        case F_AVG_FLOAT4:
        case F_AVG_FLOAT8:
            result->kind = ResultKind::FloatAverage;
            return compile_sum(compiler, compiled, argument, true, result);
        case F_SUM_INTERVAL:
            return compile_interval_sum(compiler, compiled, argument, ResultKind::IntervalSum, result);
        case F_AVG_INTERVAL:
            return compile_interval_sum(compiler, compiled, argument, ResultKind::IntervalAverage, result);
        case F_MIN_INT2:
        case F_MIN_INT4:
        case F_MIN_INT8:
        case F_MIN_FLOAT4:
        case F_MIN_FLOAT8:
        case F_MIN_NUMERIC:
        case F_MIN_DATE:
        case F_MIN_TIMESTAMP:
        case F_MIN_TIMESTAMPTZ:
        case F_MIN_INTERVAL:
        case F_BOOL_AND:
        case F_EVERY:
            return compile_extreme(compiler, compiled, argument, true, result);
        case F_MAX_INT2:
        case F_MAX_INT4:
        case F_MAX_INT8:
        case F_MAX_FLOAT4:
        case F_MAX_FLOAT8:
        case F_MAX_NUMERIC:
        case F_MAX_DATE:
        case F_MAX_TIMESTAMP:
        case F_MAX_TIMESTAMPTZ:
        case F_MAX_INTERVAL:
        case F_BOOL_OR:
            return compile_extreme(compiler, compiled, argument, false, result);
        case F_BIT_AND_INT2:
        case F_BIT_AND_INT4:
        case F_BIT_AND_INT8:
            return compile_bits(compiler, compiled, AccumulatorKind::bit_and, argument, result);
        case F_BIT_OR_INT2:
        case F_BIT_OR_INT4:
        case F_BIT_OR_INT8:
            return compile_bits(compiler, compiled, AccumulatorKind::bit_or, argument, result);
        case F_BIT_XOR_INT2:
        case F_BIT_XOR_INT4:
        case F_BIT_XOR_INT8:
            return compile_bits(compiler, compiled, AccumulatorKind::bit_xor, argument, result);
        case F_VARIANCE_INT2:
        case F_VARIANCE_INT4:
        case F_VARIANCE_INT8:
        case F_VARIANCE_NUMERIC:
        case F_VARIANCE_FLOAT4:
        case F_VARIANCE_FLOAT8:
        case F_VAR_SAMP_INT2:
        case F_VAR_SAMP_INT4:
        case F_VAR_SAMP_INT8:
        case F_VAR_SAMP_NUMERIC:
        case F_VAR_SAMP_FLOAT4:
        case F_VAR_SAMP_FLOAT8:
        case F_VAR_POP_INT2:
        case F_VAR_POP_INT4:
        case F_VAR_POP_INT8:
        case F_VAR_POP_NUMERIC:
        case F_VAR_POP_FLOAT4:
        case F_VAR_POP_FLOAT8:
        case F_STDDEV_INT2:
        case F_STDDEV_INT4:
        case F_STDDEV_INT8:
        case F_STDDEV_NUMERIC:
        case F_STDDEV_FLOAT4:
        case F_STDDEV_FLOAT8:
        case F_STDDEV_SAMP_INT2:
        case F_STDDEV_SAMP_INT4:
        case F_STDDEV_SAMP_INT8:
        case F_STDDEV_SAMP_NUMERIC:
        case F_STDDEV_SAMP_FLOAT4:
        case F_STDDEV_SAMP_FLOAT8:
        case F_STDDEV_POP_INT2:
        case F_STDDEV_POP_INT4:
        case F_STDDEV_POP_INT8:
        case F_STDDEV_POP_NUMERIC:
        case F_STDDEV_POP_FLOAT4:
        case F_STDDEV_POP_FLOAT8:
            result->kind = ResultKind::Deviation;
            return compile_deviation(compiler, compiled, aggregate, argument, result);
        default:
            break;
    }
    const int direction = argument.value.kind == Kind::Group ? direction_of(aggregate) : 0;
    if (direction == 0)
        refuse(&compiler->refusal, "the engine doesn't have an aggregate");
    else
        compile_extreme(compiler, compiled, argument, direction > 0, result);
}

// Distinct values are sorted, unless the aggregate itself wants an order.
static const char *refuse_aggregate(const Aggref *aggregate) {
    if (aggregate->aggfnoid >= FirstUnpinnedObjectId || aggregate->aggvariadic)
        return "the engine doesn't have an aggregate";
    if (aggregate->aggkind != AGGKIND_NORMAL && !is_ordered_set(aggregate))
        return "the engine doesn't have an aggregate";
    if (aggregate->aggkind == AGGKIND_NORMAL && aggregate->aggorder != NIL)
        return "an aggregate takes its rows in an order";
    if (list_length(aggregate->args) > 1 &&
        (!is_regression(aggregate->aggfnoid) || aggregate->aggdistinct != NIL))
        return "an aggregate has several arguments";
    return nullptr;
}

void compile_aggregate(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, Result *result) {
    if (const char *reason = refuse_aggregate(aggregate)) {
        refuse_value(compiler, reason, aggregate);
        return;
    }
    const uint16 filter =
        aggregate->aggfilter == nullptr ? no_step : compile_truth(compiler, aggregate->aggfilter);
    if (is_refused(compiler))
        return;
    *result = make_result(ResultKind::Value, aggregate, {});
    Guarded guarded = {compiler, compiler->guard};
    if (filter != no_step)
        guarded = begin_guarded(compiler, filter);
    if (is_regression(aggregate->aggfnoid)) {
        result->argument = make_value(no_step, Kind::Integer, ValueType::int64);
        compile_regression(compiler, compiled, aggregate, filter, result);
    } else if (aggregate->aggfnoid == F_COUNT_ || aggregate->aggfnoid == F_COUNT_ANY) {
        compile_count(compiler, compiled, aggregate, filter, result);
        result->argument = make_value(no_step, Kind::Integer, ValueType::int64);
    } else {
        const Expr *expression = linitial_node(TargetEntry, aggregate->args)->expr;
        const bool adds_intervals =
            aggregate->aggfnoid == F_SUM_INTERVAL || aggregate->aggfnoid == F_AVG_INTERVAL;
        const Value value =
            adds_intervals ? compile_interval(compiler, expression) : compile(compiler, expression);
        if (!is_refused(compiler)) {
            // The greatest of distinct values is that of all.
            const Argument argument = {value, filter, aggregate->aggdistinct != NIL, aggregate->inputcollid};
            result->argument = value;
            if (is_ordered_set(aggregate))
                compile_ordered(compiler, compiled, aggregate, argument, result);
            else
                compile_known(compiler, compiled, aggregate, argument, result);
            result->padded = padded_to(expression);
        }
    }
    end_guarded(guarded);
    if (is_refused(compiler) && compiler->refusal.expression == nullptr)
        compiler->refusal.expression = reinterpret_cast<Node *>(const_cast<Aggref *>(aggregate));
}

// ---- keys -------------------------------------------------------------------------------------------------

// Where numbers that have an order are others, they are computed for what is sorted by.
static void rank_sorted(Compiler *compiler, const QueryParts &parts, uint32 number, Value *value) {
    if (value->kind != Kind::Group || value->numbering != no_numbering)
        return;
    for (int i = 0; i < count_items(parts.order); i++) {
        const OrderItem item = order_item(parts.order, i);
        // Without an order the sort is PostgreSQL's.
        if (item.result == static_cast<int>(number) && !order_numbers(compiler, value, item.collation))
            compiler->refusal = {};
    }
}

// What PostgreSQL evaluates by entry is numbered by the session. Were a column's own strings in the same
// numbering, the server couldn't number these.
static Value compile_own(Compiler *compiler, const Expr *expression) {
    compiler->has_own_numbers = compiler->is_outermost && is_map(compiler, expression);
    const Value value = compile(compiler, expression);
    compiler->has_own_numbers = false;
    return value;
}

// Equal keys must look the same, so that any row's can be shown.
static void compile_key(Compiler *compiler, CompiledQuery *compiled, const QueryParts &parts, uint32 number) {
    const auto *key = static_cast<const Expr *>(list_nth(parts.keys, static_cast<int>(number)));
    const Oid equality = list_nth_oid(parts.key_operators, static_cast<int>(number));
    Value value = compile_own(compiler, key);
    if (is_refused(compiler))
        return;
    // Labels alone make few groups, which PostgreSQL has sorted soon.
    if (list_length(parts.keys) > 1)
        rank_sorted(compiler, parts, number, &value);
    const Oid type = exprType(reinterpret_cast<const Node *>(key));
    if (may_look_different(value) && !has_fields(value))
        refuse(&compiler->refusal, "equal grouping columns may look different",
               reinterpret_cast<Node *>(const_cast<Expr *>(key)));
    else if (equality != lookup_type_cache(getBaseType(type), TYPECACHE_EQ_OPR)->eq_opr)
        refuse(&compiler->refusal, "what is grouped by is equal by an operator of its own",
               reinterpret_cast<Node *>(const_cast<Expr *>(key)));
    Result *result = &compiled->results[number];
    *result = {};
    result->kind = ResultKind::Value;
    result->type = type;
    result->argument = value;
    result->padded = padded_to(key);
    result->value = static_cast<uint16>(number);
    result->shown = result->least_shown = result->least_sign = result->least_special =
        result->distinct_values = no_step;
    if (is_numeric(value) && value.shown == kShownByRow) {
        result->least_shown = accumulate(compiled, AccumulatorKind::least, value.shown_step, no_step);
        result->shown = accumulate(compiled, AccumulatorKind::greatest, value.shown_step, no_step);
    }
    if (may_look_different(value) && !is_refused(compiler)) {
        const uint16 look = look_of_interval(compiler, value);
        result->least_shown = accumulate(compiled, AccumulatorKind::least, look, no_step);
        result->shown = accumulate(compiled, AccumulatorKind::greatest, look, no_step);
    }
    if (value.kind == Kind::Float && value.may_be_minus_0) {
        const uint16 sign =
            add_step(compiler->program, make_step(Operation::is_negative, ValueType::boolean, value.step));
        result->least_sign = accumulate(compiled, AccumulatorKind::least, sign, no_step);
        result->greatest_sign = accumulate(compiled, AccumulatorKind::greatest, sign, no_step);
    }
    compiled->keys[number] = value.step;
}

// ---- rows -------------------------------------------------------------------------------------------------

// A row shows its own value, so that equal ones may look different. Columns that tell how it looks come
// behind those that are asked for.
static void compile_given(Compiler *compiler, CompiledQuery *compiled, const QueryParts &parts,
                          uint32 number) {
    const auto *expression = static_cast<const Expr *>(list_nth(parts.keys, static_cast<int>(number)));
    Value value = compile_own(compiler, expression);
    if (is_refused(compiler))
        return;
    rank_sorted(compiler, parts, number, &value);
    if (may_look_different(value) && !has_fields(value))
        refuse(&compiler->refusal, "an interval may look different from what is computed with",
               reinterpret_cast<Node *>(const_cast<Expr *>(expression)));
    Result *result = &compiled->results[number];
    *result = {};
    result->kind = ResultKind::Value;
    result->type = exprType(reinterpret_cast<const Node *>(expression));
    result->argument = value;
    result->argument.may_be_minus_0 = false;
    result->padded = padded_to(expression);
    result->value = static_cast<uint16>(number);
    result->shown = result->least_shown = result->least_sign = result->least_special =
        result->distinct_values = no_step;
    compiled->keys[number] = value.step;
    if (is_numeric(value) && value.shown == kShownByRow) {
        result->shown = static_cast<uint16>(compiled->key_count);
        compiled->keys[compiled->key_count++] = value.shown_step;
    }
    if (may_look_different(value) && !is_refused(compiler)) {
        result->shown = static_cast<uint16>(compiled->key_count);
        compiled->keys[compiled->key_count++] = look_of_interval(compiler, value);
    }
}

// ---- the whole --------------------------------------------------------------------------------------------

static ValueType type_of_accumulator(const Program &program, const engine::Accumulator &accumulator) {
    switch (accumulator.kind) {
        case AccumulatorKind::sum:
            return ValueType::int128;
        case AccumulatorKind::sum_float:
        case AccumulatorKind::percentile_continuous:
        case AccumulatorKind::percent_rank:
        case AccumulatorKind::cume_dist:
            return ValueType::float64;
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
        case AccumulatorKind::row_number:
        case AccumulatorKind::rank:
        case AccumulatorKind::dense_rank:
        case AccumulatorKind::ntile:
            return ValueType::int64;
        default:
            return program.steps[accumulator.argument].type;
    }
}

static const ValueType *types_of_columns(const CompiledQuery &compiled) {
    const Program &program = *compiled.program;
    auto *types = allocate<ValueType>(size_t{compiled.key_count} + compiled.accumulator_count + 1);
    for (uint32 i = 0; i < compiled.key_count; i++)
        types[i] = program.steps[compiled.keys[i]].type;
    for (uint32 i = 0; i < compiled.accumulator_count; i++)
        types[compiled.key_count + i] = type_of_accumulator(program, compiled.accumulators[i]);
    return types;
}

static void drop_unused_steps(const CompiledQuery &compiled, uint16 *filter) {
    const size_t most = size_t{1} + compiled.key_count + 2 * size_t{compiled.accumulator_count};
    auto **kept = allocate<uint16 *>(most);
    uint32 count = 0;
    kept[count++] = filter;
    for (uint32 i = 0; i < compiled.key_count; i++)
        kept[count++] = &compiled.keys[i];
    for (uint32 i = 0; i < compiled.accumulator_count; i++) {
        kept[count++] = &compiled.accumulators[i].argument;
        kept[count++] = &compiled.accumulators[i].filter;
    }
    drop_unused_steps(compiled.program, kept, count);
    pfree(kept);
}

bool compile_groups(Compiler *compiler, const QueryParts &parts, const List *conditions,
                    CompiledQuery *compiled) {
    compiled->program = compiler->program;
    compiled->having.filter = no_step;
    compiled->key_count = static_cast<uint32>(list_length(parts.keys));
    compiled->result_count = compiled->key_count + static_cast<uint32>(list_length(parts.aggregates));
    compiled->gives_rows = parts.keys != NIL && parts.key_operators == NIL;
    compiled->keys = allocate_zeroed<uint16>(2 * size_t{compiled->key_count} + 1);
    compiled->accumulators = allocate_zeroed<engine::Accumulator>(engine::max_accumulators);
    compiled->results = allocate_zeroed<Result>(size_t{compiled->result_count} + 1);
    if (compiled->key_count > engine::max_keys && !compiled->gives_rows)
        refuse(&compiler->refusal, "there are too many grouping columns");
    // Rows of which the filter isn't true have no steps.
    compiled->filter = compile_conditions(compiler, conditions);
    const auto keys = static_cast<uint32>(list_length(parts.keys));
    for (uint32 i = 0; i < keys && !is_refused(compiler); i++) {
        if (compiled->gives_rows)
            compile_given(compiler, compiled, parts, i);
        else
            compile_key(compiler, compiled, parts, i);
    }
    if (parts.windows != NIL && !is_refused(compiler))
        compile_windows(compiler, parts, compiled);
    for (int i = 0; parts.windows == NIL && i < list_length(parts.aggregates) && !is_refused(compiler); i++)
        compile_aggregate(compiler, compiled, list_nth_node(Aggref, parts.aggregates, i),
                          &compiled->results[keys + static_cast<uint32>(i)]);
    if (compiled->program->is_full)
        refuse(&compiler->refusal, "the query has too many steps");
    if (is_refused(compiler))
        return false;
    drop_unused_steps(*compiled, &compiled->filter);
    compiled->types = types_of_columns(*compiled);
    return true;
}

// Of the columns that the nodes' steps read.
static void drop_unused_columns(const CompiledQuery &compiled) {
    const auto nodes = static_cast<uint32>(compiled.tree.count);
    auto *steps = allocate<NodeSteps>(3 * size_t{nodes});
    uint32 count = 0;
    for (uint32 i = 0; i < nodes; i++) {
        const CompiledNode &node = compiled.nodes[i];
        steps[count++] = node.rows;
        steps[count++] = node.pairs;
        if (node.groups != nullptr)
            steps[count++] = node.groups->steps;
    }
    drop_unused_sources(compiled.program, steps, count);
    pfree(steps);
}

bool compile_query(Compiler *compiler, const QueryParts &parts, CompiledQuery *compiled) {
    *compiled = {};
    compiled->tree = parts.tree;
    compiled->nodes = compile_joins(compiler, parts.tree);
    if (is_refused(compiler))
        return false;
    compiler->is_outermost = true;
    if (!compile_groups(compiler, parts, root_of(parts.tree).conditions, compiled))
        return false;
    compiler->is_outermost = false;
    drop_unused_columns(*compiled);
    return true;
}

}  // namespace pg_gpu::plan::query
