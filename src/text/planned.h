// The index on a document of a statement that is being planned, to estimate by.
#pragma once

#include "text/bm25.h"

namespace pg_gpu::text {

// Opens the index of gpu_text on the expression that makes words as the query's index does, or, without a
// query, any one. Returns nullptr where there is none, or the statement may not use statistics of the table:
// its user may not read the expression, or row security hides rows. The planner holds the lock.
Relation open_index_of(PlannerInfo *root, Node *document, const Bm25Query *query);

// Returns what it takes to make words of a row's document and compare them, in operators, by the average
// document of its index; 0 where that isn't known.
double operators_per_document(PlannerInfo *root, Node *document);

}  // namespace pg_gpu::text
