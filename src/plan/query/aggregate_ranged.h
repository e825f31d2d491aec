// Which expressions can be computed of a column whose values hardly ever repeat: those that depend on a
// *ranged* expression over it only. That is one that has the same result for all values between two which
// have the same result, as `date_trunc('day', at)` has: its results change at a few places, which can be
// found by looking at values of one's own choice.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// The ranged part of an expression over one column that doesn't depend on the column otherwise, and in which
// nothing can fail for values that check_values (aggregate_ranges.h) lets pass; nullptr when there is none.
// Of what comes again and again, as `extract(month FROM at)`, it is an expression that has ranges of its own
// for each time that it comes: `date_trunc('month', at)`.
Expr *find_ranged(Expr *expression);

// Is all that its results depend on the column's value and the time zone? For an expression of which
// find_ranged has found the ranged part.
bool depends_on_zone_at_most(Expr *expression);

// Is it of width_bucket, which raises an error for NaN, and has few results whatever the values are?
bool has_buckets(Expr *ranged);

// The time zone that its results depend on, in which local time goes back now and then: it is ranged only
// between those moments. nullptr: none. False: the zone isn't known.
bool find_zone(Expr *ranged, const pg_tz **zone);

// The moments of numbers that it computes with; nullptr: it doesn't.
Expr *find_moment(Expr *ranged);

// Finite timestamps between these are valid whatever they are cut down to, in each time zone: from the year 2
// on, and some thousand years below the last one.
inline constexpr int64 kFirstRangedTimestamp = INT64CONST(-729754) * USECS_PER_DAY;
inline constexpr int64 kLastRangedTimestamp = END_TIMESTAMP - INT64CONST(1500000) * USECS_PER_DAY;

}  // namespace pg_gpu::plan
