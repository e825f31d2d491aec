// Planning a GpuSort: `SELECT … FROM … WHERE … ORDER BY … LIMIT …`. The node stands below PostgreSQL's Limit,
// which counts the rows, and gives at least those that Limit takes. Of partitions and inheritance children
// each has a node of its own, whose rows PostgreSQL's MergeAppend puts together.
#include "plan/query/sort_path.h"

#include "compat.h"
#include "plan/query/aggregate_members.h"
#include "plan/query/given_rows.h"
#include "plan/query/parameters.h"
#include "plan/query/rows_path.h"
#include "settings.h"

namespace pg_gpu::plan {

static create_upper_paths_hook_type previous_hook = nullptr;

// ---- which queries ----------------------------------------------------------------------------------------

static const char *refuse_input(PlannerInfo *root, const RelOptInfo *input) {
    if (IS_JOIN_REL(input))
        return join_enabled() ? nullptr : "pg_gpu.enable_join is off";
    const RangeTblEntry *table = planner_rt_fetch(input->relid, root);
    if (table->tablesample != nullptr)
        return "a sample is read";
    if (input->lateral_relids != nullptr)
        return "what is sorted depends on another table's rows";
    if (!table->inh && !has_column_index(input))
        return "the table has no gpu_column index";
    return nullptr;
}

// Why the statement isn't one for the node.
static const char *refuse_statement(PlannerInfo *root, RelOptInfo *input) {
    const Query *query = root->parse;
    if (query->hasTargetSRFs)
        return "a function returns a set";
    if (query->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    const char *refused = refuse_input(root, input);
    if (refused != nullptr)
        return refused;
    if (!sort_enabled())
        return "pg_gpu.enable_sort is off";
    if (IS_DUMMY_REL(input))
        return "no row can pass the conditions";
    for (Node *limit : {query->limitCount, query->limitOffset})
        if (contain_volatile_functions(limit) || contain_subplans(limit))
            return "LIMIT or OFFSET isn't the same each time";
    if (has_volatile_subquery(root))
        return "a subquery is volatile";
    return nullptr;
}

// ---- partitions and children ------------------------------------------------------------------------------

static bool is_by_index(const Path *path) {
    return IsA(path, CustomPath) &&
           reinterpret_cast<const CustomPath *>(path)->methods == sort_path_methods();
}

// How many rows Limit takes, if that is known for all times that the plan is executed; -1 otherwise.
static double count_known(const PlannerInfo *root) {
    const Query *query = root->parse;
    const auto is_known = [](const Node *count) { return count == nullptr || IsA(count, Const); };
    return is_known(query->limitCount) && is_known(query->limitOffset) &&
                   query->limitOption == LIMIT_OPTION_COUNT
               ? root->limit_tuples
               : -1;
}

// The rows of a path in order. Materialize doesn't tell how many are wanted, as MergeAppend would by itself,
// so a Limit of the member's own keeps PostgreSQL's sort from sorting more.
static Path *sort_plainly(PlannerInfo *root, RelOptInfo *member, Path *all) {
    const double count = count_known(root);
    auto *sorted = reinterpret_cast<Path *>(create_sort_path(root, member, all, root->sort_pathkeys, count));
    if (count <= 0)
        return sorted;
    Const *limit = makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(static_cast<int64>(count)),
                             false, true);
    return reinterpret_cast<Path *>(create_limit_path(root, member, sorted, nullptr,
                                                      reinterpret_cast<Node *>(limit), LIMIT_OPTION_COUNT, 0,
                                                      static_cast<int64>(count)));
}

// The cheapest path for a member's first rows, which give what the statement sorts of the whole table.
static Path *make_member_path(PlannerInfo *root, const RelOptInfo *table, RelOptInfo *member) {
    PathTarget *target = translate_target(root, table->reltarget, table->relid, member->relid);
    RelOptInfo *rows = make_groups(member, target);
    Path *all =
        reinterpret_cast<Path *>(create_projection_path(root, member, member->cheapest_total_path, target));
    add_path(rows, sort_plainly(root, member, all));
    note_other_paths(root, rows);
    if (!has_system_columns(target, member->relid))
        add_rows_paths({root, member, nullptr, rows, member, target, target, true});
    set_cheapest(rows);
    return rows->cheapest_total_path;
}

// Adds a path that merges the members' rows, if one of them has a node. MergeAppend doesn't go backward, as
// PostgreSQL's own sort would; Materialize stores the rows where a cursor may, and else passes them on.
static void add_path_of_members(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                                PathTarget *target) {
    List *paths = NIL;
    bool any_index = false;
    ListCell *cell;
    foreach (cell, live_members(root, input->relid)) {
        Path *path = make_member_path(root, input, static_cast<RelOptInfo *>(lfirst(cell)));
        any_index = any_index || is_by_index(path);
        paths = lappend(paths, path);
    }
    if (!any_index)
        return;
    Path *merged =
        reinterpret_cast<Path *>(create_merge_append_path(root, input, paths, root->sort_pathkeys, nullptr));
    merged = apply_projection_to_path(root, output, merged, target);
    add_path(output, reinterpret_cast<Path *>(create_material_path(output, merged)));
}

// ---- joins ------------------------------------------------------------------------------------------------

// Adds paths of the joined rows that come first; returns why there are none.
static const char *add_paths_of_join(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
                                     PathTarget *target) {
    const char *refused;
    ListCell *cell;
    foreach (cell, make_join_trees(root, input, &refused)) {
        const auto *tree = static_cast<const JoinTree *>(lfirst(cell));
        add_rows_paths({root, input, tree, output, output, input->reltarget, target, true});
    }
    return refused;
}

// ---- the hook ---------------------------------------------------------------------------------------------

// Adds paths; returns why there are none of this kind of statement.
static const char *consider_rows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output) {
    PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
    const char *refused = refuse_statement(root, input);
    if (refused != nullptr)
        return refused;
    if (IS_JOIN_REL(input))
        return add_paths_of_join(root, input, output, target);
    const bool has_members = planner_rt_fetch(input->relid, root)->inh;
    if (has_members && !is_any_indexed(live_members(root, input->relid)))
        return "no partition or child has a gpu_column index";
    if (has_system_columns(target, input->relid))
        return "a column of the system is wanted";
    if (has_members)
        add_path_of_members(root, input, output, target);
    else
        add_rows_paths({root, input, nullptr, output, output, input->reltarget, target, true});
    return nullptr;
}

