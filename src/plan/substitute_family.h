// PostGIS's functions are asked about an index as if it were one of GiST's.
#pragma once

namespace pg_gpu::plan {

void register_substitute_families();

}  // namespace pg_gpu::plan
