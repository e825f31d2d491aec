// Between the planning and the execution of count scans.
#pragma once

#include "plan/count_scan.h"

namespace pg_gpu::plan {

// The method of the access method with this cost function, nullptr when it has none.
const CountingMethod *counting_method(amcostestimate_function estimate_cost);

const CustomPathMethods *count_path_methods();

void install_count_planner();

}  // namespace pg_gpu::plan
