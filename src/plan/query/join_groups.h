// Reading a joined table by its own gpu_column index: its rows as groups of the columns that are wanted of
// them.
#pragma once

#include "plan/query/join_path.h"

namespace pg_gpu::plan {

// A path that gives what `rows` does, without rows that are alike: of a joined table with at most one row a
// key there are none, and a semi or anti join doesn't care. nullptr: there is no such path, or no cheaper
// one.
Path *find_grouped_path(PlannerInfo *root, const JoinTreeTable &joined, const Path *rows);

}  // namespace pg_gpu::plan
