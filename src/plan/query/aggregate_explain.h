// EXPLAIN of the nodes that are answered by a program: from which indexes, and how what is computed.
#pragma once

#include "plan/query/aggregate_query.h"

namespace pg_gpu::plan {

// The node lowest on the left side of the plan, which reads the index's table.
PlanState *lowest_of(PlanState *child);

void explain_indexes(const AggregateQuery &query, ExplainState *explain);
void explain_joins(const AggregateQuery &query, ExplainState *explain);

// A sort key in words, as PostgreSQL's Sort shows it.
struct SortedBy {
    Node *expression;  // of the plan
    Oid operator_oid;
    Oid collation;
    bool nulls_first;
};
char *words_of_sort_key(const SortedBy &sorted, const CustomScanState *node, List *ancestors,
                        const ExplainState *explain);

// With VERBOSE: the conditions that codes are compared for, and the expressions that are computed once for
// each entry of a dictionary, for each range of values, and for each row. `scan` reads the index's table, and
// the joined tables' plans stand behind the first of the node's.
void explain_expressions(const AggregateQuery &query, const CustomScanState *node, const Plan *scan,
                         List *ancestors, ExplainState *explain);

}  // namespace pg_gpu::plan
