// EXPLAIN of what a query is answered from, and of what its rows are sorted by.
#pragma once

#include "plan/query/query.h"

namespace pg_gpu::plan {

void explain_indexes(const AggregateQuery &query, ExplainState *explain);

// A sort key in words, as PostgreSQL's Sort shows it.
struct SortedBy {
    Node *expression;  // of the plan
    Oid operator_oid;
    Oid collation;
    bool nulls_first;
};
char *words_of_sort_key(const SortedBy &sorted, const CustomScanState *node, List *ancestors,
                        const ExplainState *explain);

}  // namespace pg_gpu::plan
