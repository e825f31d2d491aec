// GROUP BY GROUPING SETS, ROLLUP and CUBE: each set is an aggregate of its own, by a
// GpuQuery, and an Append puts them one behind the other.
#pragma once

#include "plan/query/groups.h"

namespace pg_gpu::plan {

// Is an expression grouped by twice? Where a set has only one of the two, PostgreSQL's plan shows NULL for
// the other, or its value: that depends on how its nodes find expressions in each other's rows.
bool groups_by_equals(const TableAggregate &table);

// Adds a path to table.output if `offer` adds one for each of the query's grouping sets. Returns whether it
// does.
bool consider_sets(const TableAggregate &table, bool (*offer)(const TableAggregate &));

// The query's keys that a packed set leaves out; NIL has all of them.
List *absent_keys(const List *set);

// Expressions over a query's groups as they are for a set: what it leaves out is NULL, and GROUPING() a
// number. `row` are the expressions that the node computes itself. Without a set they stay as they are.
List *of_set(List *expressions, const List *row, const List *set);

}  // namespace pg_gpu::plan
