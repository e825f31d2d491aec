#include "plan/query/row_values.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/in_sub_select.h"
#include "plan/query/outer_groups.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

namespace {

// A sub-select that was met, and what stands for it: itself where it is of another kind.
struct Replaced {
    const SubLink *link;
    bool is_null_false;
    Node *value;
};

struct Replacing {
    Joining joining;
    List *replaced;
    bool is_any_replaced;
    // Above groups only what is grouped by has columns of rows: such expressions, and what stands for them.
    bool is_above_groups;
    List *keys;
    List *replaced_keys;
};

}  // namespace

// Equal ones are joined once.
static Node *replace_link(Replacing *replacing, SubLink *link) {
    const bool is_null_false = replacing->joining.is_null_false;
    ListCell *cell;
    foreach (cell, replacing->replaced) {
        const auto *replaced = static_cast<const Replaced *>(lfirst(cell));
        if (replaced->is_null_false == is_null_false && equal(replaced->link, link))
            return static_cast<Node *>(copyObjectImpl(replaced->value));
    }
    auto *replaced = allocate<Replaced>(1);
    Node *value = join_sub_select(replacing->joining, link);
    replacing->is_any_replaced = replacing->is_any_replaced || value != nullptr;
    *replaced = {link, is_null_false, value != nullptr ? value : reinterpret_cast<Node *>(link)};
    replacing->replaced = lappend(replacing->replaced, replaced);
    return replaced->value;
}

// ---- expressions ------------------------------------------------------------------------------------------

static Node *replace_in(Node *node, void *context);

template <typename Tree>
static Tree *replace(Replacing *replacing, Tree *tree, bool is_null_false) {
    const bool before = replacing->joining.is_null_false;
    replacing->joining.is_null_false = is_null_false;
    auto *replaced = reinterpret_cast<Tree *>(replace_in(reinterpret_cast<Node *>(tree), replacing));
    replacing->joining.is_null_false = before;
    return replaced;
}

static Node *replace_in_case(Replacing *replacing, const CaseWhen *when) {
    auto *replaced = static_cast<CaseWhen *>(copyObjectImpl(when));
    replaced->expr = replace(replacing, when->expr, true);
    replaced->result = replace(replacing, when->result, replacing->joining.is_null_false);
    return reinterpret_cast<Node *>(replaced);
}

// What an aggregate of the query's is computed of is below groups.
static Node *replace_in_aggregate(Replacing *replacing, const Aggref *aggregate) {
    auto *replaced = static_cast<Aggref *>(copyObjectImpl(aggregate));
    replacing->is_above_groups = false;
    replaced->args = replace(replacing, aggregate->args, false);
    replaced->aggfilter = replace(replacing, aggregate->aggfilter, true);
    replacing->is_above_groups = true;
    return reinterpret_cast<Node *>(replaced);
}

static Node *replace_above_groups(Replacing *replacing, Node *node) {
    for (int i = 0; i < list_length(replacing->keys); i++)
        if (equal(list_nth(replacing->keys, i), node))
            return static_cast<Node *>(copyObjectImpl(list_nth(replacing->replaced_keys, i)));
    return IsA(node, Aggref) && reinterpret_cast<const Aggref *>(node)->agglevelsup == 0
               ? replace_in_aggregate(replacing, reinterpret_cast<const Aggref *>(node))
               : mutate_expression(node, replace_in, replacing);
}

// Is NULL of a part of the expression as good as false where it is of the whole?
static bool passes_null(const Node *node) {
    if (IsA(node, BoolExpr))
        return reinterpret_cast<const BoolExpr *>(node)->boolop != NOT_EXPR;
    if (IsA(node, CaseExpr))
        return reinterpret_cast<const CaseExpr *>(node)->arg == nullptr;
    return IsA(node, List);
}

