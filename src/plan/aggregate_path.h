// Between the planning and the execution of GpuAggregates.
#pragma once

#include "plan/aggregate_query.h"

namespace pg_gpu::plan {

// custom_private of a path: the packed query, the expressions of the node's own tuples, and HAVING's
// conditions.
struct AggregatePlanning {
    List *query;
    List *row;     // keys, then Aggrefs
    List *having;  // expressions
};

inline AggregatePlanning read_planning(const CustomPath *path) {
    return {static_cast<List *>(linitial(path->custom_private)),
            static_cast<List *>(lsecond(path->custom_private)),
            static_cast<List *>(lthird(path->custom_private))};
}

const CustomPathMethods *aggregate_path_methods();

void install_aggregate_planner();

}  // namespace pg_gpu::plan
