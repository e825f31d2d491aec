#include "plan/query/offer.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/columns.h"
#include "plan/query/entries.h"
#include "plan/query/inputs.h"
#include "plan/query/members.h"
#include "plan/query/path.h"

namespace pg_gpu::plan::query {

// nullptr: the query is of one table without members.
static const ReadTable *find_read(const Offer &offer, int table) {
    return offer.table->read == nullptr ? nullptr : &offer.table->read->tables[table];
}

static bool has_members(const ReadTable *table) {
    return table != nullptr && table->members != nullptr;
}

TableIndexes indexes_of(const ReadTable &table) {
    const int most = table.members != nullptr ? table.members->count : 1;
    auto **indexes = allocate<const IndexOptInfo *>(static_cast<size_t>(most));
    int count = 0;
    if (table.index != nullptr)
        indexes[count++] = table.index;
    for (int i = 0; table.members != nullptr && i < most; i++)
        if (const IndexOptInfo *index = table.members->members[i].index)
            indexes[count++] = index;
    return {indexes, count};
}

List *names_of(const ReadTable &table) {
    const RangeTblEntry *entry = planner_rt_fetch(table.relation->relid, table.root);
    List *names = list_make1(makeString(entry->eref->aliasname));
    if (table.members != nullptr)
        return list_concat(names, entry->eref->colnames);
    for (int i = 0; table.index == nullptr && i < list_length(table.rows->pathtarget->exprs); i++) {
        const auto *column = list_nth_node(Var, table.rows->pathtarget->exprs, i);
        names = lappend(
            names, makeString(get_rte_attribute_name(const_cast<RangeTblEntry *>(entry), column->varattno)));
    }
    return names;
}

List *names_of(const ReadGroups &groups) {
    const RangeTblEntry *entry = planner_rt_fetch(groups.relation->relid, groups.root);
    return lcons(makeString(entry->eref->aliasname), list_copy(entry->eref->colnames));
}

// ---- expressions ------------------------------------------------------------------------------------------

static Node *replace_columns(Node *node, void *context) {
    if (node == nullptr)
        return nullptr;
    if (!IsA(node, Var))
        return mutate_expression(node, replace_columns, context);
    const auto *var = reinterpret_cast<const Var *>(node);
    const auto *offer = static_cast<const Offer *>(context);
    if (var->varno > offer->table_count) {
        const ReadGroups &groups = offer->table->read->groups[var->varno - 1 - offer->table_count];
        return reinterpret_cast<Node *>(makeVar(static_cast<int>(groups.relation->relid), var->varattno,
                                                var->vartype, var->vartypmod, var->varcollid, 0));
    }
    const ReadTable *table = find_read(*offer, var->varno - 1);
    if (has_members(table))
        return reinterpret_cast<Node *>(makeVar(static_cast<int>(table->relation->relid), var->varattno,
                                                var->vartype, var->vartypmod, var->varcollid, 0));
    const TableIndexes &own = offer->tables[var->varno - 1];
    const void *column =
        own.count == 0 ? list_nth(table->rows->pathtarget->exprs, var->varattno - 1)
                       : list_nth_node(TargetEntry, own.indexes[0]->indextlist, var->varattno - 1)->expr;
    return static_cast<Node *>(copyObjectImpl(column));
}

Node *over_statement(const Offer &offer, Node *expression) {
    return replace_columns(expression, const_cast<Offer *>(&offer));
}

ExpressionSource source_of(const Offer &offer, Node *expression) {
    List *columns = pull_var_clause(
        expression, PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS | PVC_RECURSE_PLACEHOLDERS);
    const int number = columns == NIL ? 1 : linitial_node(Var, columns)->varno;
    if (number > offer.table_count)
        return {0, InvalidOid};
    const TableIndexes &own = offer.tables[number - 1];
    // Nothing has an input's columns by which they could be shown, or those of a table with members.
    if (own.count == 0 || has_members(find_read(offer, number - 1)))
        return {0, InvalidOid};
    return {static_cast<Index>(number), own.indexes[0]->indexoid};
}

// ---- columns ----------------------------------------------------------------------------------------------

static IndexColumns columns_of(const IndexOptInfo &index) {
    return {index.opfamily, index.indexcollations};
}

// Of an index that is only proposed, too.
static const ColumnFacts *find_facts(const IndexOptInfo &index) {
    if (index.hypothetical)
        return guess_input_facts(get_tlist_exprs(index.indextlist, true));
    Relation relation = index_open(index.indexoid, NoLock);
    const ColumnFacts *facts = read_index_facts(relation, *column::make_format(relation));
    index_close(relation, NoLock);
    return facts;
}

static const ColumnFacts *find_facts_of_members(const Members &members, TreeNode *node) {
    const auto count = static_cast<size_t>(members.count);
    auto **facts = allocate<const ColumnFacts *>(count);
    auto *numbers = allocate<MemberColumns>(count);
    auto *indexed = allocate<IndexColumns>(count);
    auto *indexed_numbers = allocate<MemberColumns>(count);
    int indexes = 0;
    for (int i = 0; i < members.count; i++) {
        const MemberTable &member = members.members[i];
        numbers[i] = member.columns;
        if (member.index == nullptr) {
            facts[i] = guess_input_facts(member.rows->pathtarget->exprs);
            continue;
        }
        facts[i] = find_facts(*member.index);
        indexed[indexes] = columns_of(*member.index);
        indexed_numbers[indexes++] = member.columns;
    }
    List *by_code = NIL;
    List *others = NIL;
    divide_common_conditions(node->conditions, indexed, indexed_numbers, indexes, &by_code, &others);
    node->conditions = others;
    return combine_facts(facts, numbers, members.count, members.attributes);
}

const ColumnFacts *find_table_facts(const Offer &offer, TreeNode *node) {
    const ReadTable *read = find_read(offer, node->table);
    if (has_members(read))
        return find_facts_of_members(*read->members, node);
    const TableIndexes &own = offer.tables[node->table];
    if (own.count == 0)
        return guess_input_facts(read->rows->pathtarget->exprs);
    List *by_code = NIL;
    List *others = NIL;
    divide_conditions(node->conditions, columns_of(*own.indexes[0]), &by_code, &others);
    node->conditions = others;
    return find_facts(*own.indexes[0]);
}

// ---- for the executor -------------------------------------------------------------------------------------

List *plans_of_inputs(const ReadTables &tables) {
    List *plans = NIL;
    for (int i = 0; i < tables.count; i++) {
        const ReadTable &table = tables.tables[i];
        if (table.rows != nullptr)
            plans = lappend(plans, table.rows);
        for (int k = 0; table.members != nullptr && k < table.members->count; k++)
            if (table.members->members[k].rows != nullptr)
                plans = lappend(plans, table.members->members[k].rows);
    }
    return plans;
}

List *pack_all_members(const ReadTables &tables) {
    List *members = NIL;
    bool is_any_parent = false;
    for (int i = 0; i < tables.count; i++) {
        members = lappend(members, pack_members(tables.tables[i].root, tables.tables[i].members));
        is_any_parent = is_any_parent || tables.tables[i].members != nullptr;
    }
    return is_any_parent ? members : NIL;
}

}  // namespace pg_gpu::plan::query
