#include "studies/paper/variants/lookup.cuh"

namespace gpu_engine::bench::paper {

template bool look_up_binary(const device::Call &, const Index<std::uint32_t> &, const Variant &,
                             const Batch<std::uint32_t> &);
template bool look_up_kary(const device::Call &, const Index<std::uint32_t> &, const Variant &,
                           const Batch<std::uint32_t> &);

}  // namespace gpu_engine::bench::paper
