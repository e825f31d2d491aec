#include "gpu_engine/kept_memory.h"
#include "host/blocks.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace kept_blocks {

using namespace gpu_engine::host;

TEST(Blocks, AreUsedAnew) {
    for (const std::uint64_t bytes : {least_kept_block, least_kept_block + 64, std::uint64_t{1} << 20,
                                      (std::uint64_t{9} << 17) + 64, greatest_kept_block}) {
        void *block = allocate_block(bytes, UINT64_MAX);
        ASSERT_NE(block, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
        std::memset(block, 1, bytes);
        const std::uint64_t kept = kept_block_bytes();
        free_block(block, bytes, UINT64_MAX);
        EXPECT_GE(kept_block_bytes(), kept + bytes);
        EXPECT_LE(kept_block_bytes(), kept + bytes + bytes / 16 + 64);
        EXPECT_EQ(allocate_block(bytes, UINT64_MAX), block);
        EXPECT_EQ(kept_block_bytes(), kept);
        free_block(block, bytes, UINT64_MAX);
    }
}

// The system puts a mapping below the last one, so that it ends where that begins, on any page.
TEST(Blocks, EndWhereTheyMay) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    constexpr std::uint64_t bytes = 3 << 20;
    std::vector<void *> guards;
    release_kept_blocks(0);
    for (std::size_t phase = 0; phase < (2U << 20) / page; ++phase) {
        guards.push_back(mmap(nullptr, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(guards.back(), MAP_FAILED);
        auto *block = static_cast<char *>(allocate_block(bytes, UINT64_MAX));
        ASSERT_NE(block, nullptr);
        block[0] = block[bytes - 1] = 1;
        free_block(block, bytes, 0);
        unsigned char resident;
        ASSERT_EQ(mincore(guards.back(), page, &resident), 0) << "its neighbour is gone, at " << phase;
    }
    for (void *guard : guards) {
        munmap(guard, page);
    }
}

TEST(Blocks, AreNotKeptWithoutEnd) {
    std::vector<void *> blocks;
    for (std::uint64_t bytes = 0; bytes < max_kept_bytes + 2 * greatest_kept_block;
         bytes += greatest_kept_block) {
        blocks.push_back(allocate_block(greatest_kept_block, UINT64_MAX));
    }
    for (void *block : blocks) {
        free_block(block, greatest_kept_block, UINT64_MAX);
        EXPECT_LE(kept_block_bytes(), max_kept_bytes);
    }
}

TEST(Blocks, OfOtherSizesAreTheSystems) {
    const std::uint64_t kept = kept_block_bytes();
    for (const std::uint64_t bytes : {std::uint64_t{64}, least_kept_block - 64, greatest_kept_block + 64}) {
        free_block(allocate_block(bytes, UINT64_MAX), bytes, UINT64_MAX);
        EXPECT_EQ(kept_block_bytes(), kept);
    }
}

// Where there is no room for more they are the system's, and all of them when they are released.
TEST(Blocks, AreGivenBack) {
    release_kept_blocks(0);
    ASSERT_EQ(kept_block_bytes(), 0U);
    std::vector<std::pair<void *, std::uint64_t>> blocks;
    for (std::uint64_t bytes = least_kept_block; bytes <= 16 << 20; bytes += bytes / 7 / 64 * 64) {
        void *block = allocate_block(bytes, UINT64_MAX);
        ASSERT_NE(block, nullptr);
        std::memset(block, 1, bytes);
        blocks.emplace_back(block, bytes);
    }
    for (const std::uint64_t room : {UINT64_MAX, std::uint64_t{64} << 20}) {
        for (const auto &[block, bytes] : blocks) {
            free_block(block, bytes, room);
            EXPECT_LE(kept_block_bytes(), room);
        }
        EXPECT_GE(kept_block_bytes(), 32U << 20);
        release_kept_blocks(1 << 20);
        EXPECT_LE(kept_block_bytes(), 1U << 20);
        EXPECT_GT(kept_block_bytes(), 0U);
        release_kept_blocks(0);
        EXPECT_EQ(kept_block_bytes(), 0U);
        for (auto &[block, bytes] : blocks) {
            block = allocate_block(bytes, UINT64_MAX);
            std::memset(block, 1, bytes);
        }
    }
    for (const auto &[block, bytes] : blocks) {
        free_block(block, bytes, UINT64_MAX);
    }
    EXPECT_GT(give_back_kept_memory(), max_idle_bytes) << "they have just been used";
    EXPECT_LE(give_back_kept_memory(), max_idle_bytes);
    EXPECT_LE(kept_block_bytes(), max_idle_bytes);
}

}  // namespace kept_blocks
