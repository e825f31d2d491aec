// Calls that expressions over one column are ranged by (aggregate_ranged.h): which functions, of which
// constants beside the column.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::plan {

// What the arguments besides the column must be: constants of these kinds.
enum class CallPattern : uint8 {
    Alone,
    Exact,      // alone, too, but hardly two values have the same result
    Scaled,     // the same: the column may be divided by a constant
    Rounding,   // alone, too: the column may be divided by a constant
    Digits,     // the same, with a number of digits behind it
    Divisor,    // of integers: a positive one behind it
    Shift,      // an interval behind it that is as long whenever it begins
    DayShift,   // the same, of days, too, if clocks never jump
    Unit,       // of date_trunc
    Field,      // of extract: one that grows with time
    DateField,  // of extract: any that a date has; not ranged
    TimeField,  // the same, and those of hours and minutes; not ranged
    Precision,  // digits of seconds
    Stride,     // of date_bin, with an origin
    Buckets,    // of width_bucket
    Zone,       // its name, in front
    UnitAndZone,
    Format,  // of to_char; not ranged
};

struct KnownFunction {
    Oid function;
    CallPattern pattern;
    bool is_local;  // it computes with local time, by the session's or a named time zone
};

// Of these two tables: functions by which values of a column have ranges, and others that are known not to
// fail of such a function's results; nullptr: it is in neither.
const KnownFunction *find_function(Oid function);
const KnownFunction *find_function_of_results(Oid function);

// From fine to coarse. Each one's periods are made of whole periods of the ones before it, but that only days
// and what is shorter make up weeks, and months aren't made of weeks.
inline constexpr const char *const kUnits[] = {"milliseconds", "second", "minute",  "hour",
                                               "day",          "week",   "month",   "quarter",
                                               "year",         "decade", "century", "millennium"};

// Argument number i from 0 on, if it is a constant; nullptr when it isn't, or NULL.
const Const *constant_at(List *arguments, int i);

// Is the text one of these words, in whatever letters?
template <size_t count>
bool is_word(const Const *constant, const char *const (&words)[count]) {
    if (constant == nullptr)
        return false;
    char *given = TextDatumGetCString(constant->constvalue);
    bool found = false;
    for (const char *word : words)
        found = found || pg_strcasecmp(given, word) == 0;
    pfree(given);
    return found;
}

// Are the arguments besides the column what the pattern wants?
bool has_pattern(CallPattern pattern, List *arguments);

// What is divided by a constant that nothing can go wrong with; the expression itself when it is no quotient.
// A quotient's digits behind the point depend on the number, so it isn't ranged by itself.
Expr *dividend_of(Expr *expression);

// A function of the table, of nothing but constants and what `*argument` is; nullptr when it isn't.
const KnownFunction *read_known_call(Expr *expression, Expr **argument);

// Is it the column, or the column and an interval where local time never goes back?
bool is_steady(Expr *time);

// Is it the moment that a number tells? Of a time local time goes back at other values where that is rounded.
bool is_moment(Expr *time);

// Do its results never go back where the column's values go on, but where local time does?
bool is_monotone(Expr *expression);

// Do many values have the same result? Quotients of integers count if they are asked for.
bool is_coarse(Expr *expression, bool of_quotients = false);

}  // namespace pg_gpu::plan
