// Layouts of gpu_column's runs, as both engines check and keep them.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_engine/both.h"
#include "gpu_engine/column.h"

namespace gpu_engine {

// Returns value i of an area of packed values. Two words are read for it.
GPU_ENGINE_BOTH std::uint64_t packed_at(const std::uint64_t *words, std::uint64_t i, std::uint32_t bits) {
    if (bits == 0) {
        return 0;
    }
    const std::uint64_t bit = i * bits;
    const auto shift = static_cast<std::uint32_t>(bit % 64);
    const std::uint64_t low = words[bit / 64] >> shift;
    // This does without a branch: where nothing of the next word is wanted, all of it is shifted out.
    const std::uint64_t high = words[bit / 64 + 1] << 1 << (63 - shift);
    return (low | high) & (UINT64_MAX >> (64 - bits));
}

// Returns how many entries of a dictionary of integers are below a value. An entry is `base` and a packed
// value together.
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

// A store keeps the stream's areas one after the other, each of them on a boundary of 8 words. Behind the
// last lie 8 words that mean nothing, since codes are read two words at a time.
inline constexpr std::uint64_t kept_alignment = 8;

struct KeptColumn {
    std::uint64_t null_bits;  // first words
    std::uint64_t dictionary;
    std::uint64_t blocks;  // of dictionaries of strings, which are kept apart
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

// Returns invalid_argument unless a run can have this layout.
Status check_store_layout(const StoreLayout &layout) noexcept;

// What a store keeps, and what is kept of dictionaries of strings. Throw std::bad_alloc.
KeptStream keep_stream(const StoreLayout &layout);
KeptStream keep_strings(const StoreLayout &layout);

// Words on one page that a store keeps.
struct KeptPiece {
    std::uint32_t page;  // number among the pages given
    std::uint32_t at;    // word of its content
    std::uint32_t words;
    std::uint32_t reserved;
    std::uint64_t to;
};

// Returns the pieces that a store keeps of `pages` pages of the stream, the first of which has number
// `first`.
std::vector<KeptPiece> pieces_of_pages(const StoreLayout &layout, const KeptStream &kept, std::uint64_t first,
                                       std::uint64_t pages);

// Copies a test's ranges, which the caller may change meanwhile. Throws Failure when they don't ascend.
std::vector<ValueRange> copy_ranges(const ColumnTest &test);

// Says whether a store of the layout can be asked these tests, or counted by this target.
Status check_request(const StoreLayout &layout, const ColumnTest *tests, std::uint32_t test_count) noexcept;
Status check_target(const StoreLayout &layout, const ColumnTarget &target) noexcept;

}  // namespace gpu_engine
