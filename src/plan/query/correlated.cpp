#include "plan/query/correlated.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/failure.h"
#include "plan/query/inputs.h"
#include "plan/query/sub_selects.h"

namespace pg_gpu::plan::query {

static bool read_pair(Node *condition, Pair *pair) {
    if (!IsA(condition, OpExpr))
        return false;
    auto *equality = reinterpret_cast<OpExpr *>(condition);
    if (list_length(equality->args) != 2 || contain_volatile_functions(condition))
        return false;
    const Levels first = levels_of(linitial(equality->args));
    const Levels second = levels_of(lsecond(equality->args));
    const auto is_inner = [](const Levels &levels) { return levels.own && !levels.outer && !levels.further; };
    const auto is_outer = [](const Levels &levels) { return levels.outer && !levels.own && !levels.further; };
    if (!(is_inner(first) && is_outer(second)) && !(is_outer(first) && is_inner(second)))
        return false;
    pair->condition = equality;
    pair->is_inner_first = first.own;
    Node *inner =
        static_cast<Node *>(pair->is_inner_first ? linitial(equality->args) : lsecond(equality->args));
    // Rows that the grouping takes to be equal must be equal to the condition, too.
    Oid less;
    Oid equal;
    bool is_hashable;
    if (contain_subplans(inner) || checkExprHasSubLink(inner) ||
        exprCollation(inner) != equality->inputcollid)
        return false;
    get_sort_group_operators(exprType(inner), false, false, false, &less, &equal, nullptr, &is_hashable);
    if (!OidIsValid(equal) || !OidIsValid(less) || !is_hashable ||
        !op_hashjoinable(equality->opno, exprType(inner)) ||
        !equality_ops_are_compatible(equality->opno, equal))
        return false;
    pair->group = {};
    pair->group.type = T_SortGroupClause;
    pair->group.eqop = equal;
    pair->group.sortop = less;
    pair->group.hashable = is_hashable;
    return true;
}

static bool is_plain_aggregate(const Query *query) {
    return query->commandType == CMD_SELECT && query->hasAggs && !query->hasWindowFuncs &&
           !query->hasTargetSRFs && !query->hasSubLinks && !query->hasForUpdate &&
           query->groupClause == NIL && query->groupingSets == NIL && query->havingQual == nullptr &&
           query->distinctClause == NIL && query->sortClause == NIL && query->limitCount == nullptr &&
           query->limitOffset == nullptr && query->rowMarks == NIL && query->setOperations == nullptr &&
           query->cteList == NIL && list_length(query->targetList) == 1;
}

// Errors of rows that nobody asks for must not appear.
static bool may_pair_fail(const Pair &pair) {
    auto *sides = static_cast<Node *>(copyObjectImpl(pair.condition->args));
    IncrementVarSublevelsUp(sides, -1, 1);
    return may_fail(sides);
}

bool read_pairs(Query *query, Correlated *correlated) {
    if (!is_of_tables(query) || contain_volatile_functions(reinterpret_cast<Node *>(query)))
        return false;
    List *conditions = make_ands_implicit(reinterpret_cast<Expr *>(query->jointree->quals));
    List *own = NIL;
    *correlated = {query, allocate_zeroed<Pair>(static_cast<size_t>(list_length(conditions)) + 1), 0};
    ListCell *cell;
    foreach (cell, conditions) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        const Levels levels = levels_of(condition);
        if (!levels.outer && !levels.further)
            own = lappend(own, condition);
        else if (!read_pair(condition, &correlated->pairs[correlated->count]) ||
                 may_pair_fail(correlated->pairs[correlated->count++]))
            return false;
    }
    query->jointree->quals = own == NIL ? nullptr : reinterpret_cast<Node *>(make_ands_explicit(own));
    // All groups are computed, also those that no row asks for.
    const Levels left = levels_of(query);
    return correlated->count > 0 && !left.own && !left.outer && !left.further && !may_query_fail(query);
}

bool read_correlated(const Query *subselect, Correlated *correlated) {
    if (!is_plain_aggregate(subselect))
        return false;
    auto *query = static_cast<Query *>(copyObjectImpl(subselect));
    const auto *target = linitial_node(TargetEntry, query->targetList);
    const Levels of_target = levels_of(target->expr);
    return !of_target.outer && !of_target.further && read_pairs(query, correlated);
}

// ---- groups -----------------------------------------------------------------------------------------------

Query *make_groups(const Correlated &correlated) {
    Query *query = correlated.query;
    linitial_node(TargetEntry, query->targetList)->resname = pstrdup("value");
    for (int i = 0; i < correlated.count; i++) {
        const Pair &pair = correlated.pairs[i];
        auto *key = static_cast<Expr *>(copyObjectImpl(pair.is_inner_first ? linitial(pair.condition->args)
                                                                           : lsecond(pair.condition->args)));
        TargetEntry *entry =
            makeTargetEntry(key, static_cast<AttrNumber>(i + 2), psprintf("key%d", i + 1), false);
        auto *group = makeNode(SortGroupClause);
        *group = pair.group;
        group->tleSortGroupRef = entry->ressortgroupref = static_cast<Index>(i + 1);
        query->targetList = lappend(query->targetList, entry);
        query->groupClause = lappend(query->groupClause, group);
    }
    return query;
}

Var *column_of_groups(Index number, const Query *groups, int column) {
    const auto *entry = list_nth_node(TargetEntry, groups->targetList, column);
    const auto *value = reinterpret_cast<const Node *>(entry->expr);
    return makeVar(static_cast<int>(number), static_cast<AttrNumber>(column + 1), exprType(value),
                   exprTypmod(value), exprCollation(value), 0);
}

List *equalities_with_groups(const Correlated &correlated, Index number, const Query *groups, int first_key) {
    List *equalities = NIL;
    for (int i = 0; i < correlated.count; i++) {
        const Pair &pair = correlated.pairs[i];
        auto *equality = static_cast<OpExpr *>(copyObjectImpl(pair.condition));
        ListCell *inner = list_nth_cell(equality->args, pair.is_inner_first ? 0 : 1);
        ListCell *outer = list_nth_cell(equality->args, pair.is_inner_first ? 1 : 0);
        lfirst(inner) = column_of_groups(number, groups, first_key + i);
        IncrementVarSublevelsUp(static_cast<Node *>(lfirst(outer)), -1, 1);
        equalities = lappend(equalities, equality);
    }
    return equalities;
}

}  // namespace pg_gpu::plan::query
