// The kinds of requests that access methods make of the server process. The rooms between know a kind as a
// number and by its RequestCost alone.
#pragma once

#include "cost/cost.h"

namespace pg_gpu::client {

enum class RequestKind : int {
    LookupKary,
    RangeKary,
    CountKary,
    CountGrid,
    SearchGrid,
    MatchGrid,
    CountColumn,
    CountColumnValues,
    MatchColumn,
    SearchText,
    CountText,
    IntersectText,
    MergeColumnDictionaries,
    RunQuery,
};

}  // namespace pg_gpu::client
