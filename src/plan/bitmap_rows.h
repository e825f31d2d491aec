// The rows that a bitmap of a table's other indexes leaves, for nodes that find rows in an index of ours: the
// bitmap scan that PostgreSQL would plan stands below the node, which makes the bitmap and reads no row of
// it.
#pragma once

#include "table/table.h"

namespace pg_gpu::plan {

// Returns the best bitmap scan of the relation's indexes, but for those that aren't wanted, by these of its
// conditions; nullptr when there is none. It is found by the planner's own code, for a table that has no
// other scans, and checks all conditions of rows that it reads.
Path *find_bitmap(PlannerInfo *root, const RelOptInfo *relation, List *conditions,
                  bool (*is_wanted)(const IndexOptInfo *index));

// Does a scan of the index answer the condition, without a look at rows?
bool has_exact_clause(const IndexPath *path, const RestrictInfo *condition);

// Makes the bitmap of a BitmapHeapScanState, and copies it into the current memory context.
const table::RowSet *read_bitmap(PlanState *scan);

}  // namespace pg_gpu::plan
