// Strategy numbers of gpu_text's operators.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::text {

inline constexpr StrategyNumber kMatchStrategy = 1;  // tsvector @@ tsquery, text @@@ gpu.bm25_query
inline constexpr StrategyNumber kDistanceStrategy =
    2;  // tsvector <=> gpu.bm25_query, text <@> gpu.bm25_query
// text gpu.@@? gpu.bm25_query: true of every row, but of the index's entries only of those that match. So the
// index can be read before the policies of row security have been checked.
inline constexpr StrategyNumber kMayMatchStrategy = 3;
inline constexpr int kMaxStrategies = 3;

}  // namespace pg_gpu::text
