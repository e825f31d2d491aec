// Strategy numbers of gpu_text's operators.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::text {

inline constexpr StrategyNumber kMatchStrategy = 1;  // tsvector @@ tsquery, text @@@ gpu.bm25_query
inline constexpr StrategyNumber kDistanceStrategy =
    2;  // tsvector <=> gpu.bm25_query, text <@> gpu.bm25_query
inline constexpr int kMaxStrategies = 2;

}  // namespace pg_gpu::text
