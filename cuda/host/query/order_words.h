// Words that compare as values do, the first one first.
#pragma once

#include "common/query/operation.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

template <typename Type>
void order_words(Type value, std::uint64_t *words) {
    if constexpr (sizeof(Type) == 16) {
        words[0] = query::order_of_integer(static_cast<std::int64_t>(value >> 64));
        words[1] = static_cast<std::uint64_t>(value);
    } else if constexpr (std::is_same_v<Type, double>) {
        words[0] = query::order_of_float(value);
    } else if constexpr (sizeof(Type) == 1) {
        words[0] = value;
    } else {
        words[0] = query::order_of_integer(value);
    }
}

template <typename Type>
Type value_of_order(const std::uint64_t *words) {
    constexpr std::uint64_t sign = std::uint64_t(1) << 63;
    if constexpr (sizeof(Type) == 16) {
        return static_cast<Int128>(static_cast<UInt128>(words[0] ^ sign) << 64 | words[1]);
    } else if constexpr (std::is_same_v<Type, double>) {
        return query::float_of_bits((words[0] & sign) != 0 ? words[0] ^ sign : ~words[0]);
    } else if constexpr (sizeof(Type) == 1) {
        return static_cast<Truth>(words[0]);
    } else {
        return static_cast<std::int64_t>(words[0] ^ sign);
    }
}

}  // namespace gpu_engine::host
