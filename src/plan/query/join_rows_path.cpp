// Planning a GpuJoin: all tables of a statement without groups are joined. What stands above, as a sort, a
// window or a limit, is PostgreSQL's.
#include "plan/query/join_rows_path.h"

#include "compat.h"
#include "memory.h"
#include "plan/query/given_rows.h"
#include "plan/query/parameters.h"
#include "plan/query/rows_path.h"
#include "settings.h"

namespace pg_gpu::plan {

static set_join_pathlist_hook_type previous_hook = nullptr;

// The hook comes for each pair of relations that make up the join, and paths are wanted once. The join is
// forgotten with the memory that it lies in.
static const RelOptInfo *considered = nullptr;

static void note_considered(PlannerInfo *root, const RelOptInfo *join) {
    auto *callback = static_cast<MemoryContextCallback *>(
        MemoryContextAllocZero(root->planner_cxt, sizeof(MemoryContextCallback)));
    callback->func = [](void *forgotten) {
        if (considered == forgotten)
            considered = nullptr;
    };
    callback->arg = const_cast<RelOptInfo *>(join);
    MemoryContextRegisterResetCallback(root->planner_cxt, callback);
    considered = join;
}

// With groups above it, the join is a GpuAggregate's business. A genetic search makes joins that it throws
// away.
static bool is_whole_join(PlannerInfo *root, const RelOptInfo *join) {
    const Query *query = root->parse;
    return join->reloptkind == RELOPT_JOINREL && bms_is_subset(root->all_baserels, join->relids) &&
           !query->hasAggs && query->groupClause == NIL && query->groupingSets == NIL &&
           (query->distinctClause == NIL || query->hasDistinctOn) && root->join_search_private == nullptr;
}

static bool is_any_indexed(PlannerInfo *root, const RelOptInfo *join) {
    for (int i = bms_next_member(join->relids, -1); i >= 0; i = bms_next_member(join->relids, i))
        if (root->simple_rel_array[i] != nullptr && has_column_index(root->simple_rel_array[i]))
            return true;
    return false;
}

static const char *refuse_statement(PlannerInfo *root, RelOptInfo *join) {
    if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    if (!join_enabled())
        return "pg_gpu.enable_join is off";
    if (IS_DUMMY_REL(join))
        return "no row can pass the conditions";
    return has_volatile_subquery(root) ? "a subquery is volatile" : nullptr;
}

static const char *consider_rows(PlannerInfo *root, RelOptInfo *join) {
    const char *refused = refuse_statement(root, join);
    if (refused != nullptr)
        return refused;
    ListCell *cell;
    foreach (cell, make_join_trees(root, join, &refused)) {
        const auto *tree = static_cast<const JoinTree *>(lfirst(cell));
        add_rows_paths({root, join, tree, join, join, join->reltarget, join->reltarget, false});
    }
    return refused;
}

static void consider_join(PlannerInfo *root, RelOptInfo *join, RelOptInfo *outer, RelOptInfo *inner,
                          JoinType type, JoinPathExtraData *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, join, outer, inner, type, extra);
    if (join == considered || !is_whole_join(root, join) || !is_any_indexed(root, join))
        return;
    note_considered(root, join);
    if (query_setting() == QuerySetting::Always && query::gives_joined_rows(join))
        return;
    note_other_paths(root, join);
    const char *refused = consider_rows(root, join);
    if (refused != nullptr)
        note_declined({join_path_methods()->CustomName, root, join, join, InvalidOid}, refused);
}

void install_join_planner() {
    previous_hook = set_join_pathlist_hook;
    set_join_pathlist_hook = consider_join;
}

}  // namespace pg_gpu::plan
