// Executing GpuSearches.
#pragma once

namespace pg_gpu::plan {

void register_search_scan();

}  // namespace pg_gpu::plan
