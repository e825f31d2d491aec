#include "device/kary/sort.cuh"

namespace gpu_engine::device {

template Pairs<Key128> sort_pairs(const Call &, const Key128 *, const Tid *, std::uint64_t);
template bool pairs_ascend(const Call &, const Pairs<Key128> &);

}  // namespace gpu_engine::device
