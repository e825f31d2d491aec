#include "plan/query/aggregate_compile.h"

#include "compat.h"
#include "expressions.h"
#include "plan/query/aggregate_failure.h"
#include "plan/query/aggregate_float_steps.h"
#include "plan/query/aggregate_keys.h"
#include "plan/query/aggregate_numeric_steps.h"
#include "plan/query/aggregate_ranged.h"
#include "plan/query/aggregate_steps.h"
#include "plan/query/join_query.h"
#include "plan/query/sort_keys.h"

namespace pg_gpu::plan {

using gpu_engine::AccumulatorKind;
using gpu_engine::AggregateOperation;
using gpu_engine::no_aggregate_step;

// ---- conditions -------------------------------------------------------------------------------------------

// A column of the index.
static bool read_column(Node *node, const IndexColumns &columns, int *column) {
    node = without_relabels(node);
    if (node == nullptr || !IsA(node, Var) || is_table_oid(node) || is_over_joined_table(columns.joins, node))
        return false;
    *column = reinterpret_cast<Var *>(node)->varattno - 1;
    return true;
}

static bool read_comparison(Oid operator_oid, Oid collation, Node *left, Node *right,
                            const IndexColumns &columns, IndexCondition *read) {
    *read = {};
    if (!read_column(left, columns, &read->column) || contain_var_clause(right) ||
        !op_in_opfamily(operator_oid, columns.families[read->column]) ||
        (OidIsValid(columns.collations[read->column]) && collation != columns.collations[read->column]))
        return false;
    read->operator_oid = operator_oid;
    read->collation = collation;
    read->argument = reinterpret_cast<Expr *>(right);
    return true;
}

bool read_index_condition(Node *condition, const IndexColumns &columns, IndexCondition *read) {
    if (IsA(condition, NullTest)) {
        const auto *test = reinterpret_cast<const NullTest *>(condition);
        *read = {};
        read->is_null = test->nulltesttype == IS_NULL;
        return !test->argisrow && read_column(reinterpret_cast<Node *>(test->arg), columns, &read->column);
    }
    if (IsA(condition, OpExpr) && list_length(reinterpret_cast<OpExpr *>(condition)->args) == 2) {
        const auto *comparison = reinterpret_cast<const OpExpr *>(condition);
        auto *left = static_cast<Node *>(linitial(comparison->args));
        auto *right = static_cast<Node *>(lsecond(comparison->args));
        if (read_comparison(comparison->opno, comparison->inputcollid, left, right, columns, read))
            return true;
        const Oid commutator = get_commutator(comparison->opno);
        return OidIsValid(commutator) &&
               read_comparison(commutator, comparison->inputcollid, right, left, columns, read);
    }
    if (IsA(condition, ScalarArrayOpExpr)) {
        const auto *any = reinterpret_cast<const ScalarArrayOpExpr *>(condition);
        if (!any->useOr ||
            !read_comparison(any->opno, any->inputcollid, static_cast<Node *>(linitial(any->args)),
                             static_cast<Node *>(lsecond(any->args)), columns, read))
            return false;
        read->is_array = true;
        return true;
    }
    return false;
}

static void add_conjunct(Compiler *compiler, uint16 *filter, uint16 step) {
    *filter = *filter == no_aggregate_step
                  ? step
                  : add_step(compiler, AggregateOperation::logical_and, 0, *filter, step);
}

static void compile_condition(Compiler *compiler, Node *condition) {
    if (is_refused(compiler))
        return;
    CompiledAggregate *compiled = compiler->compiled;
    const bool is_unsafe = may_fail(condition);
    compiled->unsafe_conditions += is_unsafe ? 1 : 0;
    IndexCondition read;
    if (read_index_condition(condition, *compiler->columns, &read)) {
        compiled->index_conditions = lappend(compiled->index_conditions, condition);
        return;
    }
    const uint16 step = compile_truth(compiler, reinterpret_cast<Expr *>(condition));
    add_conjunct(compiler, is_unsafe ? &compiled->unsafe_filter : &compiled->safe_filter, step);
}

// Do all aggregates of a statement without groups have this FILTER, which can't fail? Then no other rows are
// needed, and it is a condition. It must not keep rows from conditions that may fail, though.
static bool is_common_filter(const Compiler &compiler, const AggregateQuery &query, Expr *filter) {
    if (compiler.compiled->unsafe_conditions > 0)
        return false;
    if (filter == nullptr || query.keys != NIL || query.has_barrier || query.has_bitmap || may_fail(filter))
        return false;
    ListCell *cell;
    foreach (cell, query.aggregates)
        if (!equal(lfirst_node(Aggref, cell)->aggfilter, filter))
            return false;
    return true;
}

static void compile_common_filter(Compiler *compiler, const AggregateQuery &query) {
    Expr *filter = query.aggregates == NIL ? nullptr : linitial_node(Aggref, query.aggregates)->aggfilter;
    compiler->compiled->has_common_filter = is_common_filter(*compiler, query, filter);
    if (!compiler->compiled->has_common_filter)
        return;
    ListCell *cell;
    foreach (cell, make_ands_implicit(filter))
        compile_condition(compiler, static_cast<Node *>(lfirst(cell)));
}

// Rows without a match in a joined table aren't there, or, of anti joins, those with one. That can't fail.
// Tables of which few rows are left come first: what they keep out isn't computed any further.
static void compile_joins(Compiler *compiler) {
    const List *joins = compiler->columns->joins;
    Bitmapset *done = nullptr;
    for (int number = 0; number < list_length(joins); number++) {
        int next = -1;
        for (int i = 0; i < list_length(joins); i++)
            if (!bms_is_member(i, done) &&
                (next < 0 || unpack_joined_table(joins, i).kept < unpack_joined_table(joins, next).kept))
                next = i;
        done = bms_add_member(done, next);
        const JoinType type = unpack_joined_table(joins, next).type;
        if (type == JOIN_LEFT)
            continue;
        uint16 step = add_match_step(compiler, next);
        if (type == JOIN_ANTI)
            step = add_step(compiler, AggregateOperation::logical_not, 0, step, 0);
        add_conjunct(compiler, &compiler->compiled->safe_filter, step);
    }
}

// ---- aggregates -------------------------------------------------------------------------------------------

static uint8 add_accumulator(Compiler *compiler, AccumulatorKind kind, uint16 step, uint16 filter) {
    if (is_refused(compiler))
        return 0;
    gpu_engine::AggregateProgram *program = &compiler->compiled->program;
    for (uint32 i = 0; i < program->accumulator_count; i++) {
        const gpu_engine::Accumulator &other = program->accumulator[i];
        if (other.kind == kind && other.step == step && other.filter == filter)
            return other.word;
    }
    if (program->accumulator_count == gpu_engine::max_aggregate_accumulators) {
        refuse(compiler, "there are too many aggregates");
        return 0;
    }
    const auto word = static_cast<uint8>(program->value_words);
    program->accumulator[program->accumulator_count++] = {kind, word, step, filter, 0};
    program->value_words += gpu_engine::accumulator_words(kind);
    return word;
}

// A step that is NULL where the argument is.
static uint16 compile_presence(Compiler *compiler, Expr *argument) {
    if (is_index_column(*compiler, argument))
        return add_input_step(compiler, add_source(compiler, SourceKind::Presence, argument));
    if (IsA(argument, Const))
        return compile_constant(compiler, reinterpret_cast<Const *>(argument));
    if (has_codes(*compiler, argument))
        return add_input_step(compiler, add_source(compiler, SourceKind::Exists, argument));
    return compile_nullness(compiler, argument);
}

// The argument is a numeric: the result shows the greatest scale of its values.
static void add_numeric(Compiler *compiler, uint16 step, uint16 scale, uint16 filter,
                        AggregateResult *result) {
    result->is_numeric = true;
    result->step = step;
    result->shown = kScaleOfGroup;
    result->scale = add_accumulator(compiler, AccumulatorKind::greatest, scale, filter);
}

// Is the aggregate the first of its arguments by an operator, as min and max are?
static Oid order_of(Oid aggregate) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple))
        return InvalidOid;
    const Oid order = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple))->aggsortop;
    ReleaseSysCache(tuple);
    return order;
}

