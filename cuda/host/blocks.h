// Blocks of memory, of which those that are given back are kept for a while. A query takes tens of megabytes
// and gives them back; the system would have to find and clear the pages again for each query, which takes
// longer than what many of them compute.
#pragma once

#include <cstdint>

namespace gpu_engine::host {

inline constexpr std::uint64_t least_kept_block = 4 << 10;
inline constexpr std::uint64_t greatest_kept_block = 64 << 20;
// Of all blocks that nobody uses.
inline constexpr std::uint64_t max_kept_bytes = 256 << 20;
// Of those that nobody has used for a while.
inline constexpr std::uint64_t max_idle_bytes = 32 << 20;
// From this size on blocks are the system's, which has each back at once. Smaller ones are the C library's
// matter, which may keep them between others.
inline constexpr std::uint64_t least_mapped_block = 256 << 10;

// Returns nullptr when there is no memory. Blocks begin on a cache line. No more than `room` are kept then.
void *allocate_block(std::uint64_t bytes, std::uint64_t room) noexcept;
// `bytes` as they were allocated. The block may be kept if with it no more than `room` are.
void free_block(void *block, std::uint64_t bytes, std::uint64_t room) noexcept;
// Of the blocks that are kept.
std::uint64_t kept_block_bytes() noexcept;
// Gives kept blocks back, the greatest first, until no more than so many bytes are kept.
void release_kept_blocks(std::uint64_t left) noexcept;

}  // namespace gpu_engine::host
