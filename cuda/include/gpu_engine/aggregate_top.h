// The first groups in the order of an accumulator, or the first rows in the order of the program's keys: what
// a request with AggregateTop leaves out.
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"

namespace gpu_engine {

// The first `count` groups in the order of a signed number in their records, of which word `word` is the
// first, counted from the key's on. Who asks sorts them: groups with the last one's number, or with greater
// ones, may come too. 0: all groups are wanted.
struct AggregateTop {
    std::uint64_t count;
    std::uint32_t word;
    std::uint8_t is_wide;     // the number has 128 bits: its upper half is the next word
    std::uint8_t descending;  // the greatest numbers come first
    std::uint16_t of_rows;    // 0, or what is wanted instead of groups: top_of_rows and others
};

// This asks for rows instead of groups: each row is a record by itself, and the first `count` are wanted in
// the order of the keys' words, as gpu_engine/top_rows.h makes them. The program's only accumulator is the
// least of the row's place, its TID. Records come in no certain order, and more of them may come than are
// wanted. Unresolved rows come if they might be among the first.
inline constexpr std::uint16_t top_of_rows = 1;
// All rows whose keys are the last wanted one's come too.
inline constexpr std::uint16_t top_with_ties = 2;
// Rows that their first key keeps out needn't have their other keys computed: no step of those can fail.
inline constexpr std::uint16_t top_by_first_key = 4;
// This stands by itself: only the number of groups is wanted, and no records come (AggregateOutput::counted).
// It has no effect where there are unresolved rows.
inline constexpr std::uint16_t top_only_counts = 8;

// Returns the rank of a number: groups with greater ranks come first. All numbers beyond 64 bits share the
// greatest rank or the least.
GPU_ENGINE_BOTH std::int64_t rank_in_order(const AggregateTop &top, std::uint64_t low, std::uint64_t high) {
    auto number = static_cast<std::int64_t>(low);
    if (top.is_wide != 0 && static_cast<std::int64_t>(high) != (number < 0 ? -1 : 0)) {
        number = static_cast<std::int64_t>(high) < 0 ? INT64_MIN : INT64_MAX;
    }
    // ~number is -number - 1, so it turns the order round and can't overflow.
    return top.descending != 0 ? number : ~number;
}

}  // namespace gpu_engine
