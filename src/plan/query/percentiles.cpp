// Aggregates that take a group's values in their order: percentile_cont, percentile_disc and mode.
#include "compat.h"
#include "plan/query/accumulators.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

bool is_ordered_set(const Aggref *aggregate) {
    switch (aggregate->aggfnoid) {
        case F_PERCENTILE_CONT_FLOAT8_FLOAT8:
        case F_PERCENTILE_CONT_FLOAT8_INTERVAL:
        case F_PERCENTILE_CONT__FLOAT8_FLOAT8:
        case F_PERCENTILE_CONT__FLOAT8_INTERVAL:
        case F_PERCENTILE_DISC_FLOAT8_ANYELEMENT:
        case F_PERCENTILE_DISC__FLOAT8_ANYELEMENT:
        case F_MODE:
            return true;
        default:
            return false;
    }
}

static bool is_discrete(const Aggref *aggregate) {
    return aggregate->aggfnoid == F_PERCENTILE_DISC_FLOAT8_ANYELEMENT ||
           aggregate->aggfnoid == F_PERCENTILE_DISC__FLOAT8_ANYELEMENT;
}

// Is the value one of the rows' that shows as many digits as the row's does? Equal ones may come in any
// order.
static bool is_shown_beside(const Aggref *aggregate, const Value &value) {
    return is_discrete(aggregate) && is_numeric(value) && value.shown == kShownByRow;
}

// Gives the argument's numbers their order.
static bool is_ordered(Compiler *compiler, const Aggref *aggregate, Argument *argument) {
    Value &value = argument->value;
    const auto *order = linitial_node(SortGroupClause, aggregate->aggorder);
    const Oid type = exprType(reinterpret_cast<Node *>(linitial_node(TargetEntry, aggregate->args)->expr));
    if (value.kind == Kind::Group && !order_numbers(compiler, &value, argument->collation))
        return false;
    return list_length(aggregate->aggorder) == 1 &&
           order->sortop == lookup_type_cache(getBaseType(type), TYPECACHE_LT_OPR)->lt_opr &&
           value.kind != Kind::Boolean &&
           ((!is_numeric(value) && value.kind != Kind::Interval) || value.shown != kShownByRow ||
            is_shown_beside(aggregate, value));
}

static void compile_percentile(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate,
                               const Argument &argument, float8 fraction, Result *result) {
    const uint32 constant = add_constant(
        compiler->program, static_cast<Int128>(static_cast<uint64>(DatumGetInt64(Float8GetDatum(fraction)))));
    const auto find = [&](AccumulatorKind kind, const Value &value) {
        return accumulate(compiled, kind, value.step, argument.filter, false, constant);
    };
    if (is_shown_beside(aggregate, argument.value)) {
        const Value with_shown = append_shown(compiler, argument.value, false);
        if (is_refused(compiler))
            return;
        result->kind = ResultKind::ShownExtreme;
        result->value = find(AccumulatorKind::percentile_discrete, with_shown);
        result->rest = no_step;
        return;
    }
    if (is_discrete(aggregate) || argument.value.kind != Kind::Interval) {
        result->value = find(is_discrete(aggregate) ? AccumulatorKind::percentile_discrete
                                                    : AccumulatorKind::percentile_continuous,
                             argument.value);
        return;
    }
    result->kind = ResultKind::BetweenIntervals;
    result->value = find(AccumulatorKind::percentile_below, argument.value);
    result->rest = find(AccumulatorKind::percentile_above, argument.value);
    result->count = accumulate(compiled, AccumulatorKind::count, argument.value.step, argument.filter);
    result->fraction = fraction;
}

static bool is_fraction(float8 fraction) {
    return fraction >= 0 && fraction <= 1;
}

// An array of percentiles has the form of the array of fractions, and NULL where that has it.
static void compile_array(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate,
                          const Argument &argument, ArrayType *fractions, Result *result) {
    Datum *values;
    bool *nulls;
    int count;
    deconstruct_array(fractions, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &values, &nulls,
                      &count);
    result->kind = ResultKind::Array;
    result->shape = fractions;
    result->elements = allocate_zeroed<Result>(static_cast<size_t>(count) + 1);
    result->value = no_step;
    for (int i = 0; i < count; i++) {
        Result *element = &result->elements[i];
        *element = make_result(ResultKind::Value, aggregate, argument.value);
        element->type = get_element_type(aggregate->aggtype);
        element->value = no_step;
        if (nulls[i])
            continue;
        if (!is_fraction(DatumGetFloat8(values[i]))) {
            refuse(&compiler->refusal, "a percentile isn't between 0 and 1");
            return;
        }
        compile_percentile(compiler, compiled, aggregate, argument, DatumGetFloat8(values[i]), element);
        result->value = element->value;
    }
    // Values that are numbered are looked up before results are.
    if (result->value == no_step || argument.value.kind == Kind::Group)
        refuse(&compiler->refusal, "the engine doesn't have an array of percentiles");
}

void compile_ordered(Compiler *compiler, CompiledQuery *compiled, const Aggref *aggregate, Argument argument,
                     Result *result) {
    if (!is_ordered(compiler, aggregate, &argument)) {
        refuse(&compiler->refusal, "values are ordered otherwise than the engine orders them");
        return;
    }
    result->argument = argument.value;
    if (aggregate->aggfnoid == F_MODE) {
        result->value = accumulate(compiled, AccumulatorKind::mode, argument.value.step, argument.filter);
        return;
    }
    const auto *direct = static_cast<const Node *>(linitial(aggregate->aggdirectargs));
    const auto *constant = reinterpret_cast<const Const *>(direct);
    if (!IsA(direct, Const) || constant->constisnull)
        refuse(&compiler->refusal, "a percentile isn't a constant");
    else if (constant->consttype != FLOAT8OID)
        compile_array(compiler, compiled, aggregate, argument, DatumGetArrayTypeP(constant->constvalue),
                      result);
    else if (!is_fraction(DatumGetFloat8(constant->constvalue)))
        refuse(&compiler->refusal, "a percentile isn't between 0 and 1");
    else
        compile_percentile(compiler, compiled, aggregate, argument, DatumGetFloat8(constant->constvalue),
                           result);
}

}  // namespace pg_gpu::plan::query
