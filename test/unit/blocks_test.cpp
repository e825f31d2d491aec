#include "host/blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace kept_blocks {

using namespace gpu_engine::host;

TEST(Blocks, AreUsedAnew) {
    for (const std::uint64_t bytes : {least_kept_block, least_kept_block + 64, std::uint64_t{1} << 20,
                                      (std::uint64_t{9} << 17) + 64, greatest_kept_block}) {
        void *block = allocate_block(bytes);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
        std::memset(block, 1, bytes);
        const std::uint64_t kept = kept_block_bytes();
        free_block(block, bytes);
        EXPECT_GE(kept_block_bytes(), kept + bytes);
        EXPECT_LE(kept_block_bytes(), kept + bytes + bytes / 8 + 64);
        EXPECT_EQ(allocate_block(bytes), block);
        EXPECT_EQ(kept_block_bytes(), kept);
        free_block(block, bytes);
    }
}

TEST(Blocks, AreNotKeptWithoutEnd) {
    std::vector<void *> blocks;
    for (std::uint64_t bytes = 0; bytes < max_kept_bytes + 2 * greatest_kept_block;
         bytes += greatest_kept_block) {
        blocks.push_back(allocate_block(greatest_kept_block));
    }
    for (void *block : blocks) {
        free_block(block, greatest_kept_block);
        EXPECT_LE(kept_block_bytes(), max_kept_bytes);
    }
}

TEST(Blocks, OfOtherSizesAreTheSystems) {
    const std::uint64_t kept = kept_block_bytes();
    for (const std::uint64_t bytes : {std::uint64_t{64}, least_kept_block - 64, greatest_kept_block + 64}) {
        free_block(allocate_block(bytes), bytes);
        EXPECT_EQ(kept_block_bytes(), kept);
    }
}

}  // namespace kept_blocks
