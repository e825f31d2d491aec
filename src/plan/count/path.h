// Between the planning and the execution of count scans.
#pragma once

#include "plan/count/scan.h"

namespace pg_gpu::plan {

const CustomPathMethods *count_path_methods();

void install_count_planner();

}  // namespace pg_gpu::plan
