// Layouts of gpu_column's runs, as both engines check and keep them.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_engine/both.h"
#include "gpu_engine/column.h"

namespace gpu_engine {

// Value i of an area of packed values, of which two words are read.
GPU_ENGINE_BOTH std::uint64_t packed_at(const std::uint64_t *words, std::uint64_t i, std::uint32_t bits) {
    if (bits == 0) {
        return 0;
    }
    const std::uint64_t bit = i * bits;
    const auto shift = static_cast<std::uint32_t>(bit % 64);
    const std::uint64_t low = words[bit / 64] >> shift;
    // Without a branch: where nothing of it is wanted the next word is shifted out.
    const std::uint64_t high = words[bit / 64 + 1] << 1 << (63 - shift);
    return (low | high) & (UINT64_MAX >> (64 - bits));
}

// How many entries of a dictionary of integers are below a value: entries are `base` and the packed values.
GPU_ENGINE_BOTH std::uint64_t entries_below(const std::uint64_t *dictionary, const StoredColumn &column,
                                            std::uint64_t value) {
    if (value <= column.base) {
        return 0;
    }
    const std::uint64_t difference = value - column.base;
    std::uint64_t low = 0;
    std::uint64_t high = column.distinct;
    while (low < high) {
        const std::uint64_t middle = low + (high - low) / 2;
        if (packed_at(dictionary, middle, column.entry_bits) < difference) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// What a store keeps of the stream: the areas one after the other, each of them on a boundary of 8 words, and
// 8 words of nothing behind the last, for codes are read two words at a time.
inline constexpr std::uint64_t kept_alignment = 8;

struct KeptColumn {
    std::uint64_t null_bits;  // first words
    std::uint64_t dictionary;
    std::uint64_t codes;
};

struct KeptArea {
    WordArea area;
    std::uint64_t to;
};

struct KeptStream {
    std::uint64_t words = 0;
    KeptColumn column[max_store_columns] = {};
    std::vector<KeptArea> areas;
};

// invalid_argument unless a run can have this layout.
Status check_store_layout(const StoreLayout &layout) noexcept;

// Throws std::bad_alloc.
KeptStream keep_stream(const StoreLayout &layout);

// Words on one page that a store keeps.
struct KeptPiece {
    std::uint32_t page;  // of the pages given
    std::uint32_t at;    // word of its content
    std::uint32_t words;
    std::uint32_t reserved;
    std::uint64_t to;
};

// What is to be kept of `pages` pages of the stream, of which `first` is the first one's number.
std::vector<KeptPiece> pieces_of_pages(const StoreLayout &layout, const KeptStream &kept, std::uint64_t first,
                                       std::uint64_t pages);

// A test's ranges, which the caller may change meanwhile. Throws Failure when they don't ascend.
std::vector<ValueRange> copy_ranges(const ColumnTest &test);

// Which tests and targets a store of the layout can be asked.
Status check_question(const StoreLayout &layout, const ColumnTest *tests, std::uint32_t test_count) noexcept;
Status check_target(const StoreLayout &layout, const ColumnTarget &target) noexcept;

}  // namespace gpu_engine
