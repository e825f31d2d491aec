// The parts of index entries.
#pragma once

#include <compare>
#include <cstdint>

namespace gpu_engine {

// An unsigned integer of 128 bits. 32- and 64-bit keys are std::uint32_t and std::uint64_t.
struct Key128 {
    std::uint64_t high;
    std::uint64_t low;

    friend constexpr auto operator<=>(const Key128 &, const Key128 &) noexcept = default;
};
static_assert(sizeof(Key128) == 16);

// A row's place in the heap, laid out as PostgreSQL's ItemPointerData: 6 bytes, no padding.
struct Tid {
    std::uint16_t block_high;
    std::uint16_t block_low;
    std::uint16_t offset;

    friend constexpr auto operator<=>(const Tid &, const Tid &) noexcept = default;
};
static_assert(sizeof(Tid) == 6 && alignof(Tid) == 2);

// Sorted entries lie on page images so: `per_page` keys at `first_byte`, then as many TIDs; the last page has
// the rest of both.
struct PageLayout {
    std::uint32_t page_bytes;
    std::uint32_t first_byte;
    std::uint32_t per_page;
    std::uint32_t key_bytes;  // 4, 8, 12 (the low 8, then the high 4) or 16; widened to the next key width
};
static_assert(sizeof(PageLayout) == 16);

}  // namespace gpu_engine
