// Trees and the searches of a batch's piece, in the shape that the array's size has.
#pragma once

#include "device/kary/array.h"
#include "device/kary/launch.cuh"
#include "device/kary/shapes.h"
#include "device/kary/tree_build.cuh"

namespace gpu_engine::device {

static_assert(sizeof(KaryRange) == sizeof(uint2));

template <typename Key>
Tree<Key> build_array_tree(const Call &call, Key *keys, std::uint64_t entries, TreeMemory *memory) {
    return with_shape<Key>(entries, [&]<typename Shape>(std::type_identity<Shape>) {
        return build_tree<Shape>(call, keys, entries, memory);
    });
}

template <typename Key>
void find_piece(const Call &call, const Tree<Key> &tree, const Key *keys, std::uint64_t count,
                KaryRange *ranges) {
    with_shape<Key>(tree.entries, [&]<typename Shape>(std::type_identity<Shape>) {
        launch_search<Shape>(tree, FindOperation<Shape>{keys, reinterpret_cast<uint2 *>(ranges)}, count,
                             call.engine(), call.stream());
    });
}

template <typename Key>
void bounds_piece(const Call &call, const Tree<Key> &tree, const Key *low, const Key *high,
                  std::uint64_t count, KaryRange *ranges) {
    with_shape<Key>(tree.entries, [&]<typename Shape>(std::type_identity<Shape>) {
        launch_search<Shape>(tree, BoundsOperation<Shape>{low, high, reinterpret_cast<uint2 *>(ranges)},
                             count, call.engine(), call.stream());
    });
}

}  // namespace gpu_engine::device
