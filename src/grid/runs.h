// What storage must know of gpu_grid's runs.
#pragma once

#include "grid/format.h"

namespace pg_gpu::grid {

void set_run_callbacks(storage::RunKind *kind);

}  // namespace pg_gpu::grid