// The operator that sorts the other way, if this one descends.
static Oid ascending_order_of(Oid order) {
    Oid family;
    Oid operand;
    bool descends;
    if (!find_ordering(order, &family, &operand, &descends) || !descends)
        return order;
    const Oid ascending = get_opfamily_member(family, operand, operand, BTLessStrategyNumber);
    return OidIsValid(ascending) ? ascending : order;
}

static void compile_extreme(Compiler *compiler, Aggref *aggregate, Expr *argument, uint16 filter,
                            AggregateResult *result) {
    const Oid order = order_of(aggregate->aggfnoid);
    if (!OidIsValid(order)) {
        refuse(compiler, "an aggregate isn't supported", reinterpret_cast<Expr *>(aggregate));
        return;
    }
    const Oid type = exprType(reinterpret_cast<Node *>(argument));
    result->type = column::describe_type(type, aggregate->inputcollid);
    const TypeCacheEntry *entry = lookup_type_cache(getBaseType(type), TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
    if (result->type.is_integer && result->type.is_ordered &&
        (order == entry->lt_opr || order == entry->gt_opr)) {
        const uint16 step = compile_number(compiler, argument);
        result->kind = ResultKind::Extreme;
        result->value = add_accumulator(
            compiler, order == entry->lt_opr ? AccumulatorKind::least : AccumulatorKind::greatest, step,
            filter);
        result->count = add_accumulator(compiler, AccumulatorKind::count, step, filter);
        return;
    }
    if (is_numeric(argument) && !has_codes(*compiler, argument) &&
        (order == entry->lt_opr || order == entry->gt_opr)) {
        const NumericSteps steps = compile_numeric(compiler, argument);
        add_numeric(compiler, steps.number, scale_of_numbers(compiler, steps), filter, result);
        result->kind = ResultKind::ExtremeOfNumeric;
        result->value = add_accumulator(
            compiler, order == entry->lt_opr ? AccumulatorKind::least : AccumulatorKind::greatest,
            steps.number, filter);
        result->count = add_accumulator(compiler, AccumulatorKind::count, steps.number, filter);
        return;
    }
    // The greatest is the last by the operator that goes the other way: it takes the ranks that the least
    // has.
    const Oid ascending = ascending_order_of(order);
    const bool is_last = ascending != order;
    result->kind = ResultKind::Ranked;
    result->input = add_source(compiler, SourceKind::Rank, argument, ascending, aggregate->inputcollid);
    const uint16 step = add_input_step(compiler, result->input);
    result->value =
        add_accumulator(compiler, is_last ? AccumulatorKind::greatest : AccumulatorKind::least, step, filter);
    result->count = add_accumulator(compiler, AccumulatorKind::count, step, filter);
}

static void compile_bits(Compiler *compiler, Expr *argument, uint16 filter, AccumulatorKind kind,
                         AggregateResult *result) {
    result->kind = ResultKind::Bits;
    result->type = column::describe_type(exprType(reinterpret_cast<Node *>(argument)), InvalidOid);
    const uint16 step = compile_number(compiler, argument);
    result->value = add_accumulator(compiler, kind, step, filter);
    result->count = add_accumulator(compiler, AccumulatorKind::count, step, filter);
}

static void compile_sum(Compiler *compiler, Expr *argument, uint16 filter, ResultKind kind,
                        AggregateResult *result) {
    result->kind = kind;
    uint16 step;
    if (kind == ResultKind::SumOfNumeric || kind == ResultKind::AverageOfNumeric) {
        // By entry numbers may have 128 bits.
        const bool by_entry = has_codes(*compiler, argument);
        const NumericSteps steps =
            by_entry ? compile_numeric_input(compiler, argument) : compile_numeric(compiler, argument);
        const uint16 scale = by_entry ? steps.scale : scale_of_numbers(compiler, steps);
        step = steps.number;
        add_numeric(compiler, step, scale, filter, result);
    } else {
        step = compile_number(compiler, argument);
    }
    result->value = add_accumulator(compiler, AccumulatorKind::sum, step, filter);
    result->count = add_accumulator(compiler, AccumulatorKind::count, step, filter);
}

// Their exponent is known once their inputs are.
static void compile_sum_of_floats(Compiler *compiler, Expr *argument, uint16 filter, ResultKind kind,
                                  AggregateResult *result) {
    result->kind = kind;
    result->type = column::describe_type(exprType(reinterpret_cast<Node *>(argument)), InvalidOid);
    const uint16 step = compile_number(compiler, argument);
    result->value =
        add_accumulator(compiler,
                        result->type.code == column::IntegerCode::Float4 ? AccumulatorKind::sum_float32
                                                                         : AccumulatorKind::sum_float64,
                        step, filter);
    result->count = add_accumulator(compiler, AccumulatorKind::count, step, filter);
}

static FloatDeviation deviation_of(Oid aggregate) {
    switch (aggregate) {
        case F_VAR_POP_FLOAT4:
        case F_VAR_POP_FLOAT8:
            return {false, false, 0};
        case F_VAR_SAMP_FLOAT4:
        case F_VAR_SAMP_FLOAT8:
        case F_VARIANCE_FLOAT4:
        case F_VARIANCE_FLOAT8:
            return {true, false, 0};
        case F_STDDEV_POP_FLOAT4:
        case F_STDDEV_POP_FLOAT8:
            return {false, true, 0};
        default:
            return {true, true, 0};
    }
}

static void compile_deviation_of_floats(Compiler *compiler, Oid aggregate, Expr *argument, uint16 filter,
                                        AggregateResult *result) {
    result->kind = ResultKind::DeviationOfFloats;
    result->type = column::describe_type(exprType(reinterpret_cast<Node *>(argument)), InvalidOid);
    result->deviation = deviation_of(aggregate);
    const uint16 number = compile_number(compiler, argument);
    if (!is_refused(compiler) &&
        compiler->compiled->program.step[number].operation != AggregateOperation::input)
        refuse(compiler, "a variance of floats isn't over a column", argument);
    if (is_refused(compiler))
        return;
    uint16 step = compile_cut_float(compiler, number, result->type, &result->input);
    step = add_step(compiler, AggregateOperation::subtract, sizeof(int64), step, add_centre(compiler, step));
    result->value = add_accumulator(compiler, AccumulatorKind::sum, step, filter);
    result->squares = add_accumulator(compiler, AccumulatorKind::sum_squares, step, filter);
    result->count = add_accumulator(compiler, AccumulatorKind::count, number, filter);
}

static ResultKind kind_of_distinct(Oid aggregate, bool *is_supported) {
    *is_supported = true;
    switch (aggregate) {
        case F_COUNT_ANY:
            return ResultKind::Count;
        case F_SUM_INT2:
        case F_SUM_INT4:
            return ResultKind::SumOfIntegers;
        case F_SUM_INT8:
            return ResultKind::SumOfLong;
        case F_AVG_INT2:
        case F_AVG_INT4:
        case F_AVG_INT8:
            return ResultKind::AverageOfLong;
        case F_SUM_NUMERIC:
            return ResultKind::SumOfNumeric;
        case F_AVG_NUMERIC:
            return ResultKind::AverageOfNumeric;
        default:
            *is_supported = false;
            return ResultKind::Count;
    }
}

// Compiles an aggregate of distinct values. The words' places are known once the program's own are.
static void compile_distinct(Compiler *compiler, Aggref *aggregate, Expr *argument, uint16 filter,
                             AggregateResult *result) {
    CompiledAggregate *compiled = compiler->compiled;
    bool is_supported;
    result->kind = kind_of_distinct(aggregate->aggfnoid, &is_supported);
    if (!is_supported) {
        refuse(compiler, "an aggregate of distinct values isn't supported",
               reinterpret_cast<Expr *>(aggregate));
        return;
    }
    const bool is_added_up =
        result->kind == ResultKind::SumOfNumeric || result->kind == ResultKind::AverageOfNumeric;
    // Of a column of integers without codes the numbers themselves are added up.
    const bool is_scaled = IsA(argument, Var) && is_over_scaled(*compiler, argument);
    if (is_added_up && !is_scaled && !has_codes(*compiler, argument)) {
        refuse_columns(compiler, argument);
        return;
    }
    // Numerics over several columns have integers with as many digits behind the point each.
    const bool is_counted_numeric = result->kind == ResultKind::Count && is_numeric(argument) &&
                                    !has_codes(*compiler, argument) && find_ranged(argument) == nullptr;
    const column::ColumnType type =
        column::describe_type(exprType(reinterpret_cast<Node *>(argument)), InvalidOid);
    const bool is_counted_float =
        result->kind == ResultKind::Count && is_float(type) && !has_codes(*compiler, argument);
    const Identity identity =
        is_counted_float     ? identity_of_float(compiler, type, argument)
        : is_counted_numeric ? identity_of_number(compiler, compile_numeric(compiler, argument).number)
                             : compile_identity(compiler, argument,
                                                linitial_node(SortGroupClause, aggregate->aggdistinct)->eqop);
    const uint16 input =
        is_scaled && !is_refused(compiler) ? compiled->program.step[identity.step].left : identity.input;
    result->input = is_added_up ? input : 0;
    for (uint32 i = 0; i < compiled->distinct_count; i++) {
        DistinctArgument *other = &compiled->distinct[i];
        if (other->step == identity.step && other->filter == filter) {
            other->is_numeric = other->is_numeric || is_added_up;
            result->distinct = static_cast<uint8>(i + 1);
            return;
        }
    }
    constexpr uint32 keys_of_argument = 2;
    if (compiled->distinct_count == kMaxDistinctArguments ||
        compiled->program.key_count + keys_of_argument > gpu_engine::max_aggregate_keys) {
        refuse(compiler, "there are too many aggregates of distinct values, or grouping columns beside them");
        return;
    }
    compiled->distinct[compiled->distinct_count++] = {identity.step, identity.null_step, input, filter,
                                                      is_added_up};
    result->distinct = static_cast<uint8>(compiled->distinct_count);
}

// By core's own functions. Of long numbers squares have room only where numbers are near 0, so they are less
// by one in the middle of them.
static void compile_deviation(Compiler *compiler, Oid aggregate, Expr *argument, uint16 filter,
                              ResultKind kind, AggregateResult *result) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    if (!HeapTupleIsValid(tuple)) {
        refuse(compiler, "an aggregate isn't supported");
        return;
    }
    const auto *form = reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple));
    result->functions = {form->aggdeserialfn, form->aggfinalfn};
    ReleaseSysCache(tuple);
    result->kind = kind;
    result->centre = no_aggregate_step;
    const bool of_numeric = is_numeric(argument);
    const bool by_entry = of_numeric && has_codes(*compiler, argument);
    uint16 step;
    if (of_numeric && !by_entry) {
        const NumericSteps steps = compile_numeric(compiler, argument);
        step = steps.number;
        add_numeric(compiler, step, scale_of_numbers(compiler, steps), filter, result);
    } else if (by_entry) {
        result->input = add_source(compiler, SourceKind::Narrow, argument);
        const uint16 scale =
            add_input_step(compiler, add_dependent_source(compiler, SourceKind::Scale, result->input));
        step = add_input_step(compiler, result->input);
        add_numeric(compiler, step, scale, filter, result);
    } else {
        step = compile_number(compiler, argument);
    }
    if (kind == ResultKind::WideDeviation && !by_entry) {
        result->centre = add_centre(compiler, step);
        step = add_step(compiler, AggregateOperation::subtract, sizeof(int64), step, result->centre);
    }
    result->value = add_accumulator(compiler, AccumulatorKind::sum, step, filter);
    result->squares = add_accumulator(compiler, AccumulatorKind::sum_squares, step, filter);
    result->count = add_accumulator(compiler, AccumulatorKind::count, step, filter);
}

