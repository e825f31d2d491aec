// The steps of making a grid file on the host.
#pragma once

#include <cstdint>

#include "host/engine.h"
#include "host/grid/file.h"

namespace gpu_engine::host {

// Makes an array longer at its end.
template <typename Element>
void grow(MemoryBudget &budget, Buffer<Element> &buffer, std::uint64_t used, std::uint64_t more) {
    Buffer<Element> larger(budget, used + more);
    std::copy_n(buffer.data(), used, larger.data());
    buffer = std::move(larger);
}

// Picks the lowest keys of a scale's slots 1, 2, ..., above `lowest` and at most `slots` - 1: all distinct
// ones of `sample`, which ascends, or its quantiles where these are too many. Returns their number, which may
// be 0.
inline std::uint32_t pick_scale(const std::uint64_t *sample, std::uint64_t size, std::uint64_t lowest,
                                std::uint32_t slots, std::uint64_t *scale) {
    std::uint32_t picked = 0;
    std::uint64_t last = lowest;
    bool too_many = false;
    for (std::uint64_t i = 0; i < size && !too_many; ++i) {
        if (sample[i] > last) {
            too_many = picked + 1 == slots;
            if (!too_many) {
                last = scale[picked++] = sample[i];
            }
        }
    }
    if (!too_many) {
        return picked;
    }
    picked = 0;
    last = lowest;
    for (std::uint64_t j = 1; j < slots; ++j) {
        const std::uint64_t key = sample[j * size / slots];
        if (key > last) {
            last = scale[picked++] = key;
        }
    }
    return picked;
}

// Builds the first level: scales, directory, and the entries in the order of its cells.
void build_first_level(HostEngine &engine, const Workers &workers, const GridEntries &entries,
                       const GridOptions &options, GridParts *parts);
// Makes grids for the overfull cells of grids [first_grid, last_grid), or of the first level where both are
// 0, and appends them to `parts`.
void build_lower_level(HostEngine &engine, const Workers &workers, const GridOptions &options,
                       std::uint64_t first_grid, std::uint64_t last_grid, GridParts *parts);

}  // namespace gpu_engine::host
