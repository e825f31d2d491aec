// Tells dead entries of an array from live ones, on the device.
#pragma once

#include <cstdint>

#include "device/call.h"
#include "device/memory.h"

namespace gpu_engine::device {

// Dead entries as kernels see them. All pointers are null when no entry is dead.
struct DeadView {
    static constexpr std::uint32_t block_words = 8;

    const std::uint64_t *words;
    // Dead entries before each block of `block_words` (Jacobson's rank).
    const std::uint32_t *before_block;
};

struct DeadBitmap {
    Buffer<std::uint64_t> words;
    Buffer<std::uint32_t> before_block;
    std::uint64_t dead = 0;

    DeadView view() const { return DeadView{words.data(), before_block.data()}; }
    std::uint64_t bytes() const { return words.bytes() + before_block.bytes(); }
};

// Makes the bitmap from a caller's `entries` bits, wherever these lie. Waits for the device.
DeadBitmap make_dead_bitmap(const Call &call, const std::uint64_t *bitmap, std::uint64_t entries);

}  // namespace gpu_engine::device
