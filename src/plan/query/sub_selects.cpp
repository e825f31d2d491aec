#include "plan/query/sub_selects.h"

#include "access_methods.h"
#include "compat.h"

namespace pg_gpu::plan::query {

static void note_level(Levels *levels, Index level) {
    if (static_cast<int>(level) < levels->depth)
        return;
    const int beyond = static_cast<int>(level) - levels->depth;
    levels->own = levels->own || beyond == 0;
    levels->outer = levels->outer || beyond == 1;
    levels->further = levels->further || beyond > 1;
}

static bool find_levels(Node *node, void *context) {
    auto *levels = static_cast<Levels *>(context);
    if (node == nullptr)
        return false;
    if (IsA(node, Var))
        note_level(levels, reinterpret_cast<const Var *>(node)->varlevelsup);
    if (IsA(node, Aggref))
        note_level(levels, reinterpret_cast<const Aggref *>(node)->agglevelsup);
    if (IsA(node, RangeTblEntry)) {
        const auto *entry = reinterpret_cast<const RangeTblEntry *>(node);
        if (entry->rtekind == RTE_CTE)
            note_level(levels, entry->ctelevelsup + 1);
        return false;
    }
    if (!IsA(node, Query))
        return walk_expression(node, find_levels, context);
    levels->depth++;
    const bool found =
        walk_query(reinterpret_cast<Query *>(node), find_levels, context, QTW_EXAMINE_RTES_BEFORE);
    levels->depth--;
    return found;
}

Levels levels_of(void *expression) {
    Levels levels = {};
    find_levels(static_cast<Node *>(expression), &levels);
    return levels;
}

static bool is_plain(const Query *query) {
    return query->commandType == CMD_SELECT && query->groupingSets == NIL && !query->hasWindowFuncs &&
           !query->hasTargetSRFs && query->distinctClause == NIL && query->limitCount == nullptr &&
           query->limitOffset == nullptr && query->rowMarks == NIL && query->setOperations == nullptr &&
           query->cteList == NIL;
}

bool is_of_rows(const Query *query) {
    return is_plain(query) && !query->hasAggs && query->groupClause == NIL && query->havingQual == nullptr;
}

bool is_of_groups(const Query *query) {
    return is_plain(query) && query->groupClause != NIL;
}

bool is_of_tables(const Query *query) {
    ListCell *cell;
    foreach (cell, query->rtable) {
        const auto *entry = lfirst_node(RangeTblEntry, cell);
        const bool is_table = entry->rtekind == RTE_RELATION && entry->tablesample == nullptr;
        const bool is_subquery = entry->rtekind == RTE_SUBQUERY && !entry->lateral;
        if (!is_table && !is_subquery && entry->rtekind != RTE_JOIN)
            return false;
    }
    return query->jointree->fromlist != NIL;
}

static bool has_table_with_index(Oid relation) {
    bool has_index = false;
    Relation table = table_open(relation, NoLock);
    List *indexes = table->rd_rel->relhasindex ? RelationGetIndexList(table) : NIL;
    ListCell *cell;
    foreach (cell, indexes) {
        Relation index = index_open(lfirst_oid(cell), AccessShareLock);
        has_index = has_index || find_access_method(index) == &gpu_column;
        index_close(index, NoLock);
    }
    list_free(indexes);
    table_close(table, NoLock);
    return has_index;
}

bool has_column_index(const Query *query) {
    check_stack_depth();
    ListCell *cell;
    foreach (cell, query->rtable) {
        const auto *entry = lfirst_node(RangeTblEntry, cell);
        if ((entry->rtekind == RTE_RELATION && has_table_with_index(entry->relid)) ||
            (entry->rtekind == RTE_SUBQUERY && has_column_index(entry->subquery)))
            return true;
    }
    return false;
}

RangeTblEntry *make_entry(Query *subselect) {
    auto *entry = makeNode(RangeTblEntry);
    List *names = NIL;
    ListCell *cell;
    foreach (cell, subselect->targetList)
        names = lappend(names, makeString(pstrdup(lfirst_node(TargetEntry, cell)->resname)));
    entry->rtekind = RTE_SUBQUERY;
    entry->subquery = subselect;
    entry->alias = makeAlias("unnested", NIL);
    entry->eref = makeAlias("unnested", names);
    entry->inFromCl = true;
    return entry;
}

}  // namespace pg_gpu::plan::query
