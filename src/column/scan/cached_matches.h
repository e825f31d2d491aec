// Matches that a session keeps for statements to come (cached_results.h): the codes of a run's dictionary
// that match a column's keys, and the run's rows that have them.
#pragma once

#include "column/scan/condition.h"
#include "column/format/format.h"

namespace pg_gpu::column {

// One column's keys among those that are to be applied.
struct ColumnKeys {
    int column;
    const Key **keys;
    int count;
};

// Returns a bit for each code, also for those that a damaged page or a NULL may have; nullptr: they aren't
// cached. Good until the transaction ends.
const uint64 *use_matching_codes(RunReader *reader, const ColumnKeys &keys);

// Keeps what a byte for each code says, and returns it as use_matching_codes; nullptr: there is no room.
const uint64 *cache_matching_codes(RunReader *reader, const ColumnKeys &keys, const uint8 *match,
                                   uint64 changes);

// Are those of keys, and may they be cached?
bool are_rows_cached(const RunReader &reader, const ColumnKeys &keys);

// Returns a bit for each row. That of a NULL means nothing. Good until others are cached.
const uint64 *find_matching_rows(RunReader *reader, const ColumnKeys &keys);
void cache_matching_rows(RunReader *reader, const ColumnKeys &keys, const uint64 *rows, uint64 changes);

}  // namespace pg_gpu::column
