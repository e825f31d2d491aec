#include "plan/query/nested_groups.h"

#include "compat.h"
#include "plan/query/grouping_sets.h"
#include "plan/query/given_rows.h"
#include "plan/query/having.h"
#include "plan/query/windows.h"

namespace pg_gpu::plan::query {

// ---- the planner ------------------------------------------------------------------------------------------

// With windows, groups are a subquery's of its own (nest_groups).
static bool is_last_stage(const TableAggregate &groups) {
    const Query *query = groups.root->parse;
    const bool is_distinct = query->distinctClause != NIL;
    return query->hasWindowFuncs || query->hasDistinctOn
               ? groups.given != nullptr && groups.given->windows != NIL &&
                     query->hasWindowFuncs != query->hasDistinctOn && is_distinct == query->hasDistinctOn
               : groups.given == nullptr && !(is_distinct && (query->hasAggs || query->groupClause != NIL));
}

bool is_nestable(const TableAggregate &groups) {
    const Query *query = groups.root->parse;
    return is_last_stage(groups) && groups.set == NIL && groups.root->parent_root != nullptr &&
           groups.root->qual_security_level == 0 && query->setOperations == nullptr &&
           query->limitCount == nullptr && query->limitOffset == nullptr;
}

bool make_group_expressions(const TableAggregate &groups, const List *row, List **having, List **columns) {
    bool is_whole;
    *having = make_having(groups, row, &is_whole);
    *columns = NIL;
    ListCell *cell;
    foreach (cell, groups.root->processed_tlist) {
        const auto *entry = lfirst_node(TargetEntry, cell);
        Node *column = below_grouping(groups.root, reinterpret_cast<Node *>(entry->expr));
        if (!entry->resjunk)
            *columns = lappend(*columns, over_results(column, row));
        is_whole = is_whole && (entry->resjunk || llast(*columns) != nullptr);
    }
    return is_whole;
}

bool add_groups(const TableAggregate &groups, const ReadTables &tables, int scope, TreeNode *node,
                Refusal *refusal) {
    TableAggregate over = groups;
    over.read = &tables;
    over.scope = scope;
    AggregateQuery query;
    List *row;
    bool is_late;
    if (!make_any_query(over, nullptr, &query, &row, &is_late, refusal))
        return false;
    if (!make_group_expressions(groups, row, &node->having, &node->columns)) {
        refuse(refusal, "a subquery's column isn't of its groups alone");
        return false;
    }
    node->keys = query.keys;
    node->key_operators = query.key_operators;
    node->aggregates = query.aggregates;
    node->windows = query.windows;
    return true;
}

// ---- the compiler -----------------------------------------------------------------------------------------

// Rows of a group may show a key, or one of distinct values, in several ways, and one must be shown.
static bool may_look_different(const CompiledQuery &query) {
    for (uint32 i = 0; i < query.result_count; i++)
        if (query.results[i].least_shown != no_step || query.results[i].least_sign != no_step ||
            query.results[i].distinct_values != no_step)
            return true;
    return false;
}

// With the filter, which there is before.
static void compile_columns(Compiler *compiler, const List *columns, CompiledGroups *groups) {
    const auto count = static_cast<size_t>(list_length(columns));
    groups->values = allocate_zeroed<Value>(count + 1);
    groups->shown = allocate_zeroed<uint16>(count + 1);
    auto **kept = allocate<uint16 *>(2 * count + 1);
    uint32 kept_count = 0;
    kept[kept_count++] = &groups->filter;
    for (size_t i = 0; i < count && !is_refused(compiler); i++) {
        Value *value = &groups->values[i];
        *value = compile(compiler, static_cast<const Expr *>(list_nth(columns, static_cast<int>(i))));
        if (value->kind == Kind::Interval && value->shown == kShownByRow)
            refuse(&compiler->refusal, "a subquery's intervals may look different");
        groups->shown[i] = is_numeric(*value) && value->shown == kShownByRow ? value->shown_step : no_step;
        kept[kept_count++] = &value->step;
        kept[kept_count++] = &groups->shown[i];
    }
    if (!is_refused(compiler))
        drop_unused_steps(compiler->program, kept, kept_count);
}

bool compile_group_columns(Compiler *compiler, const List *having, const List *columns,
                           CompiledGroups *groups) {
    if (may_look_different(groups->query)) {
        refuse(&compiler->refusal, "equal grouping columns of a subquery may look different");
        return false;
    }
    if (having != NIL && may_results_fail(groups->query)) {
        refuse(&compiler->refusal, "HAVING of a subquery may hide an error");
        return false;
    }
    groups->column_steps = over_groups(compiler, groups->query, [&] {
        groups->filter = compile_conditions(compiler, having);
        compile_columns(compiler, columns, groups);
    });
    return !is_refused(compiler);
}

// A member's rows, with the conditions of the node below.
static const CompiledGroups *compile_member(Compiler *compiler, const TreeNode &node,
                                            const List *conditions) {
    auto *rows = allocate_zeroed<CompiledGroups>(1);
    const NodeSteps before = begin_node_steps(compiler->program);
    rows->filter = compile_conditions(compiler, conditions);
    compile_columns(compiler, node.columns, rows);
    rows->steps = begin_node_steps(compiler->program, before);
    return is_refused(compiler) ? nullptr : rows;
}

const CompiledGroups *compile_nested(Compiler *compiler, const QueryTree &tree, int number) {
    const TreeNode &node = tree.nodes[number];
    if (node.kind == TreeKind::Rows)
        return compile_member(compiler, node, tree.nodes[node.probed].conditions);
    auto *groups = allocate_zeroed<CompiledGroups>(1);
    const NodeSteps before = begin_node_steps(compiler->program);
    const bool is_compiled = compile_groups(compiler,
                                            {{},
                                             node.keys,
                                             node.key_operators,
                                             node.aggregates,
                                             order_of_windows(node.windows),
                                             node.windows},
                                            tree.nodes[node.probed].conditions, &groups->query) &&
                             order_windows(compiler, groups->query, node.windows);
    groups->steps = begin_node_steps(compiler->program, before);
    return is_compiled && compile_group_columns(compiler, node.having, node.columns, groups) ? groups
                                                                                             : nullptr;
}

// A column of the scan's, which groups stand for.
static uint16 read_column(Compiler *compiler, const Var *column, SourceKind kind, ValueType type,
                          Kind result) {
    const uint16 place = add_source(compiler->program, begin_source(kind, column, type, result));
    return add_step(compiler->program, make_step(Operation::column, type, place));
}

Value compile_groups_column(Compiler *compiler, const Var *column) {
    const CompiledGroups &groups = *compiler->nested[column->varno - 1 - compiler->table_count];
    Value value = groups.values[column->varattno - 1];
    value.step = read_column(compiler, column, SourceKind::Own, value.type, value.kind);
    value.real = no_step;
    value.interval = nullptr;
    if (groups.shown[column->varattno - 1] != no_step)
        value.shown_step = read_column(compiler, column, SourceKind::Shown, ValueType::int64, Kind::Integer);
    return value;
}

}  // namespace pg_gpu::plan::query
