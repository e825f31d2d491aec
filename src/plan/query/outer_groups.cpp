#include "plan/query/outer_groups.h"

#include "compat.h"
#include "plan/query/correlated.h"
#include "plan/query/in_sub_select.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

// ---- what is given of no rows -----------------------------------------------------------------------------

static Const *value_of_nothing(const Aggref &aggregate) {
    const bool is_count = aggregate.aggfnoid == F_COUNT_ || aggregate.aggfnoid == F_COUNT_ANY ||
                          aggregate.aggfnoid == F_REGR_COUNT;
    int16 length;
    bool by_value;
    get_typlenbyval(aggregate.aggtype, &length, &by_value);
    return makeConst(aggregate.aggtype, -1, aggregate.aggcollid, length, Int64GetDatum(0), !is_count,
                     by_value);
}

static bool has_users_aggregate(Node *node, void *context) {
    return node != nullptr && ((IsA(node, Aggref) &&
                                reinterpret_cast<const Aggref *>(node)->aggfnoid >= FirstUnpinnedObjectId) ||
                               walk_expression(node, has_users_aggregate, context));
}

static Node *without_rows(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    return IsA(node, Aggref)
               ? reinterpret_cast<Node *>(value_of_nothing(*reinterpret_cast<const Aggref *>(node)))
               : mutate_expression(node, without_rows, context);
}

// A constant; nullptr: it isn't known.
static Const *find_value_of_nothing(Node *value) {
    if (has_users_aggregate(value, nullptr))
        return nullptr;
    Node *constant = eval_const_expressions(nullptr, without_rows(value, nullptr));
    return IsA(constant, Const) ? reinterpret_cast<Const *>(constant) : nullptr;
}

// ---- the join ---------------------------------------------------------------------------------------------

static Index add_entry(Query *query, RangeTblEntry *entry) {
    query->rtable = lappend(query->rtable, entry);
    return static_cast<Index>(list_length(query->rtable));
}

static RangeTblEntry *make_join_entry() {
    auto *entry = makeNode(RangeTblEntry);
    entry->rtekind = RTE_JOIN;
    entry->jointype = JOIN_LEFT;
    entry->eref = makeAlias("unnested_join", NIL);
    entry->inFromCl = true;
    return entry;
}

// Joins all of FROM with the groups.
static void join_groups(Query *query, Index groups, Index join, List *equalities) {
    FromExpr *from = query->jointree;
    auto *reference = makeNode(RangeTblRef);
    reference->rtindex = static_cast<int>(groups);
    auto *joined = makeNode(JoinExpr);
    joined->jointype = JOIN_LEFT;
    joined->larg = list_length(from->fromlist) == 1
                       ? static_cast<Node *>(linitial(from->fromlist))
                       : reinterpret_cast<Node *>(makeFromExpr(from->fromlist, nullptr));
    joined->rarg = reinterpret_cast<Node *>(reference);
    joined->quals = reinterpret_cast<Node *>(make_ands_explicit(equalities));
    joined->rtindex = static_cast<int>(join);
    from->fromlist = list_make1(joined);
}

// What stands for the sub-select above the join.
static Node *value_above(const Query *groups, Index number, Index join, Const *of_nothing) {
    Var *value = column_of_groups(number, groups, 0);
    Var *key = column_of_groups(number, groups, 1);
    mark_nulled(value, join);
    mark_nulled(key, join);
    if (of_nothing->constisnull)
        return reinterpret_cast<Node *>(value);
    auto *test = makeNode(NullTest);
    test->arg = &key->xpr;
    test->nulltesttype = IS_NULL;
    test->location = -1;
    auto *when = makeNode(CaseWhen);
    when->expr = &test->xpr;
    when->result = &of_nothing->xpr;
    when->location = -1;
    auto *choice = makeNode(CaseExpr);
    choice->casetype = exprType(reinterpret_cast<Node *>(value));
    choice->casecollid = exprCollation(reinterpret_cast<Node *>(value));
    choice->args = list_make1(when);
    choice->defresult = &value->xpr;
    choice->location = -1;
    return reinterpret_cast<Node *>(choice);
}

// ---- sub-selects ------------------------------------------------------------------------------------------

// Joins the rows' groups. Returns their number.
static Index join_correlated(Query *query, const Correlated &correlated, Query **groups, Index *join) {
    *groups = make_groups(correlated);
    const Index number = add_entry(query, make_entry(*groups));
    *join = add_entry(query, make_join_entry());
    join_groups(query, number, *join, equalities_with_groups(correlated, number, *groups));
    return number;
}

static bool may_be_joined(const Joining &joining, const Correlated &correlated) {
    return joining.has_index || has_column_index(correlated.query);
}

static bool read_aggregate(const SubLink *link, Correlated *correlated, Const **of_nothing) {
    if (!read_correlated(castNode(Query, link->subselect), correlated))
        return false;
    const auto *target = linitial_node(TargetEntry, correlated->query->targetList);
    *of_nothing = find_value_of_nothing(reinterpret_cast<Node *>(target->expr));
    return *of_nothing != nullptr;
}

bool is_joinable_aggregate(const SubLink *link) {
    Correlated correlated;
    Const *of_nothing;
    return read_aggregate(link, &correlated, &of_nothing);
}

static Node *join_aggregate(const Joining &joining, const SubLink *link) {
    Correlated correlated;
    Const *of_nothing;
    if (!read_aggregate(link, &correlated, &of_nothing) || !may_be_joined(joining, correlated))
        return nullptr;
    Query *groups;
    Index join;
    const Index number = join_correlated(joining.query, correlated, &groups, &join);
    return value_above(groups, number, join, of_nothing);
}

// Whether a row has a group.
static Node *join_matches(const Joining &joining, Query *rows) {
    Correlated correlated;
    if (rows == nullptr || !read_pairs(rows, &correlated) || !may_be_joined(joining, correlated))
        return nullptr;
    Query *groups;
    Index join;
    const Index number = join_correlated(joining.query, correlated, &groups, &join);
    Var *key = column_of_groups(number, groups, 1);
    mark_nulled(key, join);
    return test_null(reinterpret_cast<Node *>(key), IS_NOT_NULL);
}

static CaseWhen *make_when(Node *condition, bool result) {
    auto *when = makeNode(CaseWhen);
    when->expr = reinterpret_cast<Expr *>(condition);
    when->result = reinterpret_cast<Expr *>(makeBoolConst(result, false));
    when->location = -1;
    return when;
}

// Whether a value is among others; NULL where that isn't known, if that matters.
static Node *join_values(const Joining &joining, const SubLink *link) {
    Node *known = joining.is_null_false ? nullptr : is_known(link);
    if (known == nullptr && !joining.is_null_false)
        return nullptr;
    Node *matches = join_matches(joining, rows_that_match(link));
    if (matches == nullptr || known == nullptr)
        return matches;
    auto *choice = makeNode(CaseExpr);
    choice->casetype = BOOLOID;
    choice->args = list_make2(make_when(matches, true), make_when(known, false));
    choice->defresult = reinterpret_cast<Expr *>(makeBoolConst(false, true));
    choice->location = -1;
    return reinterpret_cast<Node *>(choice);
}

Node *join_sub_select(const Joining &joining, const SubLink *link) {
    switch (link->subLinkType) {
        case EXPR_SUBLINK:
            return join_aggregate(joining, link);
        case EXISTS_SUBLINK:
            return join_matches(joining, rows_that_exist(link));
        case ANY_SUBLINK:
            return join_values(joining, link);
        default:
            return nullptr;
    }
}

}  // namespace pg_gpu::plan::query
