#include "studies/paper/variants/reorder_binary.cuh"

namespace gpu_engine::bench::paper {

template bool reorder_binary(const device::Call &, const Index<std::uint64_t> &, const Variant &,
                             const Batch<std::uint64_t> &);

}  // namespace gpu_engine::bench::paper
