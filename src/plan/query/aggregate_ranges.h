// Where the results of a ranged expression (aggregate_ranged.h) change: found by bisection between the least
// and the greatest value that a part has.
#pragma once

#include "column/query/aggregate_parts.h"
#include "column/scan/condition.h"
#include "plan/query/aggregate_ranged.h"

namespace pg_gpu::plan {

struct RangeRequest {
    Expr *ranged;
    Expr *expression;  // whose results are wanted
    const column::AggregatePart *part;
    const column::ColumnType *type;  // of the column
    int column;
    ExprContext *context;
    TupleTableSlot *row;  // of the index's columns, all of them NULL
    uint64 max_ranges;
    // Only values that it lets pass are looked at, if these are few of the part's (is_limited); nullptr: all
    // are.
    const column::Condition *condition;
};

// Are so few of the part's values between those that the condition lets pass that ranges of all aren't worth
// it? *least, *greatest: these values' codes, none of which may be there.
bool is_limited(const RangeRequest &request, uint64 *least, uint64 *greatest);

// Returns nullptr, or why there is a value in the part for which the expression may fail or isn't ranged.
const char *check_values(const RangeRequest &request);

// The codes of values at which ranges start, ascending, in the current memory context; `*starts` may be
// nullptr. Returns nullptr, or why there are none.
const char *find_ranges(const RangeRequest &request, uint64 **starts, uint64 *count);

}  // namespace pg_gpu::plan