static Node *replace_in(Node *node, void *context) {
    if (node == nullptr || IsA(node, Query))
        return node;
    check_stack_depth();
    auto *replacing = static_cast<Replacing *>(context);
    if (replacing->is_above_groups)
        return replace_above_groups(replacing, node);
    if (IsA(node, SubLink))
        return replace_link(replacing, reinterpret_cast<SubLink *>(node));
    if (IsA(node, CaseWhen))
        return replace_in_case(replacing, reinterpret_cast<const CaseWhen *>(node));
    const bool before = replacing->joining.is_null_false;
    replacing->joining.is_null_false = before && passes_null(node);
    Node *replaced = mutate_expression(node, replace_in, context);
    replacing->joining.is_null_false = before;
    return replaced;
}

// ---- WHERE ------------------------------------------------------------------------------------------------

// PostgreSQL joins rows of sub-selects that all of WHERE depends on by itself, but for those of IN that
// depend on the row.
static Node *replace_joined_link(Replacing *replacing, const SubLink *link) {
    const Levels levels = levels_of(link->subselect);
    Query *matches = link->subLinkType == ANY_SUBLINK && levels.own ? rows_that_match(link) : nullptr;
    if (matches == nullptr)
        return nullptr;
    replacing->is_any_replaced = true;
    return reinterpret_cast<Node *>(make_link(EXISTS_SUBLINK, matches));
}

static bool is_joined_by_core(const Node *condition) {
    if (IsA(condition, BoolExpr) && reinterpret_cast<const BoolExpr *>(condition)->boolop == NOT_EXPR)
        condition = static_cast<const Node *>(linitial(reinterpret_cast<const BoolExpr *>(condition)->args));
    const auto *link = reinterpret_cast<const SubLink *>(condition);
    return IsA(condition, SubLink) && link->subLinkType == EXISTS_SUBLINK;
}

static Node *replace_in_where(Replacing *replacing, Node *quals) {
    check_stack_depth();
    List *conditions = NIL;
    ListCell *cell;
    foreach (cell, make_ands_implicit(reinterpret_cast<Expr *>(quals))) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        Node *replaced = nullptr;
        if (is_andclause(condition))
            replaced = replace_in_where(replacing, condition);
        else if (IsA(condition, SubLink) &&
                 reinterpret_cast<const SubLink *>(condition)->subLinkType == ANY_SUBLINK)
            replaced = replace_joined_link(replacing, reinterpret_cast<const SubLink *>(condition));
        else if (!is_joined_by_core(condition))
            replaced = replace(replacing, condition, true);
        conditions = lappend(conditions, replaced != nullptr ? replaced : condition);
    }
    return conditions == NIL ? nullptr : reinterpret_cast<Node *>(make_ands_explicit(conditions));
}

// ---- the query --------------------------------------------------------------------------------------------

static bool has_groups(const Query *query) {
    return query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL ||
           query->havingQual != nullptr;
}

static void replace_in_keys(Replacing *replacing) {
    Query *query = replacing->joining.query;
    ListCell *cell;
    foreach (cell, query->groupClause) {
        Node *key = get_sortgroupclause_expr(lfirst_node(SortGroupClause, cell), query->targetList);
        if (!checkExprHasSubLink(key))
            continue;
        replacing->keys = lappend(replacing->keys, key);
        replacing->replaced_keys = lappend(replacing->replaced_keys, replace(replacing, key, false));
    }
    foreach (cell, query->rtable) {
        List **keys = grouped_expressions(lfirst_node(RangeTblEntry, cell));
        if (keys != nullptr)
            *keys = replace(replacing, *keys, false);
    }
}

bool join_row_values(Query *query) {
    Replacing replacing = {};
    replacing.joining = {query, has_column_index(query), false};
    query->jointree->quals = replace_in_where(&replacing, query->jointree->quals);
    if (query->hasTargetSRFs)
        return replacing.is_any_replaced;
    if (has_groups(query)) {
        replace_in_keys(&replacing);
        replacing.is_above_groups = true;
    }
    query->targetList = replace(&replacing, query->targetList, false);
    query->havingQual = replace(&replacing, query->havingQual, true);
    return replacing.is_any_replaced;
}

}  // namespace pg_gpu::plan::query
