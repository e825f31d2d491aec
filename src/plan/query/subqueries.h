// Sub-selects that a column's values are looked for in, as `x NOT IN (SELECT …)` does. PostgreSQL's plan
// keeps their rows in a hash table; here they become an array, which `x = ANY (array)` has the same truth
// value of.
#pragma once

#include "plan/query/query.h"

namespace pg_gpu::plan {

// The comparison with an array of the subquery's rows, which stands for them until it is read; nullptr: there
// is no such comparison, or it takes other rows for each row of the table.
ScalarArrayOpExpr *test_of_subquery(const SubPlan *subquery);

// Puts the arrays in place of the subqueries that the query's expressions have, and takes what they need from
// *memory. Returns nullptr, or why they can't be read, in words.
const char *read_subqueries(AggregateQuery *query, EState *estate, size_t *memory);

// The parameters have other values now, so that the subqueries' rows may be others.
void note_changed_parameters(const AggregateQuery &query, EState *estate, const Bitmapset *parameters);

}  // namespace pg_gpu::plan
