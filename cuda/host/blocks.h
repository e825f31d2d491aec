// Blocks of memory that are used anew. A query takes tens of megabytes and gives them back; the system would
// have to find and clear the pages again for each query, which takes longer than what many of them compute.
#pragma once

#include <cstdint>

namespace gpu_engine::host {

// Smaller blocks are the C library's matter, and so are larger ones.
inline constexpr std::uint64_t least_kept_block = 4 << 10;
inline constexpr std::uint64_t greatest_kept_block = 64 << 20;
// Of all blocks that nobody uses. They aren't counted in a budget.
inline constexpr std::uint64_t max_kept_bytes = 256 << 20;

// Returns nullptr when there is no memory. Blocks begin on a cache line.
void *allocate_block(std::uint64_t bytes) noexcept;
// `bytes` as they were allocated.
void free_block(void *block, std::uint64_t bytes) noexcept;
// Of the blocks that are kept.
std::uint64_t kept_block_bytes() noexcept;

}  // namespace gpu_engine::host
