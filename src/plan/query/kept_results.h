// What an expression gives for the entries of a run's dictionary, where its results are values that the
// session numbers: kept for later statements, which number them anew, but don't evaluate the expression.
#pragma once

#include "column/format/format.h"
#include "plan/query/numbering.h"

namespace pg_gpu::plan::query {

// Of the source's expression over a run.
struct ResultsOfRun {
    const column::RunReader *reader;
    const Source *source;  // by the run's columns
    uint64 changes;        // column::count_changes() from before the expression is evaluated
};

// Numbers the results that are kept: values[code], and *nulls, a bit a code, if any is NULL. False: none are.
// *has_room becomes false where there are too many values.
bool number_kept_results(const ResultsOfRun &run, Numbering *numbering, uint64 *values, uint64 **nulls,
                         bool *has_room);

// Keeps results that have these numbers, unless their values are many, or might be others another time.
void keep_results(const ResultsOfRun &run, const Numbering &numbering, const uint64 *values,
                  const uint64 *nulls);

}  // namespace pg_gpu::plan::query
