// Merges sorted dictionaries of strings to their union.
#pragma once

#include <vector>

#include "host/buffer.h"
#include "host/parallel.h"
#include "host/strings/entries.h"

namespace gpu_engine::host {

struct StringUnion {
    std::vector<Buffer<std::uint32_t>> numbers;  // by member, of its codes
    Buffer<std::uint16_t> member;                // by number, one of those that have the entry
    std::uint64_t entries = 0;
};

// Throws Failure when there is no memory, and where a dictionary is damaged.
StringUnion unite(MemoryBudget &memory, const Workers &workers, const std::vector<StringArea> &areas);

}  // namespace gpu_engine::host
