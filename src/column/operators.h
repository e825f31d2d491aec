// Strategy numbers of gpu_column's operators: btree's, and those that a dictionary can answer besides.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::column {

inline constexpr StrategyNumber kNotEqualStrategy = 6;      // <>
inline constexpr StrategyNumber kFirstPatternStrategy = 7;  // ~~, !~~, ~~*, !~~*, ~, !~, ~*, !~*, ^@,
                                                            // ~<~, ~<=~, ~>=~, ~>~
inline constexpr int kMaxStrategies = 19;

}  // namespace pg_gpu::column
