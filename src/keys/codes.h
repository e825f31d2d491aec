// This header says which codes a comparison with a constant leaves.
#pragma once

#include "keys/instant.h"
#include "keys/strategy.h"

namespace pg_gpu::keys {

// A range of a column's codes includes both ends.
template <typename Code>
struct CodeRange {
    Code low;
    Code high;
    bool empty;
};

template <typename Code>
constexpr CodeRange<Code> intersect(const CodeRange<Code> &a, const CodeRange<Code> &b) {
    const CodeRange<Code> both = {Max(a.low, b.low), Min(a.high, b.high), a.empty || b.empty};
    return {both.low, both.high, both.empty || both.low > both.high};
}

// Returns the codes, ascending, that a btree strategy leaves beside a constant.
template <typename Code>
inline CodeRange<Code> codes_for(StrategyNumber strategy, const Place<Code> &place, int width) {
    CodeRange<Code> range = {0, low_bits<Code>(width), false};
    switch (strategy) {
        case BTLessStrategyNumber:
            range.high = place.below;
            range.empty = !place.any_below;
            break;
        case BTLessEqualStrategyNumber:
            if (place.any_above)
                range.high = static_cast<Code>(place.above - 1);
            range.empty = place.any_above && place.above == 0;
            break;
        case BTEqualStrategyNumber:
            if (place.any_below)
                range.low = static_cast<Code>(place.below + 1);
            if (place.any_above)
                range.high = static_cast<Code>(place.above - 1);
            // The constant lies between two codes, or outside of all of them.
            range.empty = (place.any_below && place.below == low_bits<Code>(width)) ||
                          (place.any_above && place.above == 0) || range.low > range.high;
            break;
        case BTGreaterEqualStrategyNumber:
            if (place.any_below)
                range.low = static_cast<Code>(place.below + 1);
            range.empty = place.any_below && place.below == low_bits<Code>(width);
            break;
        case BTGreaterStrategyNumber:
            range.low = place.above;
            range.empty = !place.any_above;
            break;
        default:
            raise_unknown_strategy(strategy);
    }
    return range;
}

// Returns the strategy that codes answer for one on values whose codes are Rounded: values on both sides of
// the constant may have its code.
inline StrategyNumber strategy_on_rounded(StrategyNumber strategy) {
    switch (strategy) {
        case BTLessStrategyNumber:
            return BTLessEqualStrategyNumber;
        case BTGreaterStrategyNumber:
            return BTGreaterEqualStrategyNumber;
        default:
            return strategy;
    }
}

inline int64 integer_from_datum(Datum value, Oid type) {
    switch (type) {
        case INT2OID:
            return DatumGetInt16(value);
        case INT4OID:
            return DatumGetInt32(value);
        default:
            return DatumGetInt64(value);
    }
}

// Says where a constant lies among a column's ascending codes.
template <typename Key>
inline Place<Bits<Key>> encode_tid(const KeyColumn &column, Datum value, Oid type) {
    using Code = Bits<Key>;
    switch (column.type) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
            return place_of_integer<Code>(integer_from_datum(value, type), column.width);
        case FLOAT4OID:
            if (type == FLOAT8OID)
                return place_of_double_in_floats<Code>(DatumGetFloat8(value));
            break;
        case FLOAT8OID:
            if (type == FLOAT4OID)
                return place_at<Code>(static_cast<Code>(encode_float(double{DatumGetFloat4(value)})),
                                      column.width);
            break;
        case DATEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return place_of_instant<Code>(column, value, type);
        default:
            break;
    }
    return place_at<Code>(encode_exact<Key>(column, value), column.width);
}

}  // namespace pg_gpu::keys
