// What a GpuAggregate is to answer, as planner and executor hand it on.
#pragma once

#include "plan/explain_why.h"

namespace pg_gpu::plan {

// Of the groups only those are wanted that can be among the first ones, by an aggregate.
struct TopGroups {
    int aggregate;  // by number; -1: all groups are wanted
    int count;
    bool descending;
};

// Expressions are over one index's columns: their Vars have varno 1 and the column's number, from 1 on.
struct AggregateQuery {
    Oid index;
    List *conditions;     // all of which must hold
    List *keys;           // expressions
    List *key_operators;  // OIDs: each key's equality
    List *aggregates;     // Aggrefs
    bool has_barrier;     // must conditions keep rows from other expressions?
    TopGroups top;
};

// As nodes that can be copied, for a path and a plan.
List *pack_query(const AggregateQuery &query);
AggregateQuery unpack_query(List *packed);

// The expression with columns of the index in place of the table's; nullptr, with the reason, when it has
// others, or when it is of a kind that can't be evaluated by entries of a dictionary: volatile, with a
// subquery, of a whole row, of how a value is stored.
Node *over_index(Node *expression, const IndexOptInfo *index, Refusal *refusal);

}  // namespace pg_gpu::plan
