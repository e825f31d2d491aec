// The room's header: gpu_column's indexes whose columns are chosen by what statements ask for, by
// gpu.accelerate or by a background worker.
#pragma once

namespace pg_gpu::accelerate {

// _PG_init calls it while preloading: the worker then starts with PostgreSQL.
void register_columns_launcher();

}  // namespace pg_gpu::accelerate
