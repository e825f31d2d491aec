// `x IN (SELECT y …)` in terms of EXISTS and of counts:
//     EXISTS (SELECT … WHERE x = y) where it is true; else it is false, not NULL, where
//     x IS NOT NULL AND (SELECT count(*) … WHERE y IS NULL) = 0 OR (SELECT count(*) …) = 0
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

SubLink *make_link(SubLinkType type, Query *query);

Node *test_null(Node *value, NullTestType type);

// The rows of an EXISTS, without what doesn't matter to it; nullptr: they are no tables' own.
Query *rows_that_exist(const SubLink *link);

// Rows of which there is one where an ANY_SUBLINK is true. nullptr: it is of another kind.
Query *rows_that_match(const SubLink *link);

// Is an ANY_SUBLINK that isn't true false, and not NULL? nullptr: that can't be told, as of several columns.
Node *is_known(const SubLink *link);

}  // namespace pg_gpu::plan::query
