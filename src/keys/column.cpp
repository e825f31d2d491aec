// The types that have codes of their own.
#include "keys/column.h"

#include "compat.h"

namespace pg_gpu::keys {

TypeCode code_of(Oid type) {
    switch (type) {
        case BOOLOID:
        case CHAROID:
            return {Encoding::Unsigned, 8};
        case OIDOID:
            return {Encoding::Unsigned, 32};
        case INT2OID:
            return {Encoding::Signed, 16};
        case INT4OID:
        case DATEOID:
            return {Encoding::Signed, 32};
        case INT8OID:
        case TIMEOID:
        case TIMESTAMPOID:
        case TIMESTAMPTZOID:
            return {Encoding::Signed, 64};
        case FLOAT4OID:
            return {Encoding::Float, 32};
        case FLOAT8OID:
            return {Encoding::Float, 64};
        case MACADDROID:
            return {Encoding::Bytes, 48};
        case MACADDR8OID:
            return {Encoding::Bytes, 64};
        case UUIDOID:
            return {Encoding::Bytes, 128};
        case NUMERICOID:
            return {Encoding::Rounded, 64};
        case TEXTOID:
        case BPCHAROID:
            return {Encoding::Prefix, 128};
        default:
            return {Encoding::Hash, 64};
    }
}

Encoding encoding_of(Oid type) {
    return code_of(type).encoding;
}

double nearest_float(Datum numeric) {
    auto *number = DatumGetNumeric(numeric);
    const double nearest =
        DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, NumericGetDatum(number)));
    // Rows are encoded by the million, and some of them in memory that lasts.
    if (reinterpret_cast<Pointer>(number) != DatumGetPointer(numeric))
        pfree(number);
    return nearest;
}

bool is_invertible(Oid type) {
    const Encoding encoding = encoding_of(type);
    return encoding != Encoding::Float && !is_lossy(encoding);
}

}  // namespace pg_gpu::keys
