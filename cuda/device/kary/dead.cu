#include "device/kary/dead.cuh"

#include "device/cub_calls.cuh"

namespace gpu_engine::device {
namespace {

// Clears the bits behind the last entry and counts the bits of each block. Block `blocks` - 1 is never full,
// so that the number of entries is a position in it too.
__global__ void count_blocks_kernel(std::uint64_t *words, std::uint64_t entries, std::uint64_t blocks,
                                    std::uint32_t *counts) {
    const std::uint64_t block = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (block >= blocks) {
        return;
    }
    std::uint32_t count = 0;
    for (std::uint64_t i = block * DeadView::block_words; i < (block + 1) * DeadView::block_words; ++i) {
        const std::uint64_t bits = entries > i * 64 ? entries - i * 64 : 0;
        if (bits < 64) {
            words[i] &= (std::uint64_t(1) << bits) - 1;
        }
        count += __popcll(words[i]);
    }
    counts[block] = count;
}

}  // namespace

DeadBitmap make_dead_bitmap(const Call &call, const std::uint64_t *bitmap, std::uint64_t entries) {
    const std::uint64_t blocks = entries / (DeadView::block_words * 64) + 1;
    DeadBitmap result;
    result.words = call.buffer<std::uint64_t>(blocks * DeadView::block_words);
    result.before_block = call.buffer<std::uint32_t>(blocks + 1);
    const std::uint64_t given_words = (entries + 63) / 64;
    call.copy(result.words.data(), bitmap, given_words);
    call.fill(result.words.data() + given_words, 0,
              (result.words.size() - given_words) * sizeof(std::uint64_t));
    call.fill(result.before_block.data() + blocks, 0, sizeof(std::uint32_t));
    count_blocks_kernel<<<blocks_for(blocks), threads_a_block, 0, call.stream()>>>(
        result.words.data(), entries, blocks, result.before_block.data());
    check_launch("count_blocks_kernel");

    exclusive_sums(call, result.before_block.data(), result.before_block.data(), blocks + 1);
    std::uint32_t dead = 0;
    call.read(&dead, result.before_block.data() + blocks, 1);
    result.dead = dead;
    result.words.set_stream(call.engine().release_stream());
    result.before_block.set_stream(call.engine().release_stream());
    return result;
}

}  // namespace gpu_engine::device
