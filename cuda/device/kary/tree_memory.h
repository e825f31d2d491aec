// The memory that a tree's parts lie in.
#pragma once

#include <cstdint>

#include "device/call.h"
#include "device/kary/tree.h"
#include "device/memory.h"

namespace gpu_engine::device {

// A tree's memory apart from the keys.
struct TreeMemory {
    Buffer<unsigned char> codes;
    Buffer<Prefix> prefixes;  // upper levels, then the top

    std::uint64_t bytes() const { return codes.bytes() + prefixes.bytes(); }
    void set_stream(cudaStream_t stream) {
        codes.set_stream(stream);
        prefixes.set_stream(stream);
    }
};

// Returns how many places a level of prefixes takes: it ends where the next may begin, on a boundary for
// vector loads.
inline std::uint64_t aligned_prefixes(std::uint64_t size) {
    constexpr std::uint64_t align = Memory::alignment / sizeof(Prefix);
    return (size + align - 1) / align * align;
}
template <typename Shape>
std::uint64_t all_prefixes(const TreeSizes<Shape> &sizes) {
    std::uint64_t prefixes = aligned_prefixes(sizes.top_size());
    for (int level = 0; level <= sizes.upper_levels; ++level) {
        prefixes += aligned_prefixes(sizes.upper_size(level));
    }
    return prefixes;
}

// Builds all levels above `keys` from the bottom up. `keys` has padded_keys places, of which `entries` (at
// least one) are filled; the rest is filled here. Waits for the device.
template <typename Shape>
Tree<typename Shape::Key> build_tree(const Call &call, typename Shape::Key *keys, std::uint64_t entries,
                                     TreeMemory *memory);

}  // namespace gpu_engine::device
