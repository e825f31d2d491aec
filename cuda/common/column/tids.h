// TIDs of gpu_column's runs as pages have them (gpu_engine/tid_pages.h): spans of one heap block each.
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "gpu_engine/column.h"

namespace gpu_engine {

// `count` rows of one heap block, the first of which is row number `row`. Their offset numbers follow each
// other from `first` on, or are those whose bits are set in `bitmap_words` words from word `bitmap` on, bit 0
// for offset number 1.
struct Span {
    std::uint32_t row;
    std::uint32_t block;
    std::uint32_t bitmap;
    std::uint16_t first;         // with a bitmap: 0
    std::uint16_t bitmap_words;  // 0: consecutive
};
static_assert(sizeof(Span) == 16);

// Returns the most words of a page that spans take, and that words of bitmaps take.
constexpr std::uint64_t max_span_words(const StoreLayout &layout) noexcept {
    return std::uint64_t(layout.tid_pages) * layout.page_words;
}

// The numbers of what has come so far.
struct SpanCount {
    std::uint64_t rows = 0;
    std::uint64_t spans = 0;
    std::uint64_t words = 0;  // words of bitmaps
};

// Takes a page's content of `page_words` words apart. Everything is read once, into `copy` (as many words),
// and checked. `count` is carried on; its rows never go beyond `rows`. The page's spans and bitmaps go to
// `spans` and `bitmaps`. Returns invalid_argument for a page that can't be the next.
Status parse_tid_page(const std::uint64_t *content, std::uint32_t page_words, std::uint64_t rows,
                      std::uint64_t *copy, SpanCount *count, Span *spans, std::uint64_t *bitmaps);

// The span that has a row: the last one of `count` that begins at or before it.
GPU_ENGINE_BOTH std::uint64_t find_span(const Span *spans, std::uint64_t count, std::uint64_t row) {
    std::uint64_t low = 0;
    std::uint64_t high = count;
    while (high - low > 1) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (spans[middle].row <= row) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

GPU_ENGINE_BOTH Tid tid_in_span(const Span &span, const std::uint64_t *bitmaps, std::uint64_t row) {
    auto rest = static_cast<std::uint32_t>(row - span.row);
    std::uint32_t offset = span.first + rest;
    for (std::uint32_t word = 0; word < span.bitmap_words; ++word) {
        std::uint64_t bits = bitmaps[span.bitmap + word];
        const std::uint32_t here = count_bits(bits);
        if (rest >= here) {
            rest -= here;
            continue;
        }
        for (; rest > 0; --rest) {
            bits &= bits - 1;
        }
        offset = word * 64 + lowest_bit(bits) + 1;
        break;
    }
    return {static_cast<std::uint16_t>(span.block >> 16), static_cast<std::uint16_t>(span.block),
            static_cast<std::uint16_t>(offset)};
}

}  // namespace gpu_engine