static bool is_supported_call(const Aggref *aggregate) {
    return aggregate->agglevelsup == 0 && aggregate->aggkind == AGGKIND_NORMAL &&
           aggregate->aggdirectargs == NIL && aggregate->aggorder == NIL && !aggregate->aggvariadic;
}

static void compile_result(Compiler *compiler, Aggref *aggregate, AggregateResult *result) {
    *result = {};
    auto *expression = reinterpret_cast<Expr *>(aggregate);
    if (!is_supported_call(aggregate)) {
        refuse(compiler, "an aggregate has an order, or isn't an ordinary one", expression);
        return;
    }
    uint16 filter = no_aggregate_step;
    if (aggregate->aggfilter != nullptr && !compiler->compiled->has_common_filter) {
        filter = compile_truth(compiler, aggregate->aggfilter);
        compiler->compiled->has_unsafe_branch = compiler->compiled->has_unsafe_branch ||
                                                may_fail(aggregate->aggfilter) || may_fail(aggregate->args);
    }
    if (aggregate->aggfnoid == F_COUNT_) {
        result->count = add_accumulator(compiler, AccumulatorKind::count, no_aggregate_step, filter);
        return;
    }
    if (list_length(aggregate->args) != 1) {
        refuse(compiler, "an aggregate isn't supported", expression);
        return;
    }
    Expr *argument = linitial_node(TargetEntry, aggregate->args)->expr;
    // The first of all values is the first of the distinct ones.
    if (aggregate->aggdistinct != NIL && !OidIsValid(order_of(aggregate->aggfnoid))) {
        compile_distinct(compiler, aggregate, argument, filter, result);
        return;
    }
    switch (aggregate->aggfnoid) {
        case F_COUNT_ANY:
            result->count = add_accumulator(compiler, AccumulatorKind::count,
                                            compile_presence(compiler, argument), filter);
            return;
        case F_SUM_INT2:
        case F_SUM_INT4:
            compile_sum(compiler, argument, filter, ResultKind::SumOfIntegers, result);
            return;
        case F_SUM_INT8:
            compile_sum(compiler, argument, filter, ResultKind::SumOfLong, result);
            return;
        case F_AVG_INT2:
        case F_AVG_INT4:
        case F_AVG_INT8:
            compile_sum(compiler, argument, filter, ResultKind::AverageOfLong, result);
            return;
        case F_SUM_NUMERIC:
            compile_sum(compiler, argument, filter, ResultKind::SumOfNumeric, result);
            return;
        case F_AVG_NUMERIC:
            compile_sum(compiler, argument, filter, ResultKind::AverageOfNumeric, result);
            return;
        case F_SUM_FLOAT4:
        case F_SUM_FLOAT8:
            compile_sum_of_floats(compiler, argument, filter, ResultKind::SumOfFloats, result);
            return;
        case F_AVG_FLOAT4:
        case F_AVG_FLOAT8:
            compile_sum_of_floats(compiler, argument, filter, ResultKind::AverageOfFloats, result);
            return;
        case F_VAR_POP_FLOAT4:
        case F_VAR_POP_FLOAT8:
        case F_VAR_SAMP_FLOAT4:
        case F_VAR_SAMP_FLOAT8:
        case F_VARIANCE_FLOAT4:
        case F_VARIANCE_FLOAT8:
        case F_STDDEV_POP_FLOAT4:
        case F_STDDEV_POP_FLOAT8:
        case F_STDDEV_SAMP_FLOAT4:
        case F_STDDEV_SAMP_FLOAT8:
        case F_STDDEV_FLOAT4:
        case F_STDDEV_FLOAT8:
            compile_deviation_of_floats(compiler, aggregate->aggfnoid, argument, filter, result);
            return;
        case F_BIT_AND_INT2:
        case F_BIT_AND_INT4:
        case F_BIT_AND_INT8:
            compile_bits(compiler, argument, filter, AccumulatorKind::bits_and, result);
            return;
        case F_BIT_OR_INT2:
        case F_BIT_OR_INT4:
        case F_BIT_OR_INT8:
            compile_bits(compiler, argument, filter, AccumulatorKind::bits_or, result);
            return;
        case F_BIT_XOR_INT2:
        case F_BIT_XOR_INT4:
        case F_BIT_XOR_INT8:
            compile_bits(compiler, argument, filter, AccumulatorKind::bits_xor, result);
            return;
        case F_VAR_POP_INT2:
        case F_VAR_POP_INT4:
        case F_VAR_SAMP_INT2:
        case F_VAR_SAMP_INT4:
        case F_VARIANCE_INT2:
        case F_VARIANCE_INT4:
        case F_STDDEV_POP_INT2:
        case F_STDDEV_POP_INT4:
        case F_STDDEV_SAMP_INT2:
        case F_STDDEV_SAMP_INT4:
        case F_STDDEV_INT2:
        case F_STDDEV_INT4:
            compile_deviation(compiler, aggregate->aggfnoid, argument, filter, ResultKind::Deviation, result);
            return;
        case F_VAR_POP_INT8:
        case F_VAR_POP_NUMERIC:
        case F_VAR_SAMP_INT8:
        case F_VAR_SAMP_NUMERIC:
        case F_VARIANCE_INT8:
        case F_VARIANCE_NUMERIC:
        case F_STDDEV_POP_INT8:
        case F_STDDEV_POP_NUMERIC:
        case F_STDDEV_SAMP_INT8:
        case F_STDDEV_SAMP_NUMERIC:
        case F_STDDEV_INT8:
        case F_STDDEV_NUMERIC:
            compile_deviation(compiler, aggregate->aggfnoid, argument, filter, ResultKind::WideDeviation,
                              result);
            return;
        default:
            compile_extreme(compiler, aggregate, argument, filter, result);
    }
}

