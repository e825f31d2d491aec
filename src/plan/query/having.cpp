#include "plan/query/having.h"

#include <limits>

#include "compat.h"
#include "expressions.h"
#include "plan/query/accumulators.h"

namespace pg_gpu::plan::query {

// ---- the planner ------------------------------------------------------------------------------------------

static Node *over_row(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    const auto *row = static_cast<const List *>(context);
    for (int i = 0; i < list_length(row); i++)
        if (equal(list_nth(row, i), node))
            return reinterpret_cast<Node *>(makeVar(kRowVarno, static_cast<AttrNumber>(i + 1), exprType(node),
                                                    exprTypmod(node), exprCollation(node), 0));
    return mutate_expression(node, over_row, context);
}

static bool has_others(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (IsA(node, Var) && reinterpret_cast<const Var *>(node)->varno != kRowVarno)
        return true;
    if (IsA(node, Aggref) || IsA(node, GroupingFunc) || IsA(node, WindowFunc) || IsA(node, PlaceHolderVar) ||
        IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, SubLink))
        return true;
    return walk_expression(node, has_others, context);
}

Node *over_results(Node *expression, const List *row) {
    if (contain_volatile_functions(expression))
        return nullptr;
    Node *over = over_row(expression, const_cast<List *>(row));
    if (has_others(over, nullptr))
        return nullptr;
    fix_opfuncids(over);
    return over;
}

List *make_having(const TableAggregate &table, const List *row, bool *is_whole) {
    List *conditions = NIL;
    *is_whole = true;
    ListCell *cell;
    foreach (cell, table.having) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        Node *over = table.set == NIL ? over_results(condition, row) : nullptr;
        if (over != nullptr)
            conditions = lappend(conditions, over);
        else
            *is_whole = false;
    }
    return conditions;
}

// ---- the compiler -----------------------------------------------------------------------------------------

static uint16 read_column(Compiler *compiler, uint16 number) {
    return add_step(compiler->program, make_step(Operation::column, compiler->groups->types[number], number));
}

static Value value_of_sum(Compiler *compiler, const Result &result) {
    // No table has more rows.
    constexpr double max_rows = 1e13;
    const Value &argument = result.argument;
    const bool is_decimal = argument.kind == Kind::Decimal;
    Value sum = make_value(read_column(compiler, result.value), Kind::Decimal,
                           compiler->groups->types[result.value], Min(argument.limit * max_rows, kMaxInt128));
    sum.scale = is_decimal ? argument.scale : static_cast<int16>(0);
    sum.shown = is_decimal ? argument.shown : static_cast<int16>(0);
    if (sum.shown == kShownByRow)
        sum.shown_step = read_column(compiler, result.shown);
    return result.least_special == no_step
               ? sum
               : compose_sum(compiler, sum, read_column(compiler, result.least_special),
                             read_column(compiler, result.greatest_special));
}

// Where finite numbers' sum isn't, PostgreSQL raises an error: the step that divides by 0 there fails.
static Value value_of_float_sum(Compiler *compiler, const Result &result) {
    Program *program = compiler->program;
    const auto constant = [&](float8 number) { return constant_step(program, number); };
    const auto compute = [&](Operation operation, uint16 one, uint16 other) {
        return add_step(program, make_step(operation, ValueType::float64, one, other));
    };
    uint16 sum = read_column(compiler, result.value);
    const bool is_short = result.type == FLOAT4OID;
    if (is_short) {
        engine::Step rounded = make_step(Operation::float_to_float, ValueType::float64, sum);
        rounded.width = 4;
        sum = add_guarded(compiler, rounded, true);
    }
    const uint16 infinity = constant(std::numeric_limits<double>::infinity());
    const uint16 size = compute(Operation::absolute, sum, no_step);
    const uint16 is_infinite =
        add_step(program, make_step(Operation::equal, ValueType::boolean, size, infinity));
    const uint16 divisor = add_step(
        program, make_step(Operation::choose, ValueType::float64, is_infinite, constant(0), constant(1)));
    sum = add_guarded(compiler, make_step(Operation::divide, ValueType::float64, sum, divisor), true);
    Value value = make_value(sum, Kind::Float, ValueType::float64);
    value.width = is_short ? 4 : 8;
    return value;
}

