#include "plan/query/join_groups.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/aggregate_members.h"
#include "settings.h"

namespace pg_gpu::plan {

// A table of a few pages is read sooner than another path is planned.
static constexpr Cost kLeastCost = 200;

// Are rows alike to the join when their columns are equal by the types' own operators?
static bool tells_keys_apart(const JoinTreeTable &joined) {
    const Oid type = exprType(reinterpret_cast<const Node *>(joined.inner));
    return op_in_opfamily(joined.equality, lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf);
}

// Under a collation that isn't deterministic, equal strings can be different ones to the join.
static bool may_group_by(const Node *expression) {
    if (!IsA(expression, Var) || reinterpret_cast<const Var *>(expression)->varattno <= 0)
        return false;
    const Oid collation = exprCollation(expression);
    return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

// The clause of column number `reference`; nullptr: its values can't be hashed.
static SortGroupClause *group_by(const Node *expression, Index reference) {
    auto *clause = makeNode(SortGroupClause);
    clause->tleSortGroupRef = reference;
    get_sort_group_operators(exprType(expression), false, false, false, &clause->sortop, &clause->eqop,
                             nullptr, &clause->hashable);
    return OidIsValid(clause->eqop) && clause->hashable ? clause : nullptr;
}

// The table's columns that are wanted, each with a number that clauses refer to.
static PathTarget *number_columns(const PathTarget *columns) {
    PathTarget *numbered = copy_pathtarget(const_cast<PathTarget *>(columns));
    const int count = list_length(numbered->exprs);
    numbered->sortgrouprefs = allocate<Index>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++)
        numbered->sortgrouprefs[i] = static_cast<Index>(i + 1);
    return numbered;
}

// False: not all of the columns can be grouped by.
static bool make_clauses(const PathTarget *columns, List **clauses, List **targets) {
    for (int i = 0; i < list_length(columns->exprs); i++) {
        auto *column = static_cast<Node *>(list_nth(columns->exprs, i));
        SortGroupClause *clause =
            may_group_by(column) ? group_by(column, columns->sortgrouprefs[i]) : nullptr;
        if (clause == nullptr)
            return false;
        TargetEntry *target =
            makeTargetEntry(reinterpret_cast<Expr *>(column), static_cast<AttrNumber>(i + 1), nullptr, false);
        target->ressortgroupref = clause->tleSortGroupRef;
        *clauses = lappend(*clauses, clause);
        *targets = lappend(*targets, target);
    }
    return *clauses != NIL;
}

Path *find_grouped_path(PlannerInfo *root, const JoinTreeTable &joined, const Path *rows) {
    RelOptInfo *table = joined.table;
    const bool is_cheap = rows->total_cost < kLeastCost && disabled_nodes(rows) == 0;
    if (is_cheap || planner_rt_fetch(table->relid, root)->inh || !has_column_index(table) ||
        !aggregate_enabled() || !tells_keys_apart(joined))
        return nullptr;
    PathTarget *columns = number_columns(table->reltarget);
    List *clauses = NIL;
    List *targets = NIL;
    if (!make_clauses(columns, &clauses, &targets))
        return nullptr;
    TableAggregate groups = {
        root, table, make_groups(table, columns), targets, NIL, AGGSPLIT_SIMPLE, columns, clauses, NIL};
    groups.is_part = true;
    if (!consider_table(groups))
        return nullptr;
    set_cheapest(groups.output);
    Path *cheapest = groups.output->cheapest_total_path;
    cheapest->rows = rows->rows;
    return compare_path_costs(cheapest, const_cast<Path *>(rows), TOTAL_COST) < 0 ? cheapest : nullptr;
}

}  // namespace pg_gpu::plan
