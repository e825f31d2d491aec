// Entry pages of gpu_grid's runs, as src/grid/page.h lays them out: a head, then a base and a width for each
// array, then the arrays: heap block, line pointer, mask of NULL columns, and the keys of each column. Value
// i of an array is its base and `width` bits more, the lowest first; each array begins on 8 bytes.
#pragma once

#include <cstdint>

#include "common/grid/grid.h"

namespace gpu_engine {

struct GridPageHead {
    std::uint64_t first;  // the run's number of the page's first entry
    std::uint16_t count;
    std::uint16_t arrays;
    std::uint32_t reserved;
};
static_assert(sizeof(GridPageHead) == 16);

inline constexpr std::uint32_t grid_page_blocks = 0;
inline constexpr std::uint32_t grid_page_offsets = 1;
inline constexpr std::uint32_t grid_page_nulls = 2;
inline constexpr std::uint32_t grid_page_keys = 3;
inline constexpr std::uint32_t max_grid_page_arrays = grid_page_keys + max_grid_columns;

// The places of a page's arrays. They are read from the page once, since others may write to the page
// meanwhile.
struct GridPageArrays {
    std::uint64_t bases[max_grid_page_arrays];
    std::uint32_t words[max_grid_page_arrays];  // at which the array begins
    std::uint32_t widths[max_grid_page_arrays];
};

// Takes the content of a page with `count` entries apart. Returns false when they reach beyond its `size`
// words.
GPU_ENGINE_BOTH bool open_grid_page(const std::uint64_t *content, std::uint32_t size, std::uint32_t count,
                                    std::uint32_t arrays, GridPageArrays *page) {
    constexpr std::uint32_t head_words = sizeof(GridPageHead) / 8;
    std::uint32_t word = head_words + arrays + (arrays + 7) / 8;
    if (word > size) {
        return false;
    }
    for (std::uint32_t i = 0; i < arrays; ++i) {
        page->bases[i] = content[head_words + i];
        page->widths[i] =
            static_cast<std::uint32_t>(content[head_words + arrays + i / 8] >> (i % 8 * 8) & 0xff);
        page->words[i] = word;
        if (page->widths[i] > 64) {
            return false;
        }
        word += (count * page->widths[i] + 63) / 64;
        if (word > size) {
            return false;
        }
    }
    return true;
}

GPU_ENGINE_BOTH std::uint64_t grid_page_value(const std::uint64_t *content, const GridPageArrays &page,
                                              std::uint32_t array, std::uint32_t i) {
    const std::uint32_t width = page.widths[array];
    if (width == 0) {
        return page.bases[array];
    }
    const std::uint32_t bit = i * width;
    const std::uint64_t *word = content + page.words[array] + bit / 64;
    const std::uint32_t shift = bit % 64;
    std::uint64_t value = word[0] >> shift;
    if (shift + width > 64) {
        value |= word[1] << (64 - shift);
    }
    return page.bases[array] + (width == 64 ? value : value & ((std::uint64_t(1) << width) - 1));
}

// Bit c says that the entry is NULL in column c.
GPU_ENGINE_BOTH std::uint8_t grid_null_mask(const GridPageColumns &columns, std::uint64_t page_mask) {
    std::uint32_t mask = 0;
    for (std::uint32_t c = 0; c < columns.columns; ++c) {
        mask |= static_cast<std::uint32_t>(page_mask >> columns.null_bit[c] & 1) << c;
    }
    return static_cast<std::uint8_t>(mask);
}

inline Status check_page_columns(const GridPageColumns &columns, std::uint64_t entries) noexcept {
    if (columns.columns == 0 || columns.columns > max_grid_columns) {
        return make_status(StatusCode::invalid_argument, "a grid has 1 to 8 columns");
    }
    if (entries > Grid::max_entries) {
        return make_status(StatusCode::invalid_argument, "more entries than a grid can hold");
    }
    for (std::uint32_t c = 0; c < columns.columns; ++c) {
        if ((columns.key_bytes[c] != 4 && columns.key_bytes[c] != 8) || columns.null_bit[c] >= 8) {
            return make_status(StatusCode::invalid_argument, "no column has this width or bit");
        }
    }
    return {};
}

inline Status check_grid_pages(const GridPages &pages) noexcept {
    constexpr std::uint32_t max_page_bytes = 65536;
    if (pages.page_bytes == 0 || pages.page_bytes > max_page_bytes || pages.page_bytes % 8 != 0 ||
        pages.first_byte % 8 != 0 || pages.first_byte > pages.page_bytes ||
        pages.page_bytes - pages.first_byte < sizeof(GridPageHead)) {
        return make_status(StatusCode::invalid_argument, "no page has this layout");
    }
    return {};
}

// Sums up the entries of the pages with these heads; *found becomes their number. `loaded` of `entries`
// entries came before. Fails when the pages aren't the next ones. `heads` is read once.
inline Status sum_grid_pages(const GridPageHead *heads, std::uint64_t pages, std::uint32_t arrays,
                             std::uint64_t loaded, std::uint64_t entries, std::uint32_t *begins,
                             std::uint64_t *found) noexcept {
    *found = 0;
    for (std::uint64_t i = 0; i < pages; ++i) {
        const GridPageHead &head = heads[i];
        if (head.arrays != arrays || head.count == 0 || head.first != loaded + *found ||
            head.count > entries - loaded - *found) {
            return make_status(StatusCode::invalid_argument, "a page contradicts its run");
        }
        begins[i] = static_cast<std::uint32_t>(loaded + *found);
        *found += head.count;
    }
    return {};
}

inline Status contradicted_by_page() noexcept {
    return make_status(StatusCode::invalid_argument, "a page contradicts itself");
}

// Returns the entries that a loader has gathered from all pages: a buffer of keys for each column, NULLs,
// which may be null, and TIDs.
template <typename Keys>
GridEntries entries_of_arrays(const GridPageColumns &columns, const Keys *keys, const std::uint8_t *nulls,
                              const Tid *tids, std::uint64_t count) {
    GridEntries entries = {};
    entries.columns = columns.columns;
    for (std::uint32_t c = 0; c < columns.columns; ++c) {
        entries.key_bytes[c] = columns.key_bytes[c];
        entries.keys[c] = keys[c].data();
    }
    entries.nulls = nulls;
    entries.tids = tids;
    entries.count = count;
    return entries;
}

}  // namespace gpu_engine
