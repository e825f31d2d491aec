#include "functions/numbers.h"

#include <limits>

namespace pg_gpu::functions {

NumberKind number_kind(Oid type) {
    switch (type) {
        case INT2OID:
        case INT4OID:
        case INT8OID:
            return NumberKind::Integer;
        case FLOAT4OID:
        case FLOAT8OID:
            return NumberKind::Float;
        case NUMERICOID:
            return NumberKind::Numeric;
        case DATEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return NumberKind::Instant;
        default:
            return NumberKind::None;
    }
}

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

static double timestamp_as_double(Timestamp timestamp) {
    if (TIMESTAMP_NOT_FINITE(timestamp))
        return TIMESTAMP_IS_NOBEGIN(timestamp) ? -kInfinity : kInfinity;
    // The difference is computed as timestamp_part does: as an integer where it can't overflow, otherwise in
    // doubles.
    const Timestamp epoch = SetEpochTimestamp();
    if (timestamp < PG_INT64_MAX + epoch)
        return static_cast<double>(timestamp - epoch) / 1000000.0;
    return (static_cast<double>(timestamp) - static_cast<double>(epoch)) / 1000000.0;
}

static double date_as_double(DateADT date) {
    if (DATE_NOT_FINITE(date))
        return DATE_IS_NOBEGIN(date) ? -kInfinity : kInfinity;
    constexpr int64 kEpochDays = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
    return static_cast<double>((date + kEpochDays) * SECS_PER_DAY);
}

double number_as_double(Oid type, Datum value) {
    switch (type) {
        case INT2OID:
            return DatumGetInt16(value);
        case INT4OID:
            return DatumGetInt32(value);
        case INT8OID:
            return static_cast<double>(DatumGetInt64(value));
        case FLOAT4OID:
            return static_cast<double>(DatumGetFloat4(value));
        case FLOAT8OID:
            return DatumGetFloat8(value);
        case NUMERICOID:
            return DatumGetFloat8(DirectFunctionCall1(numeric_float8, value));
        case DATEOID:
            return date_as_double(DatumGetDateADT(value));
        default:
            return timestamp_as_double(DatumGetTimestamp(value));
    }
}

Datum number_as_numeric(Oid type, Datum value) {
    switch (type) {
        case INT2OID:
            return DirectFunctionCall1(int2_numeric, value);
        case INT4OID:
            return DirectFunctionCall1(int4_numeric, value);
        case INT8OID:
            return DirectFunctionCall1(int8_numeric, value);
        case FLOAT4OID:
            return DirectFunctionCall1(float4_numeric, value);
        case FLOAT8OID:
            return DirectFunctionCall1(float8_numeric, value);
        default:
            return value;
    }
}

}  // namespace pg_gpu::functions
