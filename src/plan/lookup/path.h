// Between the planning and the execution of lookup joins.
#pragma once

#include "plan/lookup/join.h"

namespace pg_gpu::plan {

// What path and plan carry in custom_private: {index, function}, as OIDs.
const CustomPathMethods *lookup_path_methods();
// What EXPLAIN calls the node of a call that isn't joined.
const char *lookup_scan_name();

void install_lookup_planner();

}  // namespace pg_gpu::plan
