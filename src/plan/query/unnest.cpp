#include "plan/query/unnest.h"

#include "compat.h"
#include "plan/advise/explain_why.h"
#include "plan/advise/statement.h"
#include "plan/query/array_elements.h"
#include "plan/query/correlated.h"
#include "plan/query/finer_groups.h"
#include "plan/query/inlined_queries.h"
#include "plan/query/lateral.h"
#include "plan/query/lateral_rows.h"
#include "plan/query/not_in.h"
#include "plan/query/plan_trees.h"
#include "plan/query/row_values.h"
#include "plan/query/set_operations.h"
#include "plan/query/sub_selects.h"
#include "plan/query/unions.h"
#include "settings.h"

namespace pg_gpu::plan::query {

static planner_hook_type previous_hook = nullptr;

// ---- which sub-selects ------------------------------------------------------------------------------------

// Is an aggregate NULL of no rows?
static bool is_null_of_nothing(const Aggref *aggregate) {
    if (aggregate->aggfnoid >= FirstUnpinnedObjectId || aggregate->aggkind != AGGKIND_NORMAL)
        return false;
    switch (aggregate->aggfnoid) {
        case F_COUNT_:
        case F_COUNT_ANY:
        case F_REGR_COUNT:
            return false;
        default:
            return true;
    }
}

// Is the expression NULL where its aggregates are? It is made of one at least, and of strict calls.
static bool is_null_with_aggregates(const Node *node) {
    check_stack_depth();
    const List *arguments;
    switch (nodeTag(node)) {
        case T_Aggref:
            return is_null_of_nothing(reinterpret_cast<const Aggref *>(node));
        case T_RelabelType:
            return is_null_with_aggregates(
                reinterpret_cast<const Node *>(reinterpret_cast<const RelabelType *>(node)->arg));
        case T_OpExpr: {
            const auto *operation = reinterpret_cast<const OpExpr *>(node);
            if (!func_strict(get_opcode(operation->opno)))
                return false;
            arguments = operation->args;
            break;
        }
        case T_FuncExpr: {
            const auto *call = reinterpret_cast<const FuncExpr *>(node);
            if (!func_strict(call->funcid) || call->funcretset)
                return false;
            arguments = call->args;
            break;
        }
        default:
            return false;
    }
    ListCell *cell;
    foreach (cell, arguments)
        if (is_null_with_aggregates(static_cast<const Node *>(lfirst(cell))))
            return true;
    return false;
}

static const Node *value_of(const Correlated &correlated) {
    return reinterpret_cast<const Node *>(linitial_node(TargetEntry, correlated.query->targetList)->expr);
}

// Replaces the condition by conditions on the joined groups. False: it isn't one to be replaced.
static bool unnest_condition(Query *parent, Node *condition, List **conditions) {
    if (!IsA(condition, OpExpr))
        return false;
    const auto *comparison = reinterpret_cast<const OpExpr *>(condition);
    if (list_length(comparison->args) != 2 || !func_strict(get_opcode(comparison->opno)) ||
        get_op_rettype(comparison->opno) != BOOLOID)
        return false;
    const bool is_first = IsA(linitial(comparison->args), SubLink);
    auto *link = static_cast<SubLink *>(is_first ? linitial(comparison->args) : lsecond(comparison->args));
    Node *other = static_cast<Node *>(is_first ? lsecond(comparison->args) : linitial(comparison->args));
    Correlated correlated;
    if (!IsA(link, SubLink) || link->subLinkType != EXPR_SUBLINK || checkExprHasSubLink(other) ||
        contain_volatile_functions(other) ||
        !read_correlated(castNode(Query, link->subselect), &correlated) ||
        !has_column_index(correlated.query) || !is_null_with_aggregates(value_of(correlated)))
        return false;
    Query *groups = make_groups(correlated);
    parent->rtable = lappend(parent->rtable, make_entry(groups));
    const auto number = static_cast<Index>(list_length(parent->rtable));
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = static_cast<int>(number);
    parent->jointree->fromlist = lappend(parent->jointree->fromlist, reference);
    auto *replaced = static_cast<OpExpr *>(copyObjectImpl(comparison));
    lfirst(list_nth_cell(replaced->args, is_first ? 0 : 1)) = column_of_groups(number, groups, 0);
    *conditions =
        list_concat(lappend(*conditions, replaced), equalities_with_groups(correlated, number, groups));
    return true;
}

// True: something was replaced.
static bool unnest_level(Query *query) {
    if (query->commandType != CMD_SELECT || query->rowMarks != NIL || query->setOperations != nullptr ||
        query->jointree == nullptr || query->jointree->fromlist == NIL)
        return false;
    bool has_laterals = replace_lateral_aggregates(query);
    has_laterals = number_lateral_rows(query) || has_laterals;
    if (!query->hasSubLinks)
        return has_laterals;
    List *conditions = NIL;
    bool is_changed = false;
    ListCell *cell;
    foreach (cell, make_ands_implicit(reinterpret_cast<Expr *>(query->jointree->quals))) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        if (unnest_condition(query, condition, &conditions) || replace_not_in(condition, &conditions))
            is_changed = true;
        else
            conditions = lappend(conditions, condition);
    }
    if (is_changed)
        query->jointree->quals = reinterpret_cast<Node *>(make_ands_explicit(conditions));
    return join_row_values(query) || is_changed || has_laterals;
}

// True: the level is planned in another way than it is written in. Its sub-selects, and unions that it reads.
static bool rewrite_level(Query *query) {
    bool is_changed = group_set_operation(query);
    is_changed = (query->commandType == CMD_SELECT && unify_union_types(query)) || is_changed;
    is_changed = join_array_elements(query) || is_changed;
    is_changed = unnest_level(query) || is_changed;
    return group_finer(query) || is_changed;
}

