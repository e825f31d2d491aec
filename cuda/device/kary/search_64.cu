#include "device/kary/pieces.cuh"

namespace gpu_engine::device {

template Tree<std::uint64_t> build_array_tree(const Call &, std::uint64_t *, std::uint64_t, TreeMemory *);
template void rank_piece(const Call &, const Tree<std::uint64_t> &, const std::uint64_t *, std::uint64_t,
                         std::uint32_t *);
template void find_piece(const Call &, const Tree<std::uint64_t> &, const std::uint64_t *, std::uint64_t,
                         KaryRange *);
template void bounds_piece(const Call &, const Tree<std::uint64_t> &, const std::uint64_t *,
                           const std::uint64_t *, std::uint64_t, KaryRange *);

}  // namespace gpu_engine::device
