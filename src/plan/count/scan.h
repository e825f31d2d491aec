// Counting rows by an index without making tuples of its entries: a custom scan in place of an aggregate over
// an index scan.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// The planner weighs a count scan wherever a query without groups only counts the rows of one table, and
// conditions on an index whose access method counts (Method::count_matching) alone decide which.
void register_count_scan();

}  // namespace pg_gpu::plan
