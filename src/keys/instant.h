// Dates and timestamps beside one another. A date stands for its midnight; beside timestamptz, dates and
// timestamps stand for instants that depend on the session's time zone, in which clocks can be set back and
// forward: later ones can be earlier instants. These comparisons are left to PostgreSQL's own functions,
// entry by entry.
#pragma once

#include "keys/column.h"

namespace pg_gpu::keys {

// An InstantTest compares a date or timestamp column with timestamptz. Such comparisons depend on the time
// zone and have no exact place among the codes, so that the rows' instants are computed and compared with
// `constants`, ascending.
struct InstantTest {
    StrategyNumber strategy;
    const int64 *constants;  // any of them may satisfy the operator
    uint32 count;
};

// Says whether this is a comparison with timestamptz that depends on the time zone.
inline bool is_instant_of_time_zone(Oid column_type, Oid type) {
    return type == TIMESTAMPTZOID && (column_type == DATEOID || column_type == TIMESTAMPOID);
}
inline bool is_instant_of_time_zone(const KeyColumn &column, Oid type) {
    return is_instant_of_time_zone(column.type, type);
}

// Says where a constant lies among the codes of a date, timestamp or timestamptz column, whatever the time
// zone.
template <typename Code>
Place<Code> place_of_instant(const KeyColumn &column, Datum value, Oid type);

// Returns a code that is below (above) every code whose instant is not before (after) a timestamptz.
uint64 code_before_instant(const KeyColumn &column, int64 instant);
uint64 code_after_instant(const KeyColumn &column, int64 instant);

bool passes_instant_test(const KeyColumn &column, uint64 code, const InstantTest &test);

}  // namespace pg_gpu::keys
