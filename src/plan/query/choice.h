// Which node is offered for a statement's groups: a GpuAggregate, or a GpuQuery.
#pragma once

namespace pg_gpu::plan {

void install_aggregate_planner();

}  // namespace pg_gpu::plan
