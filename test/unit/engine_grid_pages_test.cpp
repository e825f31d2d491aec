// The packed arrays of gpu_grid's entry pages.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "grid/page.h"

using namespace pg_gpu::grid;

namespace {

// A page of one array for the block, offset and NULLs each and some lanes, packed the slow way.
std::vector<char> pack_page(uint64_t first, const std::vector<std::vector<uint64_t>> &arrays) {
    const int count = static_cast<int>(arrays.size());
    const auto entries = static_cast<uint32_t>(arrays[0].size());
    std::vector<char> page(8192 + 16, 0);
    const EntryPageHead head = {first, static_cast<uint16_t>(entries), static_cast<uint16_t>(count), 0};
    memcpy(page.data(), &head, sizeof(head));
    uint32_t at = head_bytes(count);
    for (int i = 0; i < count; i++) {
        uint64_t low = ~uint64_t{0};
        uint64_t high = 0;
        for (const uint64_t value : arrays[static_cast<size_t>(i)]) {
            low = std::min(low, value);
            high = std::max(high, value);
        }
        const int width = packed_width(high - low);
        memcpy(page.data() + sizeof(head) + i * 8, &low, 8);
        page[sizeof(head) + static_cast<size_t>(count) * 8 + static_cast<size_t>(i)] =
            static_cast<char>(width);
        for (uint32_t j = 0; j < entries; j++)
            for (int bit = 0; bit < width; bit++)
                if (((arrays[static_cast<size_t>(i)][j] - low) >> bit) & 1) {
                    const uint64_t place =
                        uint64_t{j} * static_cast<uint32_t>(width) + static_cast<uint32_t>(bit);
                    page[at + place / 8] = static_cast<char>(page[at + place / 8] | 1 << (place % 8));
                }
        at += array_bytes(entries, width);
    }
    page.resize(at + 8);
    return page;
}

}  // namespace

TEST(GridPage, GivesBackEveryWidth) {
    std::mt19937_64 random(7);
    for (int bits = 0; bits <= 64; bits++) {
        std::vector<std::vector<uint64_t>> arrays(4);
        for (auto &array : arrays)
            for (int i = 0; i < 100; i++)
                array.push_back(bits == 0 ? 5 : random() >> (64 - bits));
        const std::vector<char> content = pack_page(77, arrays);
        EntryPage page;
        ASSERT_TRUE(open_entry_page(content.data(), static_cast<uint32_t>(content.size()) - 8, 4, &page));
        EXPECT_EQ(page.first, 77u);
        ASSERT_EQ(page.count, 100u);
        for (int i = 0; i < 4; i++)
            for (uint32_t j = 0; j < 100; j++)
                ASSERT_EQ(page_value(page, i, j), arrays[static_cast<size_t>(i)][j]) << bits << " bits";
    }
}

TEST(GridPage, WidthsAreThoseThatOneLoadReads) {
    EXPECT_EQ(packed_width(0), 0);
    EXPECT_EQ(packed_width(1), 1);
    EXPECT_EQ(packed_width((uint64_t{1} << 56) - 1), 56);
    EXPECT_EQ(packed_width(uint64_t{1} << 56), 64);
    EXPECT_EQ(packed_width(~uint64_t{0}), 64);
}

TEST(GridPage, RefusesWhatCannotBeOne) {
    const std::vector<char> valid = pack_page(0, std::vector<std::vector<uint64_t>>(5, {1, 2, 300}));
    const auto length = static_cast<uint32_t>(valid.size()) - 8;
    EntryPage page;
    ASSERT_TRUE(open_entry_page(valid.data(), length, 5, &page));
    EXPECT_FALSE(open_entry_page(valid.data(), length, 4, &page));
    EXPECT_FALSE(open_entry_page(valid.data(), length - 8, 5, &page));
    EXPECT_FALSE(open_entry_page(valid.data(), 10, 5, &page));
    std::vector<char> none = valid;
    none[8] = none[9] = 0;
    EXPECT_FALSE(open_entry_page(none.data(), length, 5, &page));
    std::vector<char> wide = valid;
    wide[sizeof(EntryPageHead) + 5 * 8 + 4] = 60;
    EXPECT_FALSE(open_entry_page(wide.data(), length, 5, &page));
}
