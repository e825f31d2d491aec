// Dictionaries, and codes packed bit by bit: the reference of gpu_engine::PackedCodes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "studies/column/histogram.h"

// Makes a sorted dictionary, which has each value once.
template <typename Entry>
std::vector<Entry> dictionary_of(std::vector<Entry> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
}

inline std::vector<std::uint32_t> packed(const std::vector<std::uint32_t> &codes, std::uint32_t bits) {
    std::vector<std::uint32_t> words(gpu_engine::packed_words(codes.size(), bits));
    for (std::size_t i = 0; i < codes.size(); ++i) {
        for (std::uint32_t bit = 0; bit < bits; ++bit) {
            const std::size_t at = i * bits + bit;
            words[at / 32] |= (codes[i] >> bit & 1U) << (at % 32);
        }
    }
    return words;
}
