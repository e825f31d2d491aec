#include "plan/query/choice.h"

#include "compat.h"
#include "plan/query/distinct_on.h"
#include "plan/query/engine_plan.h"
#include "plan/query/given_rows.h"
#include "plan/query/grouping_sets.h"
#include "plan/query/groups.h"
#include "plan/query/members.h"
#include "plan/query/node.h"
#include "plan/query/path.h"
#include "plan/query/unnest.h"
#include "plan/query/windowed_rows.h"
#include "plan/query/value_table.h"
#include "settings.h"

namespace pg_gpu::plan::query {

static create_upper_paths_hook_type previous_hook = nullptr;
static set_rel_pathlist_hook_type previous_table_hook = nullptr;

// Why nothing is asked of the table, though the statement is of the right kind.
static const char *refuse_relation(PlannerInfo *root, const RelOptInfo *input) {
    if (!query_enabled())
        return "pg_gpu.enable_query is off";
    if (IS_DUMMY_REL(const_cast<RelOptInfo *>(input)))
        return "no row can pass the conditions";
    return input->reloptkind == RELOPT_JOINREL || has_any_index(root, input) || is_nested(root, input)
               ? nullptr
           : is_parent_table(root, input) ? "no partition or child has a gpu_column index"
                                          : "the table has no gpu_column index";
}

// ---- groups -----------------------------------------------------------------------------------------------

// Can the engine tell a group's values from others, where PostgreSQL can't hash them?
static bool are_hashable(const TableAggregate &table) {
    ListCell *cell;
    foreach (cell, table.clauses) {
        const auto *clause = lfirst_node(SortGroupClause, cell);
        const Oid type =
            exprType(get_sortgroupclause_expr(const_cast<SortGroupClause *>(clause), table.columns));
        if (!clause->hashable && (!OidIsValid(clause->sortop) || !is_hashable(clause->eqop, type)))
            return false;
    }
    return true;
}

// Of grouping sets each is a node of its own. The replaced path sorts where aggregates or groups need that,
// and else hashes.
static const char *refuse_clauses(const TableAggregate &table) {
    if (table.root->parse->groupingSets != NIL && groups_by_equals(table))
        return "grouping sets have an expression twice";
    if (table.root->numOrderedAggs > 0)
        return grouping_is_sortable(table.clauses) ? nullptr : "a grouping column can't be sorted";
    return are_hashable(table) ? nullptr : "a grouping column can't be hashed";
}

static const char *consider_table(TableAggregate table) {
    const char *refused = refuse_clauses(table);
    if (refused != nullptr)
        return refused;
    if ((table.input->reloptkind == RELOPT_JOINREL || is_parent_table(table.root, table.input) ||
         is_nested(table.root, table.input)) &&
        !begin_joined_query(&table))
        return nullptr;
    if (table.root->parse->groupingSets != NIL)
        consider_sets(table, consider_query);
    else
        consider_query(table);
    return nullptr;
}

// Adds paths; returns why there are none of this kind of statement.
static const char *consider_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                                   const GroupPathExtraData *extra) {
    const char *refused = refuse_groups(root, input);
    if (refused == nullptr)
        refused = refuse_relation(root, input);
    return refused != nullptr ? refused : consider_table(groups_of(root, input, output, extra));
}

static const char *consider_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    const bool has_on = root->parse->hasDistinctOn;
    const char *refused = has_on ? nullptr : refuse_statement(root, input);
    if (refused == nullptr)
        refused = refuse_relation(root, input);
    return refused != nullptr ? refused
           : has_on           ? consider_distinct_on(root, input, output)
                              : consider_table(distinct_rows_of(root, input, output));
}

// ---- first rows -------------------------------------------------------------------------------------------

static const char *consider_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    const char *refused = refuse_relation(root, input);
    if (refused == nullptr)
        consider_first_rows(root, input, output);
    return refused;
}

static const char *consider_windowed(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    const char *refused = refuse_relation(root, input);
    return refused != nullptr ? refused : consider_windows(root, input, output);
}

static void consider_relation(PlannerInfo *root, RelOptInfo *relation, Index number, RangeTblEntry *entry) {
    if (previous_table_hook != nullptr)
        previous_table_hook(root, relation, number, entry);
    if (relation->reloptkind == RELOPT_BASEREL && entry->rtekind == RTE_RELATION && !entry->inh &&
        !IS_DUMMY_REL(relation)) {
        consider_passing_rows(root, relation);
        consider_sorted_rows(root, relation);
    }
}

// ---- the hook ---------------------------------------------------------------------------------------------

// Where groups or windows are sorted or made distinct, the table is others' business.
static bool is_of_table(PlannerInfo *root, const RelOptInfo *input) {
    return input->reloptkind == RELOPT_JOINREL ||
           (input->reloptkind == RELOPT_BASEREL &&
            (input->rtekind == RTE_RELATION || is_nested(root, input)));
}

static void consider_stage(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output,
                           void *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, stage, input, output, extra);
    if ((stage == UPPERREL_WINDOW || stage == UPPERREL_DISTINCT) && is_parent_table(root, input) &&
        !IS_DUMMY_REL(input))
        consider_sorted_members(root, input, output);
    // Those of groups are planned as windows of a subquery's rows (nest_groups).
    const bool is_of_windows = stage == UPPERREL_WINDOW && is_of_table(root, input);
    const bool is_distinct = stage == UPPERREL_DISTINCT && input->reloptkind != RELOPT_UPPER_REL;
    const bool is_of_first_rows = stage == UPPERREL_ORDERED && root->parse->limitCount != nullptr &&
                                  root->sort_pathkeys != NIL && is_of_table(root, input);
    if (output->pathlist == NIL ||
        (stage != UPPERREL_GROUP_AGG && !is_distinct && !is_of_first_rows && !is_of_windows))
        return;
    note_other_paths(root, output);
    const char *refused =
        is_distinct        ? consider_distinct(root, input, output)
        : is_of_first_rows ? consider_rows(root, input, output)
        : is_of_windows    ? consider_windowed(root, input, output)
                           : consider_groups(root, input, output, static_cast<GroupPathExtraData *>(extra));
    if (refused != nullptr)
        note_declined({query_path_methods()->CustomName, root, input, output, InvalidOid}, refused);
}

void install_query_planner() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = consider_stage;
    previous_table_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = consider_relation;
    install_engine_planner();
    install_unnesting();
}

}  // namespace pg_gpu::plan::query
