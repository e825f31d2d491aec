#include "common/column/tids.h"

#include <algorithm>
#include <cstring>

#include "gpu_engine/tid_pages.h"

namespace gpu_engine {
namespace {

constexpr std::uint32_t head_words = sizeof(TidPageHead) / 8;
constexpr std::uint32_t max_offset = 2048;  // a heap page of 32 KiB has fewer line pointers

Status contradiction() {
    return make_status(StatusCode::invalid_argument, "a page of TIDs contradicts its run");
}

}  // namespace

Status parse_tid_page(const std::uint64_t *content, std::uint32_t page_words, std::uint64_t rows,
                      std::uint64_t *copy, SpanCount *count, Span *spans, std::uint64_t *bitmaps) {
    std::memcpy(copy, content, page_words * sizeof(std::uint64_t));
    TidPageHead head;
    if (page_words < head_words) {
        return contradiction();
    }
    std::memcpy(&head, copy, sizeof(head));
    if (head.first != count->rows || head.entries > rows - count->rows ||
        head.spans > page_words - head_words) {
        return contradiction();
    }
    std::uint32_t word = head_words + head.spans;
    std::uint64_t entries = 0;
    const std::uint64_t words_before = count->words;
    for (std::uint32_t i = 0; i < head.spans; ++i) {
        TidSpan span;
        std::memcpy(&span, copy + head_words + i, sizeof(span));
        if (span.count == 0 || span.count > max_offset || span.count > head.entries - entries) {
            return contradiction();
        }
        Span &kept = spans[i];
        kept = {static_cast<std::uint32_t>(count->rows + entries), span.block,
                static_cast<std::uint32_t>(count->words), span.first, 0};
        if ((span.first & tid_bitmap_flag) == 0) {
            if (span.first == 0 || span.first + span.count - 1U > max_offset) {
                return contradiction();
            }
        } else {
            const std::uint32_t words = span.first & ~std::uint32_t(tid_bitmap_flag);
            if (words > max_offset / 64 || words > page_words - word) {
                return contradiction();
            }
            std::uint32_t bits = 0;
            for (std::uint32_t j = 0; j < words; ++j) {
                bits += count_bits(copy[word + j]);
            }
            if (bits != span.count) {
                return contradiction();
            }
            std::copy_n(copy + word, words, bitmaps + (count->words - words_before));
            kept.first = 0;
            kept.bitmap_words = static_cast<std::uint16_t>(words);
            count->words += words;
            word += words;
        }
        entries += span.count;
    }
    if (entries != head.entries) {
        return contradiction();
    }
    count->rows += entries;
    count->spans += head.spans;
    return {};
}

}  // namespace gpu_engine
