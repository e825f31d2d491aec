// Planning a GpuSearch: `SELECT …, body <@> 'words' FROM … WHERE … ORDER BY body <@> 'words' LIMIT …`. The
// node stands on gpu_text's ordered index scan, whose scores it shows, and may have a bitmap of the table's
// other indexes tell which rows are wanted at all.
#include "plan/search/path.h"

#include "access_methods.h"
#include "compat.h"
#include "plan/bitmap_rows.h"
#include "plan/advise/explain_why.h"
#include "plan/search/more_paths.h"
#include "settings.h"

namespace pg_gpu::plan {

static set_rel_pathlist_hook_type previous_hook = nullptr;

// The cost of taking a row out of the bitmap and looking its document up in the lists, in operators.
static constexpr double kOperatorsPerCandidate = 12;

static constexpr double kShareOfScan = 0.99;

// ---- which paths ------------------------------------------------------------------------------------------

static bool is_table(const RelOptInfo *relation, const RangeTblEntry *entry) {
    return (relation->reloptkind == RELOPT_BASEREL || relation->reloptkind == RELOPT_OTHER_MEMBER_REL) &&
           entry->rtekind == RTE_RELATION && !entry->inh;
}

// Returns the table's ordered scans of gpu_text, each of which is a path for all rows.
static List *find_ordered_scans(const RelOptInfo *relation) {
    List *found = NIL;
    ListCell *cell;
    foreach (cell, relation->pathlist) {
        auto *path = static_cast<IndexPath *>(lfirst(cell));
        if (IsA(path, IndexPath) && path->indexorderbys != NIL && path->path.param_info == nullptr &&
            find_access_method(path->indexinfo) == &gpu_text)
            found = lappend(found, path);
    }
    return found;
}

static bool is_other_index(const IndexOptInfo *index) {
    return find_access_method(index) != &gpu_text;
}

// ---- what they cost ---------------------------------------------------------------------------------------

// Returns how many rows the scan reads to return one, where no bitmap says which of them are wanted.
static double rows_read(const IndexPath *scan) {
    return clamp_row_est(scan->indexselectivity * scan->indexinfo->rel->tuples);
}

// Does the index have none of the words that are asked for? A scan that finds nothing has no scores to show,
// and making a node ready for it takes longer than the scan: of many partitions, few may have the words.
static bool finds_nothing(const IndexPath *scan) {
    return scan->indexselectivity == 0;
}

// Estimates how many rows the scan will have to give until LIMIT has what it takes; with a bitmap it gives
// hardly any others.
static double rows_wanted(const PlannerInfo *root, const CustomPath *path, const IndexPath *scan) {
    const double taken = Max(root->limit_tuples, 0);
    return list_length(path->custom_paths) > 1 ? taken : taken * rows_read(scan) / path->path.rows;
}

static CustomPath *make_path(PlannerInfo *root, RelOptInfo *relation, IndexPath *scan, Path *bitmap) {
    auto *path = makeNode(CustomPath);
    path->path.pathtype = T_CustomScan;
    path->path.parent = relation;
    path->path.pathtarget = relation->reltarget;
    path->path.pathkeys = scan->path.pathkeys;
    path->path.parallel_safe = scan->path.parallel_safe;
    path->path.rows = scan->path.rows;
    add_disabled_nodes(&path->path, &scan->path);
    path->path.startup_cost = scan->path.startup_cost;
    Cost rest = scan->path.total_cost - scan->path.startup_cost;
    path->custom_paths = list_make1(scan);
    if (bitmap != nullptr) {
        Cost bitmap_cost;
        Selectivity selectivity;
        cost_bitmap_tree_node(castNode(BitmapHeapPath, bitmap)->bitmapqual, &bitmap_cost, &selectivity);
        const double candidates = clamp_row_est(selectivity * relation->tuples);
        path->path.startup_cost += bitmap_cost + candidates * kOperatorsPerCandidate * cpu_operator_cost;
        rest *= Min(candidates / rows_read(scan), 1.0);
        path->path.parallel_safe = path->path.parallel_safe && bitmap->parallel_safe;
        path->custom_paths = lappend(path->custom_paths, bitmap);
        add_disabled_nodes(&path->path, bitmap);
    }
    // The scores that are not computed again are charged to the target list of every path alike, later. A
    // little less than the scan is enough to be taken in its place.
    path->path.total_cost = path->path.startup_cost + rest * kShareOfScan;
    path->custom_private = list_make1(makeFloat(psprintf("%.0f", rows_wanted(root, path, scan))));
    path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
    path->methods = search_path_methods();
    return path;
}

// ---- the hook ---------------------------------------------------------------------------------------------

// A condition that isn't about rows is checked above a scan, and would be so above the node's children.
static bool has_gate(const RelOptInfo *relation) {
    ListCell *cell;
    foreach (cell, relation->baserestrictinfo)
        if (lfirst_node(RestrictInfo, cell)->pseudoconstant)
            return true;
    return false;
}

static const char *refuse(const PlannerInfo *root, const RelOptInfo *relation) {
    if (!search_enabled())
        return "pg_gpu.enable_search is off";
    if (root->parse->commandType != CMD_SELECT || root->rowMarks != NIL)
        return "rows are locked or changed";
    return has_gate(relation) ? "a condition isn't about rows" : nullptr;
}

static void consider_search(PlannerInfo *root, RelOptInfo *relation, Index range_table_index,
                            RangeTblEntry *entry) {
    if (previous_hook != nullptr)
        previous_hook(root, relation, range_table_index, entry);
    if (!is_table(relation, entry))
        return;
    add_more_paths(root, relation);
    List *scans = find_ordered_scans(relation);
    if (scans == NIL)
        return;
    note_other_paths(root, relation);
    const char *refused = refuse(root, relation);
    Path *bitmap = refused == nullptr
                       ? find_bitmap(root, relation, relation->baserestrictinfo, is_other_index)
                       : nullptr;
    ListCell *cell;
    foreach (cell, scans) {
        auto *scan = static_cast<IndexPath *>(lfirst(cell));
        const Candidate candidate = {search_path_methods()->CustomName, root, relation, relation,
                                     scan->indexinfo->indexoid};
        if (refused != nullptr) {
            note_declined(candidate, refused);
            continue;
        }
        if (finds_nothing(scan)) {
            note_declined(candidate, "the index has none of the words");
            continue;
        }
        CustomPath *plain = make_path(root, relation, scan, nullptr);
        note_offered(candidate, plain);
        add_path(relation, &plain->path);
        if (bitmap == nullptr)
            continue;
        CustomPath *among = make_path(root, relation, scan, bitmap);
        note_offered(candidate, among);
        add_path(relation, &among->path);
    }
}

void install_search_planner() {
    previous_hook = set_rel_pathlist_hook;
    set_rel_pathlist_hook = consider_search;
}

}  // namespace pg_gpu::plan
