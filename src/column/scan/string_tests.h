// Conditions on strings that the server process evaluates, since it has the strings of runs that it has
// mirrors of: LIKE, equality and, where it is that of bytes, order.
#pragma once

#include "column/scan/cached_matches.h"
#include "column/scan/mirror.h"

namespace pg_gpu::column {

// A dictionary with fewer strings is read from pages sooner than the server answers a request about it.
inline constexpr uint64 kFewestServerStrings = 256;

// Sets match[code] to whether a run's entry matches the keys of its column. Returns false where the session
// has to find out: other operators are called, the run has few strings, or the server hasn't got them.
bool match_on_server(RemoteRows *rows, int run, const ColumnKeys &keys, uint8 *match);

}  // namespace pg_gpu::column
