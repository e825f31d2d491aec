// Packed codes counted as they are, for dictionaries that a block's counters hold.
#pragma once

#include <cstdint>

#include "device/call.h"

namespace gpu_engine::device {

// Does a block's shared memory have room for the counters of such codes?
bool are_counted(const DeviceEngine &engine, std::uint32_t bits);

// The most codes of so many bits that a launch takes; they fill whole words.
std::uint64_t counted_piece(std::uint32_t bits);

// Adds to code_counts[c] how often code c occurs, all on the device. are_counted says which `bits` there may
// be; codes from `entries` on, at most 2^bits, are counted at code_counts[entries].
void count_codes_themselves(const Call &call, const std::uint32_t *words, std::uint64_t count,
                            std::uint32_t bits, std::uint32_t entries, std::uint64_t *code_counts);

}  // namespace gpu_engine::device
