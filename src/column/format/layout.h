// The layout of gpu_column's run pages. README.md beside this file draws the whole.
#pragma once

#include "gpu_engine/tid_pages.h"
#include "storage/storage.h"

namespace pg_gpu::column {

inline constexpr uint32 kRunKindId = 0x636c0001;
inline constexpr int kMaxColumns = INDEX_MAX_KEYS;

// Sections of a run of columns; section 0 is storage's dead bitmap.
inline constexpr int kTidSection = storage::kEntrySection;
inline constexpr int kStreamSection = 2;
inline constexpr int kHeaderSection = 3;

// ---- the directory entry's words --------------------------------------------------------------------------

// Raw: a sealed tail, one page with the tuples as they arrived.
enum class Layout : uint8 { Raw = 1, Columns = 2 };

inline constexpr int kLayoutShift = 56;

inline Layout layout_of(const storage::RunEntry &run) {
    return static_cast<Layout>(run.access_method_data[0] >> kLayoutShift);
}

inline uint64 stream_words(const storage::RunEntry &run) {
    return run.access_method_data[0] & ((UINT64CONST(1) << kLayoutShift) - 1);
}

// Returns how many heap blocks the entries lie on.
inline uint64 heap_blocks_of(const storage::RunEntry &run) {
    return run.access_method_data[1];
}

inline void set_run_data(storage::RunEntry *run, Layout layout, uint64 words, uint64 heap_blocks) {
    run->access_method_data[0] = uint64{static_cast<uint8>(layout)} << kLayoutShift | words;
    run->access_method_data[1] = heap_blocks;
}

// ---- TIDs -------------------------------------------------------------------------------------------------

// A page of section 1.
using gpu_engine::TidPageHead;
using gpu_engine::TidSpan;
inline constexpr uint16 kBitmapFlag = gpu_engine::tid_bitmap_flag;
inline constexpr uint32 kMaxBitmapWords = (MaxHeapTuplesPerPage + 63) / 64;
inline constexpr uint32 kMaxTidsOnPage = storage::kMaxTidsRead - storage::kMaxTidsRead % 64;

// ---- the stream of words ----------------------------------------------------------------------------------

// Section 2 is one array of 64-bit words, without gaps from page to page; columns' parts are areas of it.
// Bits are numbered from a word's lowest. Values of b bits lie packed in groups of 64, b words each.
inline constexpr uint32 kWordsPerPage = storage::kContentBytes / sizeof(uint64);
inline constexpr uint32 kGroup = 64;

struct Area {
    uint64 first_word;
    uint64 words;
};

inline uint64 groups_of(uint64 values) {
    return (values + kGroup - 1) / kGroup;
}

inline uint32 pages_of_words(uint64 words) {
    return static_cast<uint32>((words + kWordsPerPage - 1) / kWordsPerPage);
}

// ---- columns ----------------------------------------------------------------------------------------------

enum class Encoding : uint8 {
    Dictionary = 1,  // codes are places in the sorted dictionary
    Frame = 2,       // codes are differences from `base`
    Plain = 3,       // codes are the integers in their full width
    Scaled = 4,      // numerics without their points, as integers in a frame of reference (scaled_numeric.h)
};

struct ColumnHeader {
    uint8 encoding;
    uint8 bits;        // bits of a code
    uint8 entry_bits;  // entry bits of a dictionary's integer, a difference from `base`
    uint8 scale;       // of Scaled: the number of digits behind the point; of others 0
    uint8 reserved[4];
    uint64 base;              // least integer, NULLs aside; of strings, all entries' bytes
    uint64 highest;           // greatest integer; length of the longest string
    uint64 distinct;          // entries of the dictionary
    uint64 nulls;             // entries of the run with NULL here; their codes are 0 or mean nothing
    uint64 dictionary_bytes;  // bytes of strings, compressed
    Area null_bits;           // a bit an entry; no words without NULLs
    Area dictionary;          // packed integers, or strings (README.md)
    Area blocks;              // of strings: where in the dictionary each block of 64 begins, in bytes
    Area codes;
};
static_assert(sizeof(ColumnHeader) == 112);

// The page of section 3.
struct RunHeader {
    uint64 entries;
    uint32 columns;
    uint32 reserved;
    ColumnHeader column[kMaxColumns];
};
static_assert(sizeof(RunHeader) <= storage::kContentBytes);

inline constexpr uint32 kDictionaryBlock = 64;

// Numerics have a dictionary where there are no more than so many, or where their codes would have fewer
// bits.
inline constexpr int kMaxListedNumerics = 65536;
inline constexpr uint32 kLeastScaledBits = 17;

// Bits that tell so many codes apart.
inline uint32 bits_for_entries(uint64 entries) {
    return entries <= 1 ? 0 : static_cast<uint32>(64 - __builtin_clzll(entries - 1));
}

// Bits of the numbers up to this one.
inline uint32 bits_for_range(uint64 highest) {
    return highest == 0 ? 0 : static_cast<uint32>(64 - __builtin_clzll(highest));
}

// ---- tail tuples
// -------------------------------------------------------------------------------------------

// Head, a NULL bit a column, then each column that isn't NULL: an integer in its width, or a string behind
// its length (a varint). The raw page's dead bitmap must fit behind them.
inline constexpr uint32 kTailCapacity = 8056;
inline constexpr uint32 kLeastTailTuple = sizeof(storage::TailTuple) + 4;
static_assert(MAXALIGN(storage::kContentStart + kTailCapacity) +
                  (kTailCapacity / kLeastTailTuple + 63) / 64 * 8 <=
              storage::kContentEnd);

}  // namespace pg_gpu::column
