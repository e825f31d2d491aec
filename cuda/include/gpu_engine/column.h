// Mirrors of gpu_column's runs: columns of rows, dictionary-compressed as on the run's pages
// (src/column/README.md), and counts and filters over them.
//
// A run's rows have numbers from 0, in the order of their TIDs. A value is an unsigned integer; of a column
// of strings only the codes are here, places in a dictionary that the caller knows.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/column_dictionary.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/kary.h"
#include "gpu_engine/packing.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

inline constexpr std::uint32_t max_store_columns = 32;

// Codes lie packed in groups (gpu_engine/packing.h).
constexpr std::uint64_t packed_groups(std::uint64_t values) noexcept {
    return (values + packing::group - 1) / packing::group;
}

enum class ColumnEncoding : std::uint8_t {
    dictionary = 1,  // codes are places in the sorted dictionary
    frame = 2,       // codes are differences from `base`
    plain = 3,       // codes are values; `base` is 0
};

// Words of the run's stream.
struct WordArea {
    std::uint64_t first;
    std::uint64_t words;
};

struct StoredColumn {
    ColumnEncoding encoding;
    std::uint8_t bits;        // bits of a code, 0 to 64; in a dictionary those that tell its entries apart
    std::uint8_t entry_bits;  // entry bits of a dictionary's integer, a difference from `base`
    std::uint8_t strings;     // the dictionary has strings, which a ColumnStore leaves out (strings.h)
    std::uint32_t reserved;
    std::uint64_t base;
    std::uint64_t distinct;      // entries of the dictionary
    std::uint64_t string_bytes;  // of a dictionary of strings; 0: nobody keeps it
    WordArea null_bits;          // a bit a row; no words without NULLs. The code of a NULL means nothing
    WordArea dictionary;
    WordArea blocks;  // of strings: at which byte each block of string_block entries begins
    WordArea codes;
};
static_assert(sizeof(StoredColumn) == 96);

// Strings ascend by their bytes. Each is the number of bytes that it shares with the one before, the number
// of those that follow (both varints), and these. The first of a block shares nothing.
inline constexpr std::uint64_t string_block = 64;

// code_slots returns how many codes there are to be counted: entries of a dictionary, or all numbers that the
// bits can make.
constexpr std::uint32_t max_counted_bits = 16;  // for codes that aren't places in a dictionary
inline std::uint64_t code_slots(const StoredColumn &column) noexcept {
    return column.encoding == ColumnEncoding::dictionary ? column.distinct
           : column.bits <= max_counted_bits             ? std::uint64_t(1) << column.bits
                                                         : 0;
}

// A run's pages: `tid_pages` pages of TIDs, then those of the stream, `page_words` words each.
struct StoreLayout {
    std::uint64_t rows;
    std::uint64_t stream_words;
    std::uint32_t tid_pages;
    std::uint32_t page_bytes;
    std::uint32_t first_byte;  // where a page's content begins
    std::uint32_t page_words;  // words of a page's content
    std::uint32_t columns;
    std::uint32_t reserved;
    StoredColumn column[max_store_columns];

    std::uint64_t pages() const noexcept {
        return tid_pages + (page_words > 0 ? (stream_words + page_words - 1) / page_words : 0);
    }
};

// ---- requests -------------------------------------------------------------------------------------------

// Both bounds are included.
struct ValueRange {
    std::uint64_t low;
    std::uint64_t high;
};

enum class TestKind : std::uint32_t {
    is_null = 1,
    is_value,  // not NULL
    ranges,    // a value in one of `count` ranges, which ascend and don't touch
    codes,     // a code whose bit is set in `count` words; codes behind them are out
};

// A test that a row must pass in a column. A NULL passes is_null only.
struct ColumnTest {
    TestKind kind;
    std::uint32_t column;
    const ValueRange *ranges;
    const std::uint64_t *codes;
    std::uint64_t count;
};

// The distribution of values among a histogram's starts, as far as it makes their slots quick to find. It
// never decides a slot.
enum class ValueScale : std::uint32_t {
    integers = 0,  // evenly
    float4,        // evenly, once they are floats again: the order of their bits is that of the numbers
    float8,
};