namespace {

struct Rewriting {
    bool (*rewrite)(Query *level);
    bool is_changed;
};

}  // namespace

// Looks at all levels, innermost first.
static bool rewrite_levels(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return walk_expression(node, rewrite_levels, context);
    auto *query = reinterpret_cast<Query *>(node);
    walk_query(query, rewrite_levels, context, 0);
    auto *rewriting = static_cast<Rewriting *>(context);
    rewriting->is_changed = rewriting->rewrite(query) || rewriting->is_changed;
    return false;
}

// True: it is another query now.
static bool rewrite_query(Query *query, bool (*rewrite)(Query *level)) {
    Rewriting rewriting = {rewrite, false};
    rewrite_levels(reinterpret_cast<Node *>(query), &rewriting);
    return rewriting.is_changed;
}

static bool has_windows_of_groups(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return walk_expression(node, has_windows_of_groups, context);
    auto *query = reinterpret_cast<Query *>(node);
    return has_grouped_windows(query) || walk_query(query, has_windows_of_groups, context, 0);
}

// ---- the choice -------------------------------------------------------------------------------------------

static PlannedStmt *plan(Query *query, const char *text, int options, ParamListInfo parameters) {
    return previous_hook != nullptr ? previous_hook(query, text, options, parameters)
                                    : standard_planner(query, text, options, parameters);
}

static bool has_lateral_subquery(const Query *query) {
    ListCell *cell;
    foreach (cell, query->rtable)
        if (lfirst_node(RangeTblEntry, cell)->lateral)
            return true;
    return false;
}

// Sub-selects, WITH queries, what is made of several queries, functions of a table's rows, and what finer
// groups are made for.
static bool has_sub_selects(Node *node, void *context) {
    if (node == nullptr)
        return false;
    if (!IsA(node, Query))
        return walk_expression(node, has_sub_selects, context);
    auto *query = reinterpret_cast<Query *>(node);
    return query->hasSubLinks || query->cteList != NIL || query->setOperations != nullptr ||
           has_lateral_subquery(query) || has_array_elements(query) || wants_finer_groups(query) ||
           walk_query(query, has_sub_selects, context, 0);
}

// SELECT, or INSERT of what one gives.
static bool is_of_select(const Query *query) {
    bool has_subquery = false;
    ListCell *cell;
    foreach (cell, query->rtable)
        has_subquery = has_subquery || lfirst_node(RangeTblEntry, cell)->rtekind == RTE_SUBQUERY;
    return query->commandType == CMD_SELECT || (query->commandType == CMD_INSERT && has_subquery);
}

// Without a GpuQuery the plans of people who have no such index would change, too.
static bool is_better(const PlannedStmt *joined, const PlannedStmt *usual) {
    return joined->planTree->total_cost < usual->planTree->total_cost && has_node(joined);
}

// Plans the statement as it is written, and in the other ways that may be faster.
static PlannedStmt *plan_all_ways(Query *query, const char *text, int options, ParamListInfo parameters) {
    bool is_unnested = false;
    bool is_inlined = false;
    bool is_nested = false;
    Query *unnested = nullptr;
    Query *inlined = nullptr;
    Query *nested = nullptr;
    const bool is_considered = query_enabled() && is_of_select(query);
    if (is_considered && has_sub_selects(reinterpret_cast<Node *>(query), nullptr)) {
        unnested = static_cast<Query *>(copyObjectImpl(query));
        is_unnested = rewrite_query(unnested, rewrite_level);
        inlined = static_cast<Query *>(copyObjectImpl(unnested));
        is_inlined = inline_queries(inlined);
    }
    if (is_considered && has_windows_of_groups(reinterpret_cast<Node *>(query), nullptr)) {
        nested = static_cast<Query *>(copyObjectImpl(inlined != nullptr ? inlined : query));
        is_nested = rewrite_query(nested, nest_groups);
    }
    PlannedStmt *best = plan(query, text, options, parameters);
    const auto try_way = [&](bool is_way, Query *way) {
        if (!is_way)
            return;
        const Way before = set_way({way, query});
        const PlanNotes notes = put_notes_aside(query);
        PlannedStmt *planned = plan(way, text, options, parameters);
        set_way(before);
        if (is_better(planned, best))
            best = planned;
        else
            take_notes_back(query, notes);
    };
    try_way(is_unnested, unnested);
    try_way(is_inlined, inlined);
    try_way(is_nested && has_large_window(best), nested);
    if constexpr (kWindowsHaveNames)
        show_windows(best);
    return best;
}

// Is a cursor's statement planned that doesn't say whether rows are fetched backwards?
static bool is_cursor = false;

bool may_scan_backward() {
    return is_cursor;
}

static PlannedStmt *plan_statement(Query *query, const char *text, int options, ParamListInfo parameters) {
    const bool before = is_cursor;
    const Way way_before = set_way({});
    PlannedStmt *planned = nullptr;
    PG_TRY();
    {
        is_cursor = (options & CURSOR_OPT_FAST_PLAN) != 0 &&
                    (options & (CURSOR_OPT_SCROLL | CURSOR_OPT_NO_SCROLL)) == 0;
        planned = plan_all_ways(query, text, options, parameters);
    }
    PG_FINALLY();
    {
        is_cursor = before;
        set_way(way_before);
    }
    PG_END_TRY();
    return planned;
}

void install_unnesting() {
    previous_hook = planner_hook;
    planner_hook = plan_statement;
}

}  // namespace pg_gpu::plan::query
