#include "plan/query/choice.h"

#include "compat.h"
#include "plan/query/aggregate_path.h"
#include "plan/query/aggregate_sets.h"
#include "plan/query/engine_plan.h"
#include "plan/query/join_path.h"
#include "plan/query/path.h"
#include "plan/query/unnest.h"
#include "settings.h"

namespace pg_gpu::plan {

static create_upper_paths_hook_type previous_hook = nullptr;

// ---- the engine's query processor -------------------------------------------------------------------------

// Is it of a kind that there are GpuQueries for?
static bool is_for_engine(PlannerInfo *root, RelOptInfo *input, bool is_distinct) {
    if (refuse_statement(root, input) != nullptr || IS_DUMMY_REL(input) ||
        (is_distinct ? root->parse->hasDistinctOn : refuse_groups(root) != nullptr))
        return false;
    if (input->reloptkind == RELOPT_JOINREL)
        return join_enabled();
    return input->reloptkind == RELOPT_BASEREL && !is_parent(root, input) && has_column_index(input);
}

// True: it offers a path. `extra` is nullptr of SELECT DISTINCT.
static bool consider_engine(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                            const GroupPathExtraData *extra) {
    const bool is_distinct = extra == nullptr;
    if (!is_for_engine(root, input, is_distinct))
        return false;
    TableAggregate table =
        is_distinct ? distinct_rows_of(root, input, output, NIL) : groups_of(root, input, output, extra, NIL);
    const bool has_sets = !is_distinct && root->parse->groupingSets != NIL;
    if ((root->numOrderedAggs > 0 ? !grouping_is_sortable(table.clauses)
                                  : !grouping_is_hashable(table.clauses)) ||
        (has_sets && groups_by_equals(table)))
        return false;
    if (input->reloptkind == RELOPT_JOINREL && !query::begin_joined_query(&table))
        return false;
    return has_sets ? consider_sets(table, query::consider_query) : query::consider_query(table);
}

// ---- the choice -------------------------------------------------------------------------------------------

// Is a path one of ours, or of those that append_paths puts together?
static bool is_of_nodes(const Path *path) {
    if (!IsA(path, AppendPath))
        return IsA(path, CustomPath);
    const List *parts = reinterpret_cast<const AppendPath *>(path)->subpaths;
    return parts != NIL && IsA(linitial(parts), CustomPath);
}

static bool is_own_plan_cheapest(const RelOptInfo *output) {
    const Path *cheapest = static_cast<const Path *>(linitial(output->pathlist));
    ListCell *cell;
    foreach (cell, output->pathlist) {
        const auto *path = static_cast<const Path *>(lfirst(cell));
        if (path->total_cost < cheapest->total_cost)
            cheapest = path;
    }
    return !is_of_nodes(cheapest);
}

static void consider_aggregate_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
                                     RelOptInfo *output, void *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, stage, input, output, extra);
    // Where groups or windows are made distinct, the table is others' business.
    const bool is_distinct = stage == UPPERREL_DISTINCT && input->reloptkind != RELOPT_UPPER_REL;
    if ((stage != UPPERREL_GROUP_AGG && !is_distinct) || output->pathlist == NIL)
        return;
    note_other_paths(root, output);
    const uint64 offered = count_offered();
    const QuerySetting setting = aggregate_enabled() ? query_setting() : QuerySetting::Off;
    const auto *groups = is_distinct ? nullptr : static_cast<const GroupPathExtraData *>(extra);
    const bool comes_first =
        setting == QuerySetting::Always ||
        (setting == QuerySetting::Auto && !is_distinct && input->reloptkind == RELOPT_BASEREL &&
         has_column_index(input) && query::suits_engine(root, input));
    if (comes_first && consider_engine(root, input, output, groups))
        return;
    const char *refused =
        is_distinct ? consider_distinct(root, input, output) : consider_groups(root, input, output, groups);
    if (refused != nullptr)
        note_declined({aggregate_path_methods()->CustomName, root, input, output, InvalidOid}, refused);
    // Where GpuAggregate would cost more than PostgreSQL's own plan, the engine may still cost less. Joins
    // are only asked of it by the setting, until all engines have them.
    if (!comes_first && setting == QuerySetting::Auto &&
        (count_offered() == offered || is_own_plan_cheapest(output)))
        consider_engine(root, input, output, groups);
}

void install_aggregate_planner() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = consider_aggregate_paths;
    query::install_engine_planner();
    query::install_unnesting();
}

}  // namespace pg_gpu::plan
