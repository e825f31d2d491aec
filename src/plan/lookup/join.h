// Joining gpu.lookup's result with its table: a custom scan that reads the rows while it looks their keys up,
// in place of a function scan, its stored result and a TID scan for each row.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// _PG_init calls it. The planner then weighs a lookup join wherever a table is joined with gpu.lookup of one
// of its indexes by ctid.
void register_lookup_join();

}  // namespace pg_gpu::plan
