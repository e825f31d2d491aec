#include "device/kary/pieces.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template Tree<Key> build_array_tree(const Call &, Key *, std::uint64_t, TreeMemory *);
template void find_piece(const Call &, const Tree<Key> &, const Key *, std::uint64_t, KaryRange *);
template void bounds_piece(const Call &, const Tree<Key> &, const Key *, const Key *, std::uint64_t,
                           KaryRange *);

}  // namespace gpu_engine::device
