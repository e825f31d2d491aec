// What ORDER BY and LIMIT ask for, where they can be a GpuQuery's.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// Is it an operator of the type's own order? *descending tells which way.
bool is_own_order(Oid operator_oid, Oid type, bool *descending);

// How many rows LIMIT and OFFSET want together; 0: that isn't known, or they are too many.
int64 wanted_rows(const Query *query);

}  // namespace pg_gpu::plan
