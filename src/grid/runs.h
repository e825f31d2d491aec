// Storage learns of gpu_grid's runs what it must know by this kind.
#pragma once

#include "grid/format.h"

namespace pg_gpu::grid {

void set_run_callbacks(storage::RunKind *kind);

}  // namespace pg_gpu::grid
