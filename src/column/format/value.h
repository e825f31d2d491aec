// Values as the index keeps them: types passed by value as unsigned integers, all others as strings of bytes.
#pragma once

#include "column/format/layout.h"

#include <limits>

namespace pg_gpu::column {

enum class IntegerCode : uint8 { Unsigned, Signed, Float4, Float8 };

struct ColumnType {
    Oid type;
    Oid base_type;  // without domains
    Oid collation;
    int16 length;
    bool by_value;
    // Integers only.
    bool is_integer;
    bool is_ordered;  // integers have the order of btree's operators
    uint8 width;      // bytes
    IntegerCode code;
};

struct Format {
    int columns;
    ColumnType types[kMaxColumns];
};

struct Bytes {
    const char *data;
    size_t length;
};

// Returns how values of a type would be kept. A type that can't be indexed is described, too, as strings.
ColumnType describe_type(Oid type, Oid collation);

// Makes an index's format, palloc'd. Raises an error when a column's type has neither btree nor hash
// operators.
Format *make_format(Relation index);

inline uint64 low_bits(uint32 bits) {
    return bits >= 64 ? PG_UINT64_MAX : (UINT64CONST(1) << bits) - 1;
}

inline uint64 encode_float8(double value) {
    // NaNs are all the same to SQL, and greatest.
    const auto bits = static_cast<uint64>(DatumGetInt64(Float8GetDatum(value)));
    if (unlikely(value != value))
        return PG_UINT64_MAX;
    return (bits >> 63) != 0 ? ~bits : bits | UINT64CONST(1) << 63;
}

inline double decode_float8(uint64 code) {
    // Positive numbers' codes have the sign bit flipped and negative ones' all bits, which is undone here
    // without a branch. The code of NaNs gives a NaN.
    const uint64 is_negative = (code >> 63) - 1;
    return DatumGetFloat8(Int64GetDatum(static_cast<int64>(code ^ (is_negative | UINT64CONST(1) << 63))));
}

inline uint64 encode_float4(float value) {
    const auto bits = static_cast<uint32>(DatumGetInt32(Float4GetDatum(value)));
    if (unlikely(value != value))
        return PG_UINT32_MAX;
    return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

inline float decode_float4(uint64 code) {
    if (unlikely(code == PG_UINT32_MAX))
        return std::numeric_limits<float>::quiet_NaN();
    const auto half = static_cast<uint32>(code);
    const uint32 bits = (half >> 31) != 0 ? half & 0x7fffffffU : ~half;
    return DatumGetFloat4(Int32GetDatum(static_cast<int32>(bits)));
}

// Below it no code stands for a value.
inline uint64 lowest_code(const ColumnType &type) {
    if (type.code == IntegerCode::Float8)
        return encode_float8(-std::numeric_limits<double>::infinity());
    if (type.code == IntegerCode::Float4)
        return encode_float4(-std::numeric_limits<float>::infinity());
    return 0;
}

inline uint64 encode_integer(const ColumnType &type, Datum value) {
    if (type.code == IntegerCode::Float8)
        return encode_float8(DatumGetFloat8(value));
    if (type.code == IntegerCode::Float4)
        return encode_float4(DatumGetFloat4(value));
    const uint32 bits = type.width * 8U;
    const uint64 code = static_cast<uint64>(value) & low_bits(bits);
    return type.code == IntegerCode::Signed ? code ^ UINT64CONST(1) << (bits - 1) : code;
}

inline Datum decode_integer(const ColumnType &type, uint64 code) {
    switch (type.code) {
        case IntegerCode::Float8:
            return Float8GetDatum(decode_float8(code));
        case IntegerCode::Float4:
            return Float4GetDatum(decode_float4(code));
        case IntegerCode::Signed: {
            const uint32 shift = 64 - type.width * 8U;
            const uint64 raw = code ^ UINT64CONST(1) << (type.width * 8U - 1);
            return static_cast<Datum>(static_cast<int64>(raw << shift) >> shift);
        }
        default:
            return static_cast<Datum>(code);
    }
}

// Returns the bytes of a value; detoasted ones are palloc'd.
Bytes bytes_of(const ColumnType &type, Datum value);

// A value of these bytes in `buffer`, which grows as needed (nullptr, 0: none yet).
struct ValueBuffer {
    char *data;
    size_t room;
};
Datum datum_of(const ColumnType &type, const Bytes &bytes, ValueBuffer *buffer);

inline int compare_bytes(const Bytes &a, const Bytes &b) {
    const int order = memcmp(a.data, b.data, Min(a.length, b.length));
    return order != 0 ? order : (a.length > b.length) - (a.length < b.length);
}

}  // namespace pg_gpu::column
