#include "plan/query/lateral.h"

#include "compat.h"
#include "plan/query/correlated.h"
#include "plan/query/in_sub_select.h"
#include "plan/query/outer_groups.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

namespace {

// A table of the query, where it is named.
struct Named {
    Query *query;
    int table;
    int depth;         // of sub-selects
    int columns;       // columns of the table
    bool is_any_else;  // whole rows, or columns of joins
};

}  // namespace

static bool count_columns(Node *node, void *context) {
    auto *named = static_cast<Named *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Var)) {
        const auto *column = reinterpret_cast<const Var *>(node);
        if (static_cast<int>(column->varlevelsup) != named->depth)
            return false;
        const bool is_own = column->varno == named->table;
        named->columns += is_own;
        named->is_any_else = named->is_any_else || (is_own && column->varattno <= 0) ||
                             rt_fetch(column->varno, named->query->rtable)->rtekind == RTE_JOIN;
        return false;
    }
    if (!IsA(node, Query))
        return walk_expression(node, count_columns, context);
    named->depth++;
    walk_query(reinterpret_cast<Query *>(node), count_columns, context, QTW_IGNORE_JOINALIASES);
    named->depth--;
    return false;
}

static bool count_own_columns(Node *node, void *context) {
    return node != nullptr && !IsA(node, Query) &&
           (IsA(node, Var) ? count_columns(node, context)
                           : walk_expression(node, count_own_columns, context));
}

// `(SELECT column FROM …)`
static SubLink *select_column(const Query *subquery, int number) {
    auto *query = static_cast<Query *>(copyObjectImpl(subquery));
    const TargetEntry *entry = get_tle_by_resno(query->targetList, static_cast<AttrNumber>(number));
    query->targetList = list_make1(makeTargetEntry(entry->expr, 1, pstrdup("value"), false));
    return make_link(EXPR_SUBLINK, query);
}

static Node *replace_columns(Node *node, void *context) {
    if (node == nullptr || IsA(node, Query))
        return node;
    const auto *named = static_cast<const Named *>(context);
    const auto *column = reinterpret_cast<const Var *>(node);
    if (!IsA(node, Var) || column->varlevelsup != 0 || column->varno != named->table)
        return mutate_expression(node, replace_columns, context);
    return reinterpret_cast<Node *>(
        select_column(rt_fetch(named->table, named->query->rtable)->subquery, column->varattno));
}

// ---- which subqueries -------------------------------------------------------------------------------------

static bool has_joinable_columns(const Query *subquery) {
    ListCell *cell;
    foreach (cell, subquery->targetList) {
        const auto *entry = lfirst_node(TargetEntry, cell);
        if (entry->resjunk || !is_joinable_aggregate(select_column(subquery, entry->resno)))
            return false;
    }
    return subquery->targetList != NIL;
}

// Where columns may be replaced: in SELECT, WHERE, HAVING, and what is grouped by.
static List *places_of(Query *query) {
    List *places = list_make3(reinterpret_cast<Node **>(&query->targetList), &query->jointree->quals,
                              &query->havingQual);
    ListCell *cell;
    foreach (cell, query->rtable) {
        List **keys = grouped_expressions(lfirst_node(RangeTblEntry, cell));
        if (keys != nullptr)
            places = lappend(places, keys);
    }
    return places;
}

static bool is_lateral(const Query *query, const Node *item) {
    if (!IsA(item, RangeTblRef))
        return false;
    const RangeTblEntry *entry =
        rt_fetch(reinterpret_cast<const RangeTblRef *>(item)->rtindex, query->rtable);
    return entry->rtekind == RTE_SUBQUERY && entry->lateral && !entry->security_barrier;
}

static bool replace_table(Query *query, const Node *item) {
    if (!is_lateral(query, item))
        return false;
    const int table = reinterpret_cast<const RangeTblRef *>(item)->rtindex;
    if (!has_joinable_columns(rt_fetch(table, query->rtable)->subquery))
        return false;
    Named anywhere = {query, table, 0, 0, false};
    walk_query(query, count_columns, &anywhere, QTW_IGNORE_JOINALIASES);
    Named named = {query, table, 0, 0, false};
    List *places = places_of(query);
    ListCell *cell;
    foreach (cell, places)
        count_own_columns(*static_cast<Node **>(lfirst(cell)), &named);
    if (anywhere.is_any_else || anywhere.columns != named.columns)
        return false;
    foreach (cell, places) {
        auto **place = static_cast<Node **>(lfirst(cell));
        *place = replace_columns(*place, &named);
    }
    return true;
}

static bool is_true(const Node *condition) {
    const auto *constant = reinterpret_cast<const Const *>(condition);
    return condition == nullptr ||
           (IsA(condition, Const) && !constant->constisnull && DatumGetBool(constant->constvalue));
}

// No outer join above makes these columns NULL, so the conditions may be tested last.
static void move_conditions(Query *query, JoinExpr *join) {
    List *conditions = list_concat(make_ands_implicit(reinterpret_cast<Expr *>(query->jointree->quals)),
                                   make_ands_implicit(reinterpret_cast<Expr *>(join->quals)));
    query->jointree->quals =
        conditions == NIL ? nullptr : reinterpret_cast<Node *>(make_ands_explicit(conditions));
    join->quals = nullptr;
}

// What is left of a join when such subqueries on its right side are replaced.
static Node *without_tables(Query *query, Node *item, bool *is_changed) {
    check_stack_depth();
    auto *join = reinterpret_cast<JoinExpr *>(item);
    if (!IsA(item, JoinExpr) || (join->jointype != JOIN_INNER && join->jointype != JOIN_LEFT))
        return item;
    join->larg = without_tables(query, join->larg, is_changed);
    if (join->alias != nullptr || !is_lateral(query, join->rarg))
        return item;
    if (join->jointype == JOIN_INNER)
        move_conditions(query, join);
    if (!is_true(join->quals) || !replace_table(query, join->rarg))
        return item;
    *is_changed = true;
    return join->larg;
}

bool replace_lateral_aggregates(Query *query) {
    if (query->hasTargetSRFs || !has_column_index(query))
        return false;
    List *left = NIL;
    bool is_changed = false;
    ListCell *cell;
    foreach (cell, query->jointree->fromlist) {
        Node *item = without_tables(query, static_cast<Node *>(lfirst(cell)), &is_changed);
        if (replace_table(query, item))
            is_changed = true;
        else
            left = lappend(left, item);
    }
    query->jointree->fromlist = left;
    query->hasSubLinks = query->hasSubLinks || is_changed;
    return is_changed;
}

}  // namespace pg_gpu::plan::query
