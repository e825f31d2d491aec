// Numbers of varying length: seven bits a byte, the lowest first, the top bit set on all bytes but the last.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

inline constexpr uint32 kMaxVarintBytes = 10;

inline uint32 write_varint(uint8 *out, uint64 value) {
    uint32 bytes = 0;
    for (; value >= 0x80; value >>= 7)
        out[bytes++] = static_cast<uint8>(value | 0x80);
    out[bytes++] = static_cast<uint8>(value);
    return bytes;
}

// nullptr when the bytes end before the number does.
inline const uint8 *read_varint(const uint8 *in, const uint8 *end, uint64 *value) {
    if (likely(in < end && *in < 0x80)) {
        *value = *in;
        return in + 1;
    }
    *value = 0;
    for (int shift = 0; shift < 64 && in < end; shift += 7) {
        const uint8 byte = *in++;
        *value |= uint64{static_cast<uint8>(byte & 0x7f)} << shift;
        if (byte < 0x80)
            return in;
    }
    return nullptr;
}

}  // namespace pg_gpu
