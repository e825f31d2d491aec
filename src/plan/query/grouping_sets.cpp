#include "plan/query/grouping_sets.h"

#include "compat.h"
#include "plan/query/failure.h"

namespace pg_gpu::plan {

// ---- a set ------------------------------------------------------------------------------------------------

// A list of the keys that are left out and one of the references (tleSortGroupRef) of those that are not; the
// latter as an integer list, which is NIL for the set of no keys.
static List *pack_set(List *absent, List *references) {
    return list_make2(absent, references);
}

List *absent_keys(const List *set) {
    return set == NIL ? NIL : static_cast<List *>(linitial(set));
}

namespace {

struct Replacement {
    const List *row;
    const List *absent;
    const List *references;
};

}  // namespace

// A bit for each argument, the first one the highest: is it left out?
static int32 number_of_grouping(const GroupingFunc *grouping, const List *references) {
    uint32 number = 0;
    ListCell *cell;
    foreach (cell, grouping->refs)
        number = number << 1 | (list_member_int(references, lfirst_int(cell)) ? 0 : 1);
    return static_cast<int32>(number);
}

static Node *replace_absent(Node *node, void *context) {
    const auto *replacement = static_cast<Replacement *>(context);
    if (node == nullptr || IsA(node, Aggref) || list_member(replacement->row, node))
        return node;
    if (IsA(node, GroupingFunc)) {
        const int32 number =
            number_of_grouping(reinterpret_cast<const GroupingFunc *>(node), replacement->references);
        return reinterpret_cast<Node *>(
            makeConst(INT4OID, -1, InvalidOid, sizeof(int32), Int32GetDatum(number), false, true));
    }
    if (list_member(replacement->absent, node))
        return reinterpret_cast<Node *>(makeNullConst(exprType(node), exprTypmod(node), exprCollation(node)));
    return mutate_expression(node, replace_absent, context);
}

List *of_set(List *expressions, const List *row, const List *set) {
    if (set == NIL)
        return expressions;
    Replacement replacement = {row, absent_keys(set), static_cast<const List *>(lsecond(set))};
    return reinterpret_cast<List *>(replace_absent(reinterpret_cast<Node *>(expressions), &replacement));
}

// ---- paths ------------------------------------------------------------------------------------------------

// The clauses whose references a set has; the other keys go to *absent.
static List *clauses_of_set(const TableAggregate &table, const List *references, List **absent) {
    List *clauses = NIL;
    ListCell *cell;
    foreach (cell, table.clauses) {
        auto *clause = lfirst_node(SortGroupClause, cell);
        if (list_member_int(references, static_cast<int>(clause->tleSortGroupRef)))
            clauses = lappend(clauses, clause);
        else
            *absent = lappend(*absent, get_sortgroupclause_expr(clause, table.columns));
    }
    return clauses;
}

// Can no group of the set pass HAVING, whatever its rows are? GROUPING() and the keys that are left out are
// constants of the set.
static bool is_excluded(const TableAggregate &one) {
    List *keys = get_sortgrouplist_exprs(one.clauses, one.columns);
    ListCell *cell;
    foreach (cell, of_set(one.having, keys, one.set)) {
        auto *condition = static_cast<Node *>(lfirst(cell));
        // An error would be raised too early, or though there is no group.
        if (may_fail(condition))
            continue;
        condition = eval_const_expressions(one.root, condition);
        if (!IsA(condition, Const))
            continue;
        const auto *constant = reinterpret_cast<const Const *>(condition);
        if (constant->constisnull || !DatumGetBool(constant->constvalue))
            return true;
    }
    return false;
}

// An aggregate of one set. Its groups stand beside the query's own.
static TableAggregate aggregate_of_set(const TableAggregate &table, List *references) {
    List *absent = NIL;
    auto *groups = makeNode(RelOptInfo);
    groups->reloptkind = RELOPT_UPPER_REL;
    groups->relids = table.output->relids;
    groups->reltarget = table.output->reltarget;
    TableAggregate one = table;
    one.output = groups;
    one.clauses = clauses_of_set(table, references, &absent);
    one.set = pack_set(absent, references);
    return one;
}

// The cheapest node of a set; nullptr when there is none.
static Path *make_set_path(const TableAggregate &one, bool (*offer)(const TableAggregate &)) {
    offer(one);
    if (one.output->pathlist == NIL)
        return nullptr;
    set_cheapest(one.output);
    return one.output->cheapest_total_path;
}

bool groups_by_equals(const TableAggregate &table) {
    const List *keys = get_sortgrouplist_exprs(table.clauses, table.columns);
    for (int i = 0; i < list_length(keys); i++)
        for (int j = 0; j < i; j++)
            if (equal(list_nth(keys, i), list_nth(keys, j)))
                return true;
    return false;
}

bool consider_sets(const TableAggregate &table, bool (*offer)(const TableAggregate &)) {
    List *paths = NIL;
    ListCell *cell;
    // The planner has expanded them: each is a list of references.
    foreach (cell, table.root->parse->groupingSets) {
        const TableAggregate one = aggregate_of_set(table, static_cast<List *>(lfirst(cell)));
        if (is_excluded(one))
            continue;
        Path *path = make_set_path(one, offer);
        if (path == nullptr)
            return false;
        // EXPLAIN names what is sorted above after the first path: it should have as many keys as any.
        paths = lcons(path, paths);
    }
    if (paths != NIL)
        add_path(table.output, append_paths(table.root, table.output, paths));
    return paths != NIL;
}

}  // namespace pg_gpu::plan
