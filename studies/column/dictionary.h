// Dictionaries in all the ways that were studied: entries of 32, 64 and 128 bits and strings, four ways to
// merge two, the removal of duplicates, and codes written anew. Merges of gpu_column's runs use one of these
// ways, for entries of 64 bits: Column::merge_dictionaries.
#pragma once

#include <cstdint>

#include "studies/column/histogram.h"
#include "gpu_engine/column_dictionary.h"
#include "gpu_engine/engine.h"
#include "gpu_engine/entry.h"
#include "gpu_engine/status.h"

namespace gpu_engine {

// Entry i is bytes[offsets[i]] to bytes[offsets[i + 1] - 1]. `offsets` has count + 1 places and begins with
// 0.
struct StringDictionary {
    const std::uint64_t *offsets;
    const std::uint8_t *bytes;
    std::uint64_t count;
};

struct MergedStrings {
    std::uint64_t *offsets;  // places for the entries of both, and one more
    std::uint8_t *bytes;     // places for the bytes of both
    std::uint32_t *main_map;
    std::uint32_t *delta_map;
    std::uint64_t count;
};

// What strings are sorted by.
enum class StringOrder : std::int32_t {
    bytes,  // the shorter one first where one begins with the other
    hash,   // string_hash, and bytes where that is the same: for columns compared for equality alone
};

enum class MergeWay : std::int32_t {
    fused,             // along the merge path, union and both maps at once
    merge_unique_map,  // merge, remove duplicates, look each entry's code up
    sort_unique_map,   // concatenate, sort, remove duplicates, look up
    slices,            // main in slices of one length, each with the part of delta that falls into it
};

// Codes to be written anew: code c becomes map[c].
struct MappedCodes {
    PackedCodes codes;
    const std::uint32_t *map;
    std::uint64_t map_entries;
};

// Dictionaries that aren't sorted are invalid_argument or give a wrong result, but no access beyond the
// arguments. Outputs mustn't overlap inputs.
class Dictionaries {
  public:
    Dictionaries() = default;
    Dictionaries(const Dictionaries &) = delete;
    Dictionaries &operator=(const Dictionaries &) = delete;
    virtual ~Dictionaries() = default;

    virtual Status merge(Stream &stream, const Dictionary<std::uint32_t> &main,
                         const Dictionary<std::uint32_t> &delta, MergeWay way,
                         MergedDictionary<std::uint32_t> *merged) noexcept = 0;
    virtual Status merge(Stream &stream, const Dictionary<std::uint64_t> &main,
                         const Dictionary<std::uint64_t> &delta, MergeWay way,
                         MergedDictionary<std::uint64_t> *merged) noexcept = 0;
    virtual Status merge(Stream &stream, const Dictionary<Key128> &main, const Dictionary<Key128> &delta,
                         MergeWay way, MergedDictionary<Key128> *merged) noexcept = 0;
    // Strings are merged in the fused way. Offsets that fall, or begin with another number than 0, are
    // invalid_argument.
    virtual Status merge(Stream &stream, const StringDictionary &main, const StringDictionary &delta,
                         StringOrder order, MergedStrings *merged) noexcept = 0;

    // Removes duplicates: the dictionary of `count` values in any order (at most `count` places), and each
    // value's code. `codes` may be null.
    virtual Status build(Stream &stream, const std::uint32_t *values, std::uint64_t count,
                         std::uint32_t *entries, std::uint32_t *codes, std::uint64_t *distinct) noexcept = 0;
    virtual Status build(Stream &stream, const std::uint64_t *values, std::uint64_t count,
                         std::uint64_t *entries, std::uint32_t *codes, std::uint64_t *distinct) noexcept = 0;
    virtual Status build(Stream &stream, const Key128 *values, std::uint64_t count, Key128 *entries,
                         std::uint32_t *codes, std::uint64_t *distinct) noexcept = 0;

    // Writes main's codes and behind them delta's through their maps, `bits` bits each, into
    // packed_words(main + delta, bits) words; bits behind the last code are 0. A code beyond its map, or one
    // that takes more bits, is invalid_argument.
    virtual Status recode(Stream &stream, const MappedCodes &main, const MappedCodes &delta,
                          std::uint32_t bits, std::uint32_t *words) noexcept = 0;
};

}  // namespace gpu_engine
