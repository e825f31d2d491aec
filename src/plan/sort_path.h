// Between the planning and the execution of GpuSorts.
#pragma once

#include "plan/aggregate_query.h"

namespace pg_gpu::plan {

// More rows than that are better sorted by PostgreSQL alone.
inline constexpr int64 kMaxSortedRows = 1000000;

// custom_private of a path: the packed query, whose keys are what rows are sorted by, and what else the node
// needs.
struct SortPlanning {
    List *query;
    List *expressions;  // over the table: the keys, LIMIT, and OFFSET if there is one
    bool with_ties;
    Index table;
};

inline List *pack_planning(const SortPlanning &planning) {
    return list_make4(planning.query, planning.expressions, makeBoolean(planning.with_ties),
                      makeInteger(static_cast<int>(planning.table)));
}
inline SortPlanning read_sort_planning(const List *packed) {
    return {static_cast<List *>(linitial(packed)), static_cast<List *>(lsecond(packed)),
            boolVal(lthird(packed)), static_cast<Index>(intVal(lfourth(packed)))};
}

const CustomPathMethods *sort_path_methods();

void install_sort_planner();

}  // namespace pg_gpu::plan
