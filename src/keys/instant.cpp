#include "keys/instant.h"

#include <algorithm>

namespace pg_gpu::keys {

// No time zone is this far from UTC, and no clock was ever set by this much.
static constexpr int64 kMaxOffset = 4 * USECS_PER_DAY;

// These values lie beyond all finite ones and short of infinity.
static constexpr int64 kAfterAllFinite = PG_INT64_MAX - 1;
static constexpr int64 kBeforeAllFinite = PG_INT64_MIN + 1;

static int64 clamp_overflow(int64 result, int overflow) {
    return overflow > 0 ? kAfterAllFinite : overflow < 0 ? kBeforeAllFinite : result;
}

static int64 floor_days(int64 microseconds) {
    const int64 days = microseconds / USECS_PER_DAY;
    return microseconds % USECS_PER_DAY < 0 ? days - 1 : days;
}

template <typename Code>
static Place<Code> place_among_dates(Timestamp constant) {
    constexpr int kWidth = 32;
    if (TIMESTAMP_IS_NOBEGIN(constant))
        return place_at<Code>(static_cast<Code>(encode_signed(DATEVAL_NOBEGIN, kWidth)), kWidth);
    if (TIMESTAMP_IS_NOEND(constant))
        return place_at<Code>(static_cast<Code>(encode_signed(DATEVAL_NOEND, kWidth)), kWidth);
    const int64 days = floor_days(constant);
    const auto code = static_cast<Code>(encode_signed(days, kWidth));
    return days * USECS_PER_DAY == constant ? place_at<Code>(code, kWidth) : place_after<Code>(code, kWidth);
}

// Overflown constants equal no valid timestamp, and so may take the place of one that is none.
template <typename Code>
Place<Code> place_of_instant(const KeyColumn &column, Datum value, Oid type) {
    if (column.type == DATEOID)
        return type == DATEOID
                   ? place_at<Code>(static_cast<Code>(encode_signed(DatumGetDateADT(value), 32)), 32)
                   : place_among_dates<Code>(DatumGetTimestamp(value));
    int overflow = 0;
    int64 constant = DatumGetInt64(value);
    if (type == DATEOID)
        constant = column.type == TIMESTAMPOID
                       ? date2timestamp_opt_overflow(DatumGetDateADT(value), &overflow)
                       : date2timestamptz_opt_overflow(DatumGetDateADT(value), &overflow);
    else if (type != column.type)
        constant = timestamp2timestamptz_opt_overflow(constant, &overflow);
    return place_at<Code>(static_cast<Code>(encode_signed(clamp_overflow(constant, overflow), 64)), 64);
}

template Place<uint32> place_of_instant(const KeyColumn &, Datum, Oid);
template Place<uint64> place_of_instant(const KeyColumn &, Datum, Oid);
template Place<Uint128> place_of_instant(const KeyColumn &, Datum, Oid);

static uint64 code_of_local_time(const KeyColumn &column, int64 microseconds) {
    return column.type == DATEOID ? encode_signed(floor_days(microseconds), 32)
                                  : encode_signed(microseconds, 64);
}

uint64 code_before_instant(const KeyColumn &column, int64 instant) {
    return instant < PG_INT64_MIN + kMaxOffset ? 0 : code_of_local_time(column, instant - kMaxOffset);
}

uint64 code_after_instant(const KeyColumn &column, int64 instant) {
    return instant > PG_INT64_MAX - kMaxOffset ? low_bits<uint64>(column.width)
                                               : code_of_local_time(column, instant + kMaxOffset);
}

// Computes the time that a date or timestamp shows, and the instant that it stands for in the session's time
// zone.
static int64 local_time_of(const KeyColumn &column, int64 value) {
    if (column.type != DATEOID)
        return value;
    int overflow = 0;
    const Timestamp local = date2timestamp_opt_overflow(static_cast<DateADT>(value), &overflow);
    return clamp_overflow(local, overflow);
}

static int64 instant_of(const KeyColumn &column, int64 value) {
    int overflow = 0;
    const TimestampTz instant = column.type == DATEOID
                                    ? date2timestamptz_opt_overflow(static_cast<DateADT>(value), &overflow)
                                    : timestamp2timestamptz_opt_overflow(value, &overflow);
    return clamp_overflow(instant, overflow);
}

bool passes_instant_test(const KeyColumn &column, uint64 code, const InstantTest &test) {
    const int64 value = decode_signed(code, column.width);
    const int64 local = local_time_of(column, value);
    // x < ANY (...) is decided by the greatest constant, > by the least.
    const bool wants_less = test.strategy < BTEqualStrategyNumber;
    const int64 constant = test.constants[wants_less ? test.count - 1 : 0];
    if (test.strategy != BTEqualStrategyNumber && !TIMESTAMP_NOT_FINITE(constant) &&
        !TIMESTAMP_NOT_FINITE(local)) {
        // Far from the constant the time zone doesn't matter.
        if (local < constant - kMaxOffset)
            return wants_less;
        if (local > constant + kMaxOffset)
            return !wants_less;
    }
    const int64 instant = instant_of(column, value);
    switch (test.strategy) {
        case BTLessStrategyNumber:
            return instant < constant;
        case BTLessEqualStrategyNumber:
            return instant <= constant;
        case BTEqualStrategyNumber:
            return std::binary_search(test.constants, test.constants + test.count, instant);
        case BTGreaterEqualStrategyNumber:
            return instant >= constant;
        default:
            return instant > constant;
    }
}

}  // namespace pg_gpu::keys
