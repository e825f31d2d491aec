// Sub-selects that compute an aggregate of the rows that equal a row of the statement around them, and the
// groups that they become: SELECT avg(y) AS value, k AS key1 FROM piece GROUP BY k.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan::query {

// An equality between the sub-select's rows and those around it.
struct Pair {
    OpExpr *condition;
    bool is_inner_first;
    SortGroupClause group;
};

struct Correlated {
    Query *query;  // without the pairs
    Pair *pairs;
    int count;
};

// Of a sub-select of one aggregate. False: it is of another kind, or groups that no row asks for might raise
// errors.
bool read_correlated(const Query *subselect, Correlated *correlated);

// The same of any query, which is changed.
bool read_pairs(Query *query, Correlated *correlated);

// Makes the sub-select one of groups: their keys come behind the aggregate.
Query *make_groups(const Correlated &correlated);

// A column of the groups, from 0 on, which are the statement's table of this number.
Var *column_of_groups(Index number, const Query *groups, int column);

// The conditions by which the statement's rows are joined with the groups, whose keys are columns from
// `first_key` on.
List *equalities_with_groups(const Correlated &correlated, Index number, const Query *groups,
                             int first_key = 1);

}  // namespace pg_gpu::plan::query
