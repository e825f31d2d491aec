#include "device/kary/sort.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template Pairs<Key> sort_pairs(const Call &, const Key *, const Tid *, std::uint64_t);
template bool pairs_ascend(const Call &, const Pairs<Key> &);

}  // namespace gpu_engine::device