static Value value_of_result(Compiler *compiler, const Result &result) {
    // Of a decimal that shows other digits in other rows, averages have other digits, too.
    const bool is_uniform = !is_numeric(result.argument) || result.argument.shown != kShownByRow;
    switch (result.kind) {
        case ResultKind::Value: {
            Value value = result.argument;
            value.step = read_column(compiler, result.value);
            value.type = compiler->groups->types[result.value];
            if (!is_uniform)
                value.shown_step = read_column(compiler, result.shown);
            value.real = no_step;
            forget_fields(&value);
            // A count has no argument that limits it.
            value.limit = value.limit > 0 ? value.limit : kMaxInt64;
            return value;
        }
        case ResultKind::Integer: {
            Value sum = widen_to(compiler, value_of_sum(compiler, result), ValueType::int64);
            sum.kind = Kind::Integer;
            sum.width = 8;
            sum.limit = kMaxInt64;
            return sum;
        }
        case ResultKind::Sum:
            return value_of_sum(compiler, result);
        case ResultKind::Average: {
            if (!is_uniform || result.least_special != no_step)
                break;
            const Value count = make_value(read_column(compiler, result.count), Kind::Decimal,
                                           compiler->groups->types[result.count], kMaxInt64);
            return divide_decimals(compiler, value_of_sum(compiler, result), count);
        }
        case ResultKind::FloatSum:
            return value_of_float_sum(compiler, result);
        case ResultKind::FloatAverage: {
            Value average = value_of_float_sum(compiler, result);
            const uint16 count = add_step(
                compiler->program,
                make_step(Operation::to_float, ValueType::float64, read_column(compiler, result.count)));
            average.step = add_guarded(
                compiler, make_step(Operation::divide, ValueType::float64, average.step, count), true);
            return average;
        }
        default:
            break;
    }
    return refuse_value(compiler, "the engine doesn't know a group's value");
}

Value compile_row_value(Compiler *compiler, const Var *value) {
    return value_of_result(compiler, compiler->groups->results[value->varattno - 1]);
}

bool may_results_fail(const CompiledQuery &compiled) {
    for (uint32 i = 0; i < compiled.result_count; i++) {
        switch (compiled.results[i].kind) {
            case ResultKind::FloatSum:
            case ResultKind::FloatAverage:
            case ResultKind::FloatMoments:
            case ResultKind::IntervalSum:
            case ResultKind::IntervalAverage:
                return true;
            default:
                break;
        }
    }
    return false;
}

void compile_having(Compiler *compiler, const List *conditions, CompiledQuery *compiled) {
    if (conditions == NIL || may_results_fail(*compiled))
        return;
    bool is_whole = true;
    uint16 all = no_step;
    compiled->having.steps = over_groups(compiler, *compiled, [&] {
        ListCell *cell;
        foreach (cell, conditions) {
            const uint16 step = compile_truth(compiler, static_cast<const Expr *>(lfirst(cell)));
            if (is_refused(compiler)) {
                compiler->refusal = {};
                is_whole = false;
                continue;
            }
            all = both(compiler, all, step);
        }
        if (all != no_step && !compiler->program->is_full) {
            uint16 *kept[] = {&all};
            drop_unused_steps(compiler->program, kept, lengthof(kept));
        }
    });
    compiled->having.filter = compiler->program->is_full ? no_step : all;
    compiled->having.is_whole = is_whole && compiled->having.filter != no_step;
    compiler->program->is_full = false;
}

}  // namespace pg_gpu::plan::query
