// Packed codes counted as they are, for dictionaries that a block's counters hold.
#pragma once

#include <cstdint>

#include "device/call.h"

namespace gpu_engine::device {

inline constexpr std::uint32_t counted_bits = 16;

// The most codes of so many bits that a launch takes; they fill whole words.
std::uint64_t counted_piece(std::uint32_t bits);

// Adds to code_counts[c] how often code c occurs, all on the device. `bits` is 1 to counted_bits; codes from
// `entries` on, at most 2^bits, are counted at code_counts[entries].
void count_codes_themselves(const Call &call, const std::uint32_t *words, std::uint64_t count,
                            std::uint32_t bits, std::uint32_t entries, std::uint64_t *code_counts);

}  // namespace gpu_engine::device
