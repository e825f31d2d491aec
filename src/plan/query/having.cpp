#include "plan/query/having.h"

#include "compat.h"
#include "expressions.h"

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
    if (IsA(node, Aggref) || IsA(node, GroupingFunc) || IsA(node, PlaceHolderVar) || IsA(node, SubPlan) ||
        IsA(node, AlternativeSubPlan) || IsA(node, SubLink))
        return true;
    return walk_expression(node, has_others, context);
}

List *make_having(const TableAggregate &table, const List *row, bool *is_whole) {
    List *conditions = NIL;
    *is_whole = true;
    ListCell *cell;
    foreach (cell, table.having) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        if (table.set == NIL && !contain_volatile_functions(condition)) {
            Node *over = over_row(condition, const_cast<List *>(row));
            if (!has_others(over, nullptr)) {
                fix_opfuncids(over);
                conditions = lappend(conditions, over);
                continue;
            }
        }
        *is_whole = false;
    }
    return conditions;
}

// ---- the compiler -----------------------------------------------------------------------------------------

namespace {

// The aggregate's columns, of which the conditions' steps read some.
struct RowColumns {
    Program *program;
    const ValueType *types;
};

}  // namespace

static uint16 read_column(const RowColumns &columns, uint16 number) {
    return add_step(columns.program, make_step(Operation::column, columns.types[number], number));
}

// Is the number that a key or an extreme has all that SQL compares?
static bool is_number(Kind kind) {
    switch (kind) {
        case Kind::Boolean:
        case Kind::Integer:
        case Kind::Decimal:
        case Kind::Float:
        case Kind::Date:
        case Kind::Timestamp:
            return true;
        default:
            return false;
    }
}

static Value value_of_sum(const RowColumns &columns, const Result &result) {
    // No table has more rows.
    constexpr double max_rows = 1e13;
    const bool is_decimal = result.argument.kind == Kind::Decimal;
    Value sum = make_value(read_column(columns, result.value), Kind::Decimal, columns.types[result.value],
                           Min(result.argument.limit * max_rows, kMaxInt128));
    sum.scale = sum.shown = is_decimal ? result.argument.scale : static_cast<int16>(0);
    return sum;
}

static Value value_of_result(Compiler *compiler, const RowColumns &columns, const Result &result) {
    // Of a decimal that shows other digits in other rows, averages have other digits, too.
    const bool is_uniform = result.argument.kind != Kind::Decimal || result.argument.shown != kShownByRow;
    switch (result.kind) {
        case ResultKind::Value: {
            if (!is_number(result.argument.kind))
                break;
            Value value = result.argument;
            value.step = read_column(columns, result.value);
            value.type = columns.types[result.value];
            value.shown = value.scale;
            value.real = no_step;
            // A count has no argument that limits it.
            value.limit = value.limit > 0 ? value.limit : kMaxInt64;
            return value;
        }
        case ResultKind::Integer: {
            Value sum = widen_to(compiler, value_of_sum(columns, result), ValueType::int64);
            sum.kind = Kind::Integer;
            sum.width = 8;
            sum.limit = kMaxInt64;
            return sum;
        }
        case ResultKind::Sum:
            return value_of_sum(columns, result);
        case ResultKind::Average: {
            if (!is_uniform)
                break;
            Value sum = value_of_sum(columns, result);
            sum.shown = result.argument.kind == Kind::Decimal ? result.argument.shown : static_cast<int16>(0);
            const Value count = make_value(read_column(columns, result.count), Kind::Decimal,
                                           columns.types[result.count], kMaxInt64);
            return divide_decimals(compiler, sum, count);
        }
        default:
            break;
    }
    return refuse_value(compiler, "the engine doesn't know a group's value");
}

Value compile_row_value(Compiler *compiler, const Var *value) {
    const CompiledQuery &compiled = *compiler->groups->compiled;
    return value_of_result(compiler, {compiler->program, compiler->groups->types},
                           compiled.results[value->varattno - 1]);
}

// PostgreSQL computes all results of a group before HAVING: an error of theirs mustn't be missed.
static bool may_fail(const CompiledQuery &compiled) {
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
    if (conditions == NIL || may_fail(*compiled))
        return;
    const uint32 columns = compiled->key_count + compiled->accumulator_count;
    auto *types = allocate<ValueType>(size_t{columns} + 1);
    for (uint32 i = 0; i < columns; i++)
        types[i] = type_of_column(*compiled, i);
    const GroupColumns groups = {compiled, types};
    const bool had_tables = compiler->has_tables;
    compiler->groups = &groups;
    compiler->has_tables = false;
    const NodeSteps before = begin_node_steps(compiler->program);
    bool is_whole = true;
    uint16 all = no_step;
    ListCell *cell;
    foreach (cell, conditions) {
        const uint16 step = compile_truth(compiler, static_cast<const Expr *>(lfirst(cell)));
        if (is_refused(compiler)) {
            compiler->refusal = {};
            is_whole = false;
            continue;
        }
        all = all == no_step ? step
                             : add_step(compiler->program,
                                        make_step(Operation::logical_and, ValueType::boolean, all, step));
    }
    if (all != no_step && !compiler->program->is_full) {
        uint16 *kept[] = {&all};
        drop_unused_steps(compiler->program, kept, lengthof(kept));
    }
    const bool is_full = compiler->program->is_full;
    compiled->having.steps = begin_node_steps(compiler->program, before);
    compiled->having.filter = is_full ? no_step : all;
    compiled->having.is_whole = is_whole && compiled->having.filter != no_step;
    compiler->program->is_full = false;
    compiler->groups = nullptr;
    compiler->has_tables = had_tables;
}

}  // namespace pg_gpu::plan::query
