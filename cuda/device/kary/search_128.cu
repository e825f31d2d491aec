#include "device/kary/pieces.cuh"

namespace gpu_engine::device {

template Tree<Key128> build_array_tree(const Call &, Key128 *, std::uint64_t, TreeMemory *);
template void rank_piece(const Call &, const Tree<Key128> &, const Key128 *, std::uint64_t, std::uint32_t *);
template void find_piece(const Call &, const Tree<Key128> &, const Key128 *, std::uint64_t, KaryRange *);
template void bounds_piece(const Call &, const Tree<Key128> &, const Key128 *, const Key128 *, std::uint64_t,
                           KaryRange *);

}  // namespace gpu_engine::device