// ---- transition states ------------------------------------------------------------------------------------

static bool has_final_function(Oid aggregate) {
    HeapTuple tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
    const bool found = !HeapTupleIsValid(tuple) ||
                       OidIsValid(reinterpret_cast<Form_pg_aggregate>(GETSTRUCT(tuple))->aggfinalfn);
    if (HeapTupleIsValid(tuple))
        ReleaseSysCache(tuple);
    return found;
}

// Compiles the state of an aggregate that core has marked as partial.
static void compile_state(Compiler *compiler, Aggref *aggregate, AggregateResult *result) {
    switch (result->kind) {
        case ResultKind::SumOfLong:
            result->form = StateForm::Integers;
            return;
        case ResultKind::AverageOfLong:
            result->form = aggregate->aggtranstype == INTERNALOID ? StateForm::Integers : StateForm::Average;
            return;
        case ResultKind::SumOfNumeric:
        case ResultKind::AverageOfNumeric:
            result->form = StateForm::Numerics;
            return;
        case ResultKind::AverageOfFloats:
            result->form = StateForm::Floats;
            return;
        case ResultKind::Deviation:
            result->form = StateForm::Deviation;
            return;
        case ResultKind::WideDeviation:
            result->form = StateForm::WideDeviation;
            return;
        case ResultKind::Extreme:
        case ResultKind::ExtremeOfNumeric:
        case ResultKind::Bits:
        case ResultKind::Ranked:
            if (!has_final_function(aggregate->aggfnoid))
                return;
            break;
        case ResultKind::Count:
        case ResultKind::SumOfIntegers:
        case ResultKind::SumOfFloats:
            return;
        default:
            break;
    }
    refuse(compiler, "an aggregate's transition state isn't known", reinterpret_cast<Expr *>(aggregate));
}

