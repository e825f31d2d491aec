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

// Of families whose codes tell values: the column and those behind it in the index, compared with the fields
// of a row.
enum RowStrategy : StrategyNumber {
    kRowLess = 16,
    kRowLessEqual,
    kRowGreaterEqual,
    kRowGreater,
};

inline constexpr StrategyNumber kMaxStrategies = kRowGreater;

constexpr bool is_row_strategy(StrategyNumber strategy) {
    return strategy >= kRowLess;
}

// Returns the number that btree gives the comparison; InvalidStrategy for what isn't btree's.
constexpr StrategyNumber btree_strategy(StrategyNumber strategy) {
    switch (strategy) {
        case kLossyLess:
        case kRowLess:
            return BTLessStrategyNumber;
        case kLossyLessEqual:
        case kRowLessEqual:
            return BTLessEqualStrategyNumber;
        case BTEqualStrategyNumber:
            return BTEqualStrategyNumber;
        case kLossyGreaterEqual:
        case kRowGreaterEqual:
            return BTGreaterEqualStrategyNumber;
        case kLossyGreater:
        case kRowGreater:
            return BTGreaterStrategyNumber;
        default:
            return InvalidStrategy;
    }
}

// Returns the number of the comparison of rows that btree has under a number.
constexpr StrategyNumber row_strategy(StrategyNumber strategy) {
    for (StrategyNumber candidate = kRowLess; candidate <= kRowGreater; candidate++)
        if (btree_strategy(candidate) == strategy)
            return candidate;
    return InvalidStrategy;
}

}  // namespace pg_gpu::kary
