// Codes of a column, unpacked. Where the processor has AVX2 eight codes of up to 25 bits are unpacked at a
// time.
#pragma once

#include <cstdint>

#include "gpu_engine/packing.h"

namespace gpu_engine::host {

// Unpacks the codes of one group. Values have 32 bits where the codes have no more.
void unpack_group(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits, std::uint32_t *values);
void unpack_group(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits, std::uint64_t *values);

// Returns a bit a row, set where the code in the group is at least `low` and at most `low + width`.
std::uint64_t find_in_range(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits,
                            std::uint32_t low, std::uint32_t width);

// Makes a bit of each of sixty-four bytes, which are 0 or 1.
std::uint64_t bits_of_bytes(const std::uint8_t *bytes);

// The same for any processor, for tests.
namespace plain {
void unpack_group(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits, std::uint32_t *values);
std::uint64_t find_in_range(const std::uint64_t *words, std::uint64_t group, std::uint32_t bits,
                            std::uint32_t low, std::uint32_t width);
}  // namespace plain

// Calls a function with a code of the width that a column's codes are unpacked to.
template <typename Function>
auto with_code(std::uint32_t bits, Function &&function) {
    return bits <= 32 ? function(std::uint32_t{}) : function(std::uint64_t{});
}

}  // namespace gpu_engine::host
