// Scans of gpu_text's indexes that PostgreSQL doesn't offer by itself:
//
// - A bitmap scan is charged with all conditions on each row, though rows that the bitmap tells one by one
//   aren't checked by those that it was made by. With `@@@` that is more than all the rest, so the best bitmap
//   scan is offered again without.
#include "plan/search/more_paths.h"

#include "access_methods.h"
#include "plan/bitmap_rows.h"
#include "text/gpu_text.h"

namespace pg_gpu::plan {

// ---- bitmaps ----------------------------------------------------------------------------------------------

// Returns what it takes to evaluate `@@@` on a row where the bitmap was made by it.
static Cost cost_of_searches(PlannerInfo *root, const Path *bitmap) {
    Cost cost = 0;
    ListCell *cell;
    if (IsA(bitmap, BitmapAndPath)) {
        foreach (cell, reinterpret_cast<const BitmapAndPath *>(bitmap)->bitmapquals)
            cost += cost_of_searches(root, static_cast<const Path *>(lfirst(cell)));
        return cost;
    }
    if (!IsA(bitmap, IndexPath))
        return 0;
    const auto *path = reinterpret_cast<const IndexPath *>(bitmap);
    if (find_access_method(path->indexinfo) != &gpu_text)
        return 0;
    foreach (cell, path->indexclauses) {
        QualCost of_clause;
        cost_qual_eval_node(&of_clause,
                            reinterpret_cast<Node *>(lfirst_node(IndexClause, cell)->rinfo->clause), root);
        cost += of_clause.per_tuple;
    }
    return cost;
}

static bool is_any(const IndexOptInfo *) {
    return true;
}

// Adds the table's best bitmap scan, at the cost of one whose rows aren't searched again.
static void add_bitmap(PlannerInfo *root, RelOptInfo *relation) {
    Path *bitmap = find_bitmap(root, relation, relation->baserestrictinfo, is_any);
    if (bitmap == nullptr)
        return;
    Path *tree = castNode(BitmapHeapPath, bitmap)->bitmapqual;
    Cost tree_cost;
    Selectivity selectivity;
    cost_bitmap_tree_node(tree, &tree_cost, &selectivity);
    const Cost spared = cost_of_searches(root, tree) * clamp_row_est(selectivity * relation->tuples);
    if (spared == 0)
        return;
    bitmap->parent = relation;
    bitmap->total_cost = Max(bitmap->total_cost - spared, bitmap->startup_cost);
    add_path(relation, bitmap);
}

void add_more_paths(PlannerInfo *root, RelOptInfo *relation) {
    ListCell *cell;
    foreach (cell, relation->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (find_access_method(index) == &gpu_text && !index->hypothetical) {
            add_bitmap(root, relation);
            return;
        }
    }
}

}  // namespace pg_gpu::plan
