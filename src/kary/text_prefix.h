// Text by its first 16 bytes, with zeros behind shorter strings: where two such keys differ, the strings
// compare like them byte by byte, and equal keys are equal strings unless they are full. Text holds no zero
// byte. Plain C++, tested without PostgreSQL.
#pragma once

#include <cstddef>

#include "keys/key.h"

namespace pg_gpu::kary {

using namespace keys;

inline constexpr size_t kPrefixBytes = 16;

// Returns the key of a string. `fill` takes the place of bytes that it doesn't have: with 0xff it is the
// highest key of the strings that begin with it.
inline Key128 prefix_key(const char *string, size_t length, unsigned char fill = 0) {
    unsigned char bytes[kPrefixBytes];
    for (size_t i = 0; i < kPrefixBytes; i++)
        bytes[i] = i < length ? static_cast<unsigned char>(string[i]) : fill;
    return {encode_bytes(bytes, 8), encode_bytes(bytes + 8, 8)};
}

// Returns the length without the blanks at the end.
constexpr size_t length_without_blanks(const char *string, size_t length) {
    while (length > 0 && string[length - 1] == ' ')
        length--;
    return length;
}

// The bytes, up to 16, with which all strings begin that match a LIKE pattern.
struct LikePrefix {
    char bytes[kPrefixBytes];
    size_t length;
    bool is_whole;  // no wildcard follows: it is the only string that matches
};

// Bytes of multi-byte characters are none of the pattern's special characters in any encoding of a server.
constexpr LikePrefix like_prefix(const char *pattern, size_t length) {
    LikePrefix prefix = {};
    for (size_t at = 0; at < length; at++) {
        if (pattern[at] == '%' || pattern[at] == '_' || prefix.length == kPrefixBytes)
            return prefix;
        if (pattern[at] == '\\' && ++at == length)
            return prefix;
        prefix.bytes[prefix.length++] = pattern[at];
    }
    prefix.is_whole = true;
    return prefix;
}

}  // namespace pg_gpu::kary
