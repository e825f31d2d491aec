// Comparisons of rows, as (a, b) < (1, 2), as conditions of gpu_kary's indexes.
#pragma once

namespace pg_gpu::plan {

void register_row_comparisons();

}  // namespace pg_gpu::plan
