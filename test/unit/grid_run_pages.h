// Page images of gpu_grid's runs, written by the layout that sessions know (src/grid/page.h).
#pragma once

#include <cstring>
#include <vector>

#include "grid/page.h"
#include "grid_reference.h"

namespace grid_test {

inline constexpr std::uint32_t page_bytes = 8192;
inline constexpr std::uint32_t first_byte = 24;
inline constexpr std::uint32_t special_bytes = 16;

using Page = std::vector<char>;

// One page of values by array. `first` is its first entry's number.
inline Page make_page(std::uint64_t first, const std::vector<std::vector<std::uint64_t>> &arrays) {
    const int count = static_cast<int>(arrays.size());
    const auto entries = static_cast<std::uint32_t>(arrays[0].size());
    Page page(page_bytes, 0);
    char *content = page.data() + first_byte;
    const pg_gpu::grid::EntryPageHead head = {first, static_cast<std::uint16_t>(entries),
                                              static_cast<std::uint16_t>(count), 0};
    std::memcpy(content, &head, sizeof(head));
    std::uint32_t at = pg_gpu::grid::head_bytes(count);
    for (int i = 0; i < count; ++i) {
        const auto &values = arrays[static_cast<std::size_t>(i)];
        const std::uint64_t low = *std::min_element(values.begin(), values.end());
        const std::uint64_t high = *std::max_element(values.begin(), values.end());
        const int width = pg_gpu::grid::packed_width(high - low);
        std::memcpy(content + sizeof(head) + i * 8, &low, sizeof(low));
        content[static_cast<int>(sizeof(head)) + count * 8 + i] = static_cast<char>(width);
        for (std::uint32_t j = 0; j < entries; ++j) {
            for (int bit = 0; bit < width; ++bit) {
                const std::uint64_t place =
                    std::uint64_t(j) * static_cast<std::uint32_t>(width) + static_cast<std::uint32_t>(bit);
                const auto set = static_cast<int>((values[j] - low) >> bit & 1);
                content[at + place / 8] = static_cast<char>(content[at + place / 8] | set << (place % 8));
            }
        }
        at += pg_gpu::grid::array_bytes(entries, width);
    }
    return page;
}

// Each entry's values by array. Column c's NULLs have bit null_bit[c] of a page's masks.
inline std::vector<std::vector<std::uint64_t>> values_of(const Points &points,
                                                         const std::vector<std::uint8_t> &null_bit,
                                                         std::size_t first, std::size_t last) {
    std::vector<std::vector<std::uint64_t>> arrays(3 + points.columns());
    for (std::size_t i = first; i < last; ++i) {
        const std::uint64_t tid = tid_number(points.tids[i]);
        arrays[0].push_back(tid >> 16);
        arrays[1].push_back(tid & 0xffff);
        std::uint64_t mask = 0;
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            mask |= std::uint64_t(points.null_mask(i) >> c & 1) << null_bit[c];
            arrays[3 + c].push_back(points.keys[c][i]);
        }
        arrays[2].push_back(mask);
    }
    return arrays;
}

// A run of `points` in pages of 1 to `most` entries.
inline std::vector<Page> make_pages(const Points &points, const std::vector<std::uint8_t> &null_bit,
                                    std::size_t most, std::mt19937_64 &random) {
    std::vector<Page> pages;
    for (std::size_t first = 0; first < points.count();) {
        const std::size_t last = std::min<std::size_t>(first + 1 + random() % most, points.count());
        pages.push_back(make_page(first, values_of(points, null_bit, first, last)));
        pg_gpu::grid::EntryPage parts;
        // Sessions must be able to read what was written.
        if (!pg_gpu::grid::open_entry_page(pages.back().data() + first_byte,
                                           page_bytes - first_byte - special_bytes,
                                           static_cast<int>(3 + points.columns()), &parts)) {
            return {};
        }
        first = last;
    }
    return pages;
}

// Points of two columns, of 32 and 64 bits.
inline Points small_points(std::size_t count, std::mt19937_64 &random) {
    Points points;
    points.keys = {Keys(false), Keys(true)};
    for (std::size_t i = 0; i < count; ++i) {
        points.keys[0].push(random() % 100);
        points.keys[1].push(random() % 100);
        points.tids.push_back(make_tid((random() % 100) << 16 | 1));
    }
    return points;
}

}  // namespace grid_test
