// `GROUP BY … ORDER BY keys`: groups come in the order of their keys, so that nothing above the node sorts
// them. Keys are compared as the codes that groups already have. Where codes don't tell the order, or memory
// has no room, the groups' rows are sorted as PostgreSQL's Sort does.
#pragma once

#include "compat.h"
#include "plan/query/aggregate_path.h"
#include "plan/query/aggregate_results.h"

namespace pg_gpu::plan {

// The order in which the statement wants the groups, for the query, and as pathkeys. Both are NIL where it
// isn't one of grouping keys alone, and where others put the groups together.
List *choose_order(const TableAggregate &table, List **pathkeys);

// What groups are sorted by: one of the query's keys, by an operator.
struct OrderKey {
    int key;
    Oid operator_oid;  // what comes before what
    Oid collation;
    bool nulls_first;
};
int count_order_keys(const List *order);
OrderKey order_key(const List *order, int number);

// A group, and what it is sorted by.
struct GroupPlace {
    uint64 code;
    uint64 group;
};

// An answer's groups in order; all zeros where the statement wants none.
struct OrderedGroups {
    GroupPlace *place;  // of which the first `sorted` are in order, and come before the others
    uint64 sorted;
    Tuplesortstate *rows;  // instead of places: rows of keys and aggregates
};

// Puts the answer's groups in order by their codes, in the current memory context. False: that can't be.
bool order_by_codes(const AggregateQuery &query, const AggregateOutput &output, size_t memory,
                    OrderedGroups *ordered);

// The group at a place in the order.
uint64 group_at(OrderedGroups *ordered, uint64 place, uint64 groups);

// For rows of keys and aggregates.
Tuplesortstate *begin_row_sort(const AggregateQuery &query, TupleDesc row);

}  // namespace pg_gpu::plan