static void consider_sort_paths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input,
                                RelOptInfo *output, void *extra) {
    if (previous_hook != nullptr)
        previous_hook(root, stage, input, output, extra);
    if (stage != UPPERREL_ORDERED || output->pathlist == NIL || root->parse->limitCount == nullptr ||
        root->sort_pathkeys == NIL)
        return;
    // What sorts groups or windows isn't a table's business, and all rows are better sorted by PostgreSQL.
    if (!IS_JOIN_REL(input) && (input->reloptkind != RELOPT_BASEREL || input->rtekind != RTE_RELATION))
        return;
    note_other_paths(root, output);
    const bool is_asked = query_setting() != QuerySetting::Off && sort_enabled() && !IS_DUMMY_REL(input) &&
                          (IS_JOIN_REL(input) ? join_enabled() : has_column_index(input));
    if (is_asked && query::consider_first_rows(root, input, output) &&
        query_setting() == QuerySetting::Always)
        return;
    const char *refused = consider_rows(root, input, output);
    if (refused != nullptr)
        note_declined({sort_path_methods()->CustomName, root, input, output, InvalidOid}, refused);
}

void install_sort_planner() {
    previous_hook = create_upper_paths_hook;
    create_upper_paths_hook = consider_sort_paths;
}

}  // namespace pg_gpu::plan
