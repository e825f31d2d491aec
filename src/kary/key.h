// Order-preserving key encodings: k1 < k2 exactly when encode(k1) < encode(k2) as unsigned integers. Plain
// C++, tested without PostgreSQL, and the same on a device.
#pragma once

#include <cstdint>
#include <limits>

namespace pg_gpu::kary {

// The signed integer type whose values a key of this width encodes.
template <typename Key>
struct SignedOf;
template <>
struct SignedOf<uint32_t> {
    using type = int32_t;
};
template <>
struct SignedOf<uint64_t> {
    using type = int64_t;
};

template <typename Key>
inline constexpr Key kSignBit = Key(1) << (std::numeric_limits<Key>::digits - 1);

// Flipping the sign bit makes two's complement ascend as unsigned; a descending column is stored
// complemented, so that a run's order is always ascending and always the index's order.
template <typename Key>
constexpr Key encode_integer(typename SignedOf<Key>::type value, bool descending) {
    const Key key = static_cast<Key>(value) ^ kSignBit<Key>;
    return descending ? static_cast<Key>(~key) : key;
}

template <typename Key>
constexpr typename SignedOf<Key>::type decode_integer(Key key, bool descending) {
    const Key plain = descending ? static_cast<Key>(~key) : key;
    return static_cast<typename SignedOf<Key>::type>(plain ^ kSignBit<Key>);
}

}  // namespace pg_gpu::kary
