// Functions of a ranged expression's results (aggregate_ranged.h) that fail for none but too great numbers,
// as casts to integers do, and moments that an interval is added to. Whether they can follows from the least
// and the greatest value of the column.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// A column's values: numbers, or moments in seconds since 1970.
struct ValueLimits {
    double least;  // finite ones
    double greatest;
    bool has_others;  // infinities, or NaN
};

// Is it a call of such a function?
bool has_limits(Node *node);

// Can no such function fail for these values? The expression is one over a single column.
bool stays_within_limits(Expr *expression, const ValueLimits &column);

}  // namespace pg_gpu::plan
