// Planning GpuJoins: all rows of a join, of which the index's table has those that pass, each found by its
// TID.
#pragma once

namespace pg_gpu::plan {

void install_join_planner();

}  // namespace pg_gpu::plan
