// generate_series in FROM, whose rows a GpuQuery may take as an input.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// May the call raise an error? Series of integers, dates and moments can't where their bounds and steps are
// ordinary ones.
bool may_series_fail(const FuncExpr *call);

}  // namespace pg_gpu::plan::query
