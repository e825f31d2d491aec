// Dictionaries of strings as gpu_column's pages have them (gpu_engine/column.h), for benchmarks and tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_engine/column.h"

namespace gpu_engine::bench {

struct FrontCoded {
    std::string bytes;
    std::vector<std::uint64_t> blocks;
};

inline void append_varint(std::uint64_t value, std::string *bytes) {
    for (; value >= 0x80; value >>= 7) {
        bytes->push_back(static_cast<char>(value | 0x80));
    }
    bytes->push_back(static_cast<char>(value));
}

// Of strings in order, each once.
inline FrontCoded front_code(const std::vector<std::string> &entries) {
    FrontCoded coded;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        std::size_t shared = 0;
        if (i % string_block == 0) {
            coded.blocks.push_back(coded.bytes.size());
        } else {
            const std::string &before = entries[i - 1];
            while (shared < before.size() && shared < entries[i].size() &&
                   before[shared] == entries[i][shared]) {
                ++shared;
            }
        }
        append_varint(shared, &coded.bytes);
        append_varint(entries[i].size() - shared, &coded.bytes);
        coded.bytes.append(entries[i], shared);
    }
    return coded;
}

}  // namespace gpu_engine::bench
