// Numerics that all show as many digits behind the point, as integers without their points.
#pragma once

#include "column/format/value.h"

namespace pg_gpu::column {

// The most digits of a number, and the most of them behind the point.
inline constexpr uint8 kMaxScaledDigits = 18;

// Bytes of a numeric with so many digits, its head among them: whatever a damaged page has, an integer of 64
// bits with kMaxScaledDigits digits behind the point fits.
inline constexpr size_t kMaxFormattedBytes = 24;

// The most bytes of a number that is read.
inline constexpr size_t kMaxReadBytes = 14;

struct ScaledNumeric {
    uint64 code;  // in the order of the numbers
    uint8 scale;
};

inline int64 number_of_scaled(uint64 code) {
    return static_cast<int64>(code ^ UINT64CONST(1) << 63);
}

inline uint64 code_of_scaled(int64 number) {
    return static_cast<uint64>(number) ^ UINT64CONST(1) << 63;
}

// Reads the bytes of a numeric (bytes_of). False: it isn't finite, has too many digits, or format_scaled
// would give other bytes.
bool read_scaled(const Bytes &bytes, ScaledNumeric *scaled);

// The bytes of a numeric, written into the room for them.
struct FormattedNumeric {
    char room[kMaxFormattedBytes];
    size_t length;
};
void format_scaled(uint64 code, uint8 scale, FormattedNumeric *formatted);

inline Bytes bytes_of_formatted(const FormattedNumeric &formatted) {
    return {formatted.room, formatted.length};
}

// Returns the most bytes that a numeric from one code to another takes.
size_t max_formatted_bytes(uint64 lowest, uint64 highest, uint8 scale);

inline Datum datum_of_scaled(const ColumnType &type, uint64 code, uint8 scale, ValueBuffer *buffer) {
    FormattedNumeric formatted;
    format_scaled(code, scale, &formatted);
    return datum_of(type, bytes_of_formatted(formatted), buffer);
}

// Converts a code exactly as PostgreSQL's cast to float8 would convert the numeric.
double float8_of_scaled(uint64 code, uint8 scale);

}  // namespace pg_gpu::column
