// This header turns an index's columns into codes, and codes into values again.
#pragma once

#include "keys/key.h"
#include "memory.h"

namespace pg_gpu::kary {
struct ColumnHash;
}

namespace pg_gpu::keys {

// A NullMask has one bit for each column, the first column's lowest. A bit is set where the column is NULL;
// the column's bits in the key are zero then.
using NullMask = uint16;

// Values with the same Rounded, Prefix or Hash can differ: what is found by such a code must be rechecked.
// Rounded is the float8 that is nearest to a numeric, so that its order is that of the values, though not
// strictly.
enum class Encoding : uint8 { Unsigned, Signed, Float, Bytes, Rounded, Prefix, Hash };

inline constexpr bool is_lossy(Encoding encoding) {
    return encoding == Encoding::Rounded || encoding == Encoding::Prefix || encoding == Encoding::Hash;
}

struct KeyColumn {
    Oid type;  // the opclass's input type
    Encoding encoding;
    uint8 width;      // bits
    uint8 shift;      // place of its lowest bit in the key
    bool descending;  // the code is stored complemented
    bool nulls_first;
    kary::ColumnHash *hash;  // set for a column of gpu_kary that is encoded by its hash
};

struct TypeCode {
    Encoding encoding;
    uint8 width;  // bits
};

// Both say how an operator class for the type encodes its columns: the key types as themselves, numeric by
// the nearest float8, text by its first bytes, and all others by their hashes.
TypeCode code_of(Oid type);
Encoding encoding_of(Oid type);

// Says whether codes of the type tell the value that they came from. Those of floats don't: -0 and 0 share
// one.
bool is_invertible(Oid type);

// Returns the float8 nearest to a numeric; the infinities are nearest to what no float8 reaches.
double nearest_float(Datum numeric);

// ---- values and codes -------------------------------------------------------------------------------------

// Returns the ascending code of a value of the column's own type. It is not for first bytes and hashes.
template <typename Key>
inline Bits<Key> encode_exact(const KeyColumn &column, Datum value) {
    switch (column.encoding) {
        case Encoding::Unsigned:
            return static_cast<Bits<Key>>(static_cast<uint64>(value) & low_bits<uint64>(column.width));
        case Encoding::Signed:
            return static_cast<Bits<Key>>(encode_signed(
                column.width == 64 ? DatumGetInt64(value) : static_cast<int64>(value), column.width));
        case Encoding::Float:
            return static_cast<Bits<Key>>(column.width == 32 ? encode_float(DatumGetFloat4(value))
                                                             : encode_float(DatumGetFloat8(value)));
        case Encoding::Rounded:
            return static_cast<Bits<Key>>(encode_float(nearest_float(value)));
        case Encoding::Bytes:
        default: {
            const auto *bytes = reinterpret_cast<const unsigned char *>(DatumGetPointer(value));
            if constexpr (sizeof(Key) == 16) {
                if (column.width == 128)
                    return Key128{encode_bytes(bytes, 8), encode_bytes(bytes + 8, 8)}.bits();
            }
            return static_cast<Bits<Key>>(encode_bytes(bytes, column.width / 8));
        }
    }
}

// Turns an ascending code into the stored code, and back.
template <typename Code>
inline Code orient(const KeyColumn &column, Code code) {
    return column.descending ? static_cast<Code>(~code & low_bits<Code>(column.width)) : code;
}

// Writes the value of an ascending code, typlen bytes, as it lies in a tuple.
template <typename Key>
inline void store_code(const KeyColumn &column, Bits<Key> code, char *place) {
    const auto low = static_cast<uint64>(code);
    const int bytes = column.width / 8;
    uint64 value = low;
    if (column.encoding == Encoding::Bytes) {
        auto *to = reinterpret_cast<unsigned char *>(place);
        if constexpr (sizeof(Key) == 16) {
            if (column.width == 128) {
                decode_bytes(static_cast<uint64>(code >> 64), 8, to);
                decode_bytes(low, 8, to + 8);
                return;
            }
        }
        decode_bytes(low, bytes, to);
        return;
    }
    if (column.encoding == Encoding::Signed)
        value = static_cast<uint64>(decode_signed(low, column.width));
    else if (column.encoding == Encoding::Float)
        value = column.width == 32 ? std::bit_cast<uint32>(decode_float<float>(static_cast<uint32>(low)))
                                   : std::bit_cast<uint64>(decode_float<double>(low));
    switch (bytes) {
        case 1: {
            const auto narrow = static_cast<uint8>(value);
            memcpy(place, &narrow, sizeof(narrow));
            break;
        }
        case 2: {
            const auto narrow = static_cast<uint16>(value);
            memcpy(place, &narrow, sizeof(narrow));
            break;
        }
        case 4: {
            const auto narrow = static_cast<uint32>(value);
            memcpy(place, &narrow, sizeof(narrow));
            break;
        }
        default:
            memcpy(place, &value, sizeof(value));
    }
}

}  // namespace pg_gpu::keys
