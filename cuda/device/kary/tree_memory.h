// What a tree's parts lie in.
#pragma once

#include "device/call.h"
#include "device/kary/tree.h"
#include "device/memory.h"

namespace gpu_engine::device {

// A tree's memory apart from the keys.
template <typename Shape>
struct TreeMemory {
    Buffer<typename Shape::Code> codes;
    Buffer<typename Shape::Key> separators;  // upper levels, then the top

    std::uint64_t bytes() const { return codes.bytes() + separators.bytes(); }
    void set_stream(cudaStream_t stream) {
        codes.set_stream(stream);
        separators.set_stream(stream);
    }
};

// Builds all levels above `keys` from the bottom up. `keys` has TreeSizes::keys places, of which `entries`
// (at least one) are filled; the rest is filled here. Waits.
template <typename Shape>
Tree<typename Shape::Key> build_tree(const Call &call, typename Shape::Key *keys, std::uint64_t entries,
                                     TreeMemory<Shape> *memory);

}  // namespace gpu_engine::device
