// Between the planning and the execution of lookup joins.
#pragma once

#include "plan/lookup/join.h"

namespace pg_gpu::plan {

// Path and plan carry {index, function} in custom_private, as OIDs.
const CustomPathMethods *lookup_path_methods();
// The name in EXPLAIN of the node of a call that isn't joined.
const char *lookup_scan_name();

void install_lookup_planner();

}  // namespace pg_gpu::plan
