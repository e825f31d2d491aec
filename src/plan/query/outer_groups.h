// Sub-selects that are computed for each row, wherever they stand, as
//     SELECT id, (SELECT count(*) FROM piece WHERE piece.k = part.k) FROM part
// which become groups that are joined by an outer join: a row without a group has what the aggregate gives of
// no rows.
//     SELECT id, CASE WHEN g.k IS NULL THEN 0 ELSE g.n END
//     FROM part LEFT JOIN (SELECT k, count(*) AS n FROM piece GROUP BY k) AS g ON g.k = part.k
// So do EXISTS and IN, which are true of a row that has a group.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

struct Joining {
    Query *query;
    bool has_index;      // has one of the query's tables one?
    bool is_null_false;  // does NULL mean what false does where the sub-select stands?
};

// What stands for the sub-select of the query's, whose tables are joined with it. nullptr: it is of another
// kind, and nothing has changed.
Node *join_sub_select(const Joining &joining, const SubLink *link);

// Could it be joined that computes an aggregate for each row?
bool is_joinable_aggregate(const SubLink *link);

}  // namespace pg_gpu::plan::query
