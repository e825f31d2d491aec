// Pages of TIDs of gpu_column's runs, as both sides read them: TidPageHead, spans, bitmaps. Entries lie
// in the order of their TIDs.
#pragma once

#include <cstdint>

namespace gpu_engine {

struct TidPageHead {
    std::uint64_t first;  // ordinal of the page's first entry
    std::uint32_t entries;
    std::uint32_t spans;
};
static_assert(sizeof(TidPageHead) == 16);

// TIDs of one heap block: `count` consecutive ones from offset number `first`; or, with tid_bitmap_flag in
// `first`, those whose bit is set in the page's next (first & ~tid_bitmap_flag) words, bit 0 for offset 1.
struct TidSpan {
    std::uint32_t block;
    std::uint16_t count;
    std::uint16_t first;
};
static_assert(sizeof(TidSpan) == 8);

inline constexpr std::uint16_t tid_bitmap_flag = 0x8000;

}  // namespace gpu_engine
