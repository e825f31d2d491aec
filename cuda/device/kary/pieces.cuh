// The searches of a batch's piece with the width's default tree.
#pragma once

#include "device/kary/array.h"
#include "device/kary/launch.cuh"

namespace gpu_engine::device {

static_assert(sizeof(KaryRange) == sizeof(uint2));

template <typename Key>
void rank_piece(const Call &call, const Tree<Key> &tree, const Key *keys, std::uint64_t count,
                std::uint32_t *ranks) {
    using Shape = typename DefaultShape<Key>::type;
    launch_search<Shape>(tree, RankOperation<Shape>{keys, ranks}, count, call.engine().multiprocessors(),
                         call.stream());
}

template <typename Key>
void find_piece(const Call &call, const Tree<Key> &tree, const Key *keys, std::uint64_t count,
                KaryRange *ranges) {
    using Shape = typename DefaultShape<Key>::type;
    launch_search<Shape>(tree, FindOperation<Shape>{keys, reinterpret_cast<uint2 *>(ranges)}, count,
                         call.engine().multiprocessors(), call.stream());
}

template <typename Key>
void bounds_piece(const Call &call, const Tree<Key> &tree, const Key *low, const Key *high,
                  std::uint64_t count, KaryRange *ranges) {
    using Shape = typename DefaultShape<Key>::type;
    launch_search<Shape>(tree, BoundsOperation<Shape>{low, high, reinterpret_cast<uint2 *>(ranges)}, count,
                         call.engine().multiprocessors(), call.stream());
}

}  // namespace gpu_engine::device
