// `x NOT IN (SELECT y …)` as a join. PostgreSQL looks rows up in a hash table of the sub-select's, or goes
// through all of these for each row where the table has no room in work_mem. The same is that nothing matches
// and the test is known (in_sub_select.h), of which the first is a join, and the sub-selects of the other
// don't depend on the row.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// Adds the conditions that stand for this one. False: it is of another kind.
bool replace_not_in(Node *condition, List **conditions);

}  // namespace pg_gpu::plan::query