// ---- columns ----------------------------------------------------------------------------------------------

IndexColumns describe_columns(const column::Format *format, const Oid *families, const Oid *collations,
                              const column::IndexSummary &summary, const List *joins) {
    const auto columns = static_cast<size_t>(format->columns);
    auto *has_codes = allocate<bool>(columns);
    auto *is_joinable = allocate<bool>(columns);
    auto *can_be_listed = allocate<bool>(columns);
    for (size_t i = 0; i < columns; i++) {
        has_codes[i] = summary.column[i].has_codes;
        is_joinable[i] = summary.column[i].is_joinable;
        can_be_listed[i] = summary.column[i].can_be_listed;
    }
    return {format, families, collations, has_codes, is_joinable, can_be_listed, joins};
}

void narrow_summary(column::IndexSummary *summary, const column::IndexSummary &other, int columns) {
    for (int i = 0; i < columns; i++) {
        column::ColumnSummary *column = &summary->column[i];
        column->has_codes = column->has_codes && other.column[i].has_codes;
        column->is_joinable = column->is_joinable && other.column[i].is_joinable;
        column->can_be_listed = column->can_be_listed && other.column[i].can_be_listed;
    }
}

// ---- the whole --------------------------------------------------------------------------------------------

static void compile_query(Compiler *compiler, const AggregateQuery &query) {
    CompiledAggregate *compiled = compiler->compiled;
    ListCell *cell;
    foreach (cell, query.conditions)
        compile_condition(compiler, static_cast<Node *>(lfirst(cell)));
    compile_common_filter(compiler, query);
    compile_joins(compiler);
    compiler->is_condition = false;
    if (wants_rows(query)) {
        compile_sort_keys(compiler, query);
        return;
    }
    // The first accumulator counts a group's rows.
    add_accumulator(compiler, AccumulatorKind::count, no_aggregate_step, no_aggregate_step);
    if (list_length(query.keys) > static_cast<int>(gpu_engine::max_aggregate_keys))
        refuse(compiler, "there are too many grouping columns");
    for (int i = 0; i < list_length(query.keys) && !is_refused(compiler); i++)
        compile_key(compiler, static_cast<Expr *>(list_nth(query.keys, i)),
                    list_nth_oid(query.key_operators, i), &compiled->key[i]);
    compiled->result = allocate_zeroed<AggregateResult>(list_length(query.aggregates) + 1);
    for (int i = 0; i < list_length(query.aggregates) && !is_refused(compiler); i++) {
        auto *aggregate = list_nth_node(Aggref, query.aggregates, i);
        compile_result(compiler, aggregate, &compiled->result[i]);
        if (aggregate->aggsplit != AGGSPLIT_SIMPLE)
            compile_state(compiler, aggregate, &compiled->result[i]);
    }
    if (compiled->has_place)
        compiled->place =
            add_accumulator(compiler, AccumulatorKind::least,
                            add_step(compiler, AggregateOperation::place, 0, 0, 0), no_aggregate_step);
}

const char *compile_by_codes(const AggregateQuery &query, const IndexColumns &columns, ExprContext *context,
                             CompiledAggregate *compiled) {
    *compiled = {};
    compiled->safe_filter = no_aggregate_step;
    compiled->unsafe_filter = no_aggregate_step;
    compiled->program.filter = no_aggregate_step;
    Compiler compiler = {compiled, &columns, context, true, no_aggregate_step, UINT16_MAX, nullptr, nullptr};
    compile_query(&compiler, query);
    if (compiler.compiled_once != nullptr)
        hash_destroy(compiler.compiled_once);
    return compiler.reason;
}

}  // namespace pg_gpu::plan
