#include "plan/bitmap_rows.h"

#include "plan/index_paths.h"

namespace pg_gpu::plan {

// ---- planning ---------------------------------------------------------------------------------------------

Path *find_bitmap(PlannerInfo *root, const RelOptInfo *relation, List *conditions,
                  bool (*is_wanted)(const IndexOptInfo *index)) {
    List *indexes = NIL;
    ListCell *cell;
    foreach (cell, relation->indexlist) {
        const auto *index = lfirst_node(IndexOptInfo, cell);
        if (!index->amhasgetbitmap || index->hypothetical || !is_wanted(index))
            continue;
        auto *bitmap_only = makeNode(IndexOptInfo);
        *bitmap_only = *index;
        bitmap_only->amhasgettuple = false;
        bitmap_only->indrestrictinfo = list_intersection(index->indrestrictinfo, conditions);
        indexes = lappend(indexes, bitmap_only);
    }
    if (indexes == NIL)
        return nullptr;
    foreach (cell, find_index_paths(root, relation, indexes, conditions)) {
        auto *path = static_cast<Path *>(lfirst(cell));
        if (IsA(path, BitmapHeapPath) && path->param_info == nullptr)
            return path;
    }
    return nullptr;
}

bool has_exact_clause(const IndexPath *path, const RestrictInfo *condition) {
    ListCell *cell;
    foreach (cell, path->indexclauses) {
        const auto *clause = lfirst_node(IndexClause, cell);
        if (clause->rinfo == condition && !clause->lossy)
            return true;
    }
    return false;
}

// ---- execution --------------------------------------------------------------------------------------------

const table::RowSet *read_bitmap(PlanState *scan) {
    auto *bitmap =
        reinterpret_cast<TIDBitmap *>(MultiExecProcNode(outerPlanState(castNode(BitmapHeapScanState, scan))));
    if (bitmap == nullptr || !IsA(bitmap, TIDBitmap))
        elog(ERROR, "a node that makes a bitmap has made none");
    const table::RowSet *rows = table::make_row_set(bitmap);
    tbm_free(bitmap);
    return rows;
}

}  // namespace pg_gpu::plan
