#include "studies/paper/variants/lookup.cuh"

namespace gpu_engine::bench::paper {

template bool look_up_binary(const device::Call &, const Index<Key128> &, const Variant &,
                             const Batch<Key128> &);
template bool look_up_kary(const device::Call &, const Index<Key128> &, const Variant &,
                           const Batch<Key128> &);

}  // namespace gpu_engine::bench::paper
