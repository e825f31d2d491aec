// Dictionaries of compressed columns: sorted, each entry once, numbered from 0 by codes. The merge of two
// gives their union and, for each of the two, a map from old codes to new ones (X_M and X_D in the
// literature: Krueger et al., "Applicability of GPU Computing for Efficient Merge in In-Memory Databases",
// 2011).
#pragma once

#include <cstdint>

namespace gpu_engine {

template <typename Entry>
struct Dictionary {
    const Entry *entries;
    std::uint64_t count;
};

// The arrays that a merge writes.
template <typename Entry>
struct MergedDictionary {
    Entry *entries;            // places for the entries of both
    std::uint32_t *main_map;   // a new code for each of main's
    std::uint32_t *delta_map;  // and of delta's
    std::uint64_t count;       // set to how many entries there are
};

// The most entries that both dictionaries of a merge may have together; more is invalid_argument.
inline constexpr std::uint64_t max_dictionary_entries = INT32_MAX;

}  // namespace gpu_engine