enum class TargetKind : std::uint32_t {
    rows = 1,  // one slot
    bins,      // a value's slot is the number of starts at most as great; starts ascend
    codes,     // a slot a code (code_slots); only of columns that have some
    bounds,    // the number of rows that aren't NULL, the least value, the greatest
};

struct ColumnTarget {
    TargetKind kind;
    std::uint32_t column;
    std::uint32_t slots;  // of bins: one more than there are starts
    ValueScale scale;
    const std::uint64_t *starts;
    std::uint32_t even;  // the first so many starts are those of bins of equal width
    std::uint32_t reserved;

    static constexpr std::uint32_t max_slots = (1U << 20) + 4;
};
inline constexpr std::uint64_t bounds_places = 3;

// A row whose heap block is unknown. `number` is its slot, its code or its value, as the target has it. The
// slot of NULL is the number of slots.
struct alignas(8) UnresolvedRow {
    std::uint64_t number;
    Tid tid;
    std::uint16_t reserved;
};
static_assert(sizeof(UnresolvedRow) == 16);

// ---- stores ----------------------------------------------------------------------------------------------

// All functions but the destructor may run on several streams at once. On a status that isn't ok the outputs
// hold nothing of use, unless said otherwise. Where the caller's memory changes meanwhile, or pages lie,
// answers are wrong, but nothing else goes wrong.
class ColumnStore : public Store {
  public:
    virtual const StoreLayout &layout() const noexcept = 0;

    // Returns how many places `counts` has: the target's slots, and one for NULLs behind them. 0 for a target
    // that this store can't answer: of another column, or of codes that are too many.
    std::uint64_t places(const ColumnTarget &target) const noexcept;

    // Counts, by slot, the live rows that pass all tests and are visible as far as `blocks` knows. Those on
    // unknown blocks that pass are given back in no certain order: *found of them; when they are more than
    // `capacity`, `counts` and *found are of use, and the status is insufficient_space. With `blocks` null
    // all rows are visible. NULLs count for no bounds.
    virtual Status count(Stream &stream, const ColumnTest *tests, std::uint32_t test_count,
                         const ColumnTarget &target, const HeapBlocks *blocks, std::uint64_t *counts,
                         UnresolvedRow *unresolved, std::uint64_t capacity,
                         std::uint64_t *found) const noexcept = 0;

    // Finds the TIDs of all live rows that pass, in no certain order.
    virtual Status match(Stream &stream, const ColumnTest *tests, std::uint32_t test_count, Tid *tids,
                         std::uint64_t capacity, std::uint64_t *found) const noexcept = 0;
};

// A store in the making: pages come in order, each once.
class ColumnLoader : public Interface {
  public:
    virtual const StoreLayout &layout() const noexcept = 0;
    virtual std::uint64_t loaded_pages() const noexcept = 0;

    // Takes the next pages. Pages that contradict themselves or those before are invalid_argument. After a
    // failure none of them has been taken.
    virtual Status append_pages(Stream &stream, const void *images, std::uint32_t pages) noexcept = 0;

    // All pages must have come; the loader is then empty.
    virtual Status finish(Stream &stream, std::unique_ptr<ColumnStore> *store) noexcept = 0;
};

// Makes stores, and merges dictionaries of runs that become one.
class Column : public Interface {
  public:
    static constexpr std::uint64_t max_rows = UINT32_MAX;

    // Reserves the memory of the whole store.
    virtual Status open_loader(Stream &stream, const StoreLayout &layout,
                               std::unique_ptr<ColumnLoader> *loader) noexcept = 0;
    // The bytes that a store of this layout takes of the engine's memory; 0 for a layout that can't be.
    virtual std::uint64_t store_bytes(const StoreLayout &layout) const noexcept = 0;

    // The union of two dictionaries, and the maps from their codes to its own. Dictionaries that aren't
    // sorted are invalid_argument or give a wrong result, but no access beyond the arguments. Outputs mustn't
    // overlap inputs.
    virtual Status merge_dictionaries(Stream &stream, const Dictionary<std::uint64_t> &main,
                                      const Dictionary<std::uint64_t> &delta,
                                      MergedDictionary<std::uint64_t> *merged) noexcept = 0;
};

}  // namespace gpu_engine
