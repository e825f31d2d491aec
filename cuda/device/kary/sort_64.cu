#include "device/kary/sort.cuh"

namespace gpu_engine::device {

template Pairs<std::uint64_t> sort_pairs(const Call &, const std::uint64_t *, const Tid *, std::uint64_t);
template bool pairs_ascend(const Call &, const Pairs<std::uint64_t> &);

}  // namespace gpu_engine::device
