// Strategies of operator families besides btree's numbers.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::kary {

// Of families whose codes don't tell values, which have btree's number for `=` alone. With an operator that
// has btree's number for `<` the planner would take the index for ordered.
enum LossyStrategy : StrategyNumber {
    kLossyLess = 6,  // in the order of the type's default operator class for btree
    kLossyLessEqual,
    kLossyGreaterEqual,
    kLossyGreater,
    kBytesLess,  // ~<~ and the like, which compare bytes whatever the collation
    kBytesLessEqual,
    kBytesGreaterEqual,
    kBytesGreater,
    kLike,
    kStartsWith,
};

inline constexpr StrategyNumber kMaxStrategies = kStartsWith;

// Returns the number that btree gives the comparison; InvalidStrategy for what isn't btree's.
constexpr StrategyNumber btree_strategy(StrategyNumber strategy) {
    switch (strategy) {
        case kLossyLess:
            return BTLessStrategyNumber;
        case kLossyLessEqual:
            return BTLessEqualStrategyNumber;
        case BTEqualStrategyNumber:
            return BTEqualStrategyNumber;
        case kLossyGreaterEqual:
            return BTGreaterEqualStrategyNumber;
        case kLossyGreater:
            return BTGreaterStrategyNumber;
        default:
            return InvalidStrategy;
    }
}

}  // namespace pg_gpu::kary
