// Planning GpuSearches: rows by gpu_text's score, whatever else is asked of them.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

const CustomPathMethods *search_path_methods();

void install_search_planner();

}  // namespace pg_gpu::plan
