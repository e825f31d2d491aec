// Layout of gpu_grid's run pages. Plain C++, tested without PostgreSQL; README.md beside this file has the
// overview.
//
// Entry pages (section 1) hold a run's entries in the order of the grid's cells, back to back: a page is as
// full as it can be, and a cell begins where the one before ends. A page is EntryPageHead, bases, widths, and
// one bit-packed array after the other.
//
// Directory pages (section 2) are one sequence of 64-bit words: the run's summary, then its grids, the root
// first.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace pg_gpu::grid {

// A column is one dimension, a point two.
inline constexpr int kMaxDimensions = 8;

// A lane is one array of codes of at most 64 bits. A column of 128 bits has two, the upper one first, which
// is its dimension.
inline constexpr int kMaxLanes = 16;

// The arrays of a page in their order: heap block, line pointer, mask of NULL columns, then the lanes.
inline constexpr int kBlockArray = 0;
inline constexpr int kOffsetArray = 1;
inline constexpr int kNullArray = 2;
inline constexpr int kFirstLaneArray = 3;
inline constexpr int kMaxArrays = kFirstLaneArray + kMaxLanes;

// ---- entry pages ------------------------------------------------------------------------------------------

struct EntryPageHead {
    uint64_t first;   // ordinal of the page's first entry
    uint16_t count;   // entries
    uint16_t arrays;  // kFirstLaneArray + lanes
    uint32_t reserved;
};
static_assert(sizeof(EntryPageHead) == 16);

// Behind it: uint64_t bases[arrays]; uint8_t widths[arrays], padded to 8 bytes; then for each array its
// values less the base, `width` bits each, the lowest bit first, padded to 8 bytes. Widths are 0 to 56, or
// 64, so that every value lies within the 8 bytes from its first byte on. A lane of a NULL column holds
// nothing of meaning.
inline constexpr int kWidestPacked = 56;

constexpr uint32_t round_up_8(uint32_t bytes) {
    return (bytes + 7) & ~uint32_t{7};
}

constexpr uint32_t head_bytes(int arrays) {
    return static_cast<uint32_t>(sizeof(EntryPageHead)) + static_cast<uint32_t>(arrays) * 8 +
           round_up_8(static_cast<uint32_t>(arrays));
}

constexpr int packed_width(uint64_t spread) {
    const int width = static_cast<int>(std::bit_width(spread));
    return width > kWidestPacked ? 64 : width;
}

constexpr uint32_t array_bytes(uint32_t count, int width) {
    return round_up_8((count * static_cast<uint32_t>(width) + 7) / 8);
}

constexpr uint64_t low_mask(int width) {
    return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}

// Returns value i less the array's base. Reads up to 7 bytes behind the array.
inline uint64_t packed_value(const char *array, int width, uint32_t i) {
    const uint64_t bit = uint64_t{i} * static_cast<uint32_t>(width);
    uint64_t word;
    memcpy(&word, array + bit / 8, sizeof(word));
    return (word >> (bit % 8)) & low_mask(width);
}

// A page's parts.
struct EntryPage {
    uint64_t first;
    uint32_t count;
    const char *arrays[kMaxArrays];
    uint64_t bases[kMaxArrays];
    uint8_t widths[kMaxArrays];
    uint32_t bytes;  // bytes of its content
};

// Takes a page's content of `length` bytes apart; false when it cannot be one of so many arrays.
inline bool open_entry_page(const char *content, uint32_t length, int array_count, EntryPage *page) {
    EntryPageHead head;
    if (length < head_bytes(array_count))
        return false;
    memcpy(&head, content, sizeof(head));
    if (head.arrays != array_count || head.count == 0)
        return false;
    page->first = head.first;
    page->count = head.count;
    memcpy(page->bases, content + sizeof(head), static_cast<size_t>(array_count) * 8);
    memcpy(page->widths, content + sizeof(head) + array_count * 8, static_cast<size_t>(array_count));
    uint32_t at = head_bytes(array_count);
    for (int i = 0; i < array_count; i++) {
        if (page->widths[i] > kWidestPacked && page->widths[i] != 64)
            return false;
        page->arrays[i] = content + at;
        at += array_bytes(head.count, page->widths[i]);
        if (at > length)
            return false;
    }
    page->bytes = at;
    return true;
}

inline uint64_t page_value(const EntryPage &page, int array, uint32_t i) {
    return page.bases[array] + packed_value(page.arrays[array], page.widths[array], i);
}

// An array of which many values are read.
struct PackedArray {
    const char *array;
    uint64_t base;
    uint64_t mask;
    uint32_t width;

    uint64_t operator[](uint32_t i) const {
        const uint64_t bit = uint64_t{i} * width;
        uint64_t word;
        memcpy(&word, array + bit / 8, sizeof(word));
        return base + ((word >> (bit % 8)) & mask);
    }
};

inline PackedArray packed_array(const EntryPage &page, int array) {
    return {page.arrays[array], page.bases[array], low_mask(page.widths[array]), page.widths[array]};
}

// ---- directory --------------------------------------------------------------------------------------------
//
//   summary  lowest and highest value of each array, 2 * arrays words; without a value (a column that is
//            always NULL) the lowest is above the highest
//   grid     a word a dimension: number of intervals in the lower 32 bits, kHasNulls when there is a
//            coordinate for NULL behind them;
//            the scales: each dimension's intervals but the first by their lowest code, ascending;
//            two words a cell, the last dimension's coordinate running fastest, and two behind the last cell:
//            the ordinal of its first entry; the entry page that this lies on (counted from the section's
//            first) in the lower 32 bits, and above it the word at which the cell's own grid begins, 0 when
//            it has none.
//
// The entries of a cell and those of the cells of its grid are the same. A run of one entry page has no
// directory.

inline constexpr uint64_t kHasNulls = uint64_t{1} << 32;

constexpr uint32_t summary_words(int arrays) {
    return 2 * static_cast<uint32_t>(arrays);
}

// Returns a cell's second word.
constexpr uint64_t cell_link(uint32_t page, uint32_t grid) {
    return uint64_t{grid} << 32 | page;
}

constexpr uint32_t cell_page(uint64_t link) {
    return static_cast<uint32_t>(link);
}

constexpr uint32_t cell_grid(uint64_t link) {
    return static_cast<uint32_t>(link >> 32);
}

}  // namespace pg_gpu::grid
