// Scaled numerics of a run as if they had a dictionary: which integers there are, each with a number, in
// their order. Expressions are evaluated once for each of them, and maps are by their numbers.
#pragma once

#include "column/reader.h"

namespace pg_gpu::column {

struct ValueList {
    uint64 count;  // of different values; rows without one have any number up to this one
    uint64 range;  // codes are below it
    // Where codes lie near each other, a word for 32 of them: a bit each for those that are there, and above
    // these bits how many are there before. Otherwise nullptr.
    const uint64 *words;
    const uint64 *codes;    // by number; nullptr where there are words
    const uint32 *numbers;  // by row; nullptr where there are words
};

inline constexpr uint32 kCodesPerListWord = 32;

// What a list takes at most, and one that there is no room to make.
inline constexpr size_t kNoList = SIZE_MAX;
size_t bytes_of_list(const ColumnHeader &header, uint64 rows);

// The list of a column of scaled numerics. The session keeps it, if pg_gpu.map_memory has room; otherwise it
// is made in the current memory context, and takes so much of *memory. Good until the transaction or the
// context ends. nullptr: there is no room. Means nothing when the run is stale afterwards, but may be used.
const ValueList *list_values(RunReader *reader, int column, size_t *memory);

// Ones among 32 bits. Processors count them sooner, but not all do.
inline uint32 count_ones(uint32 bits) {
    bits -= bits >> 1 & 0x55555555;
    bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
    return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// The number of a code, of a list with words. A code that isn't there has some number, too.
inline uint32 number_in_list(const ValueList &list, uint64 code) {
    const uint64 place = code < list.range ? code : list.range - 1;
    const uint64 word = list.words[place / kCodesPerListWord];
    const auto below = static_cast<uint32>((UINT64CONST(1) << (place % kCodesPerListWord)) - 1);
    return static_cast<uint32>(word >> 32) + count_ones(static_cast<uint32>(word) & below);
}

// Calls visit(number, code) for all values, in their order.
template <typename Visit>
void visit_list(const ValueList &list, Visit visit) {
    if (list.words == nullptr) {
        for (uint64 number = 0; number < list.count; number++)
            visit(number, list.codes[number]);
        return;
    }
    uint64 number = 0;
    for (uint64 first = 0; first < list.range; first += kCodesPerListWord) {
        const auto bits = static_cast<uint32>(list.words[first / kCodesPerListWord]);
        for (uint32 left = bits; left != 0; left &= left - 1)
            visit(number++, first + static_cast<uint32>(__builtin_ctz(left)));
    }
}

}  // namespace pg_gpu::column
