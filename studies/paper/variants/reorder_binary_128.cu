#include "studies/paper/variants/reorder_binary.cuh"

namespace gpu_engine::bench::paper {

template bool reorder_binary(const device::Call &, const Index<Key128> &, const Variant &,
                             const Batch<Key128> &);

}  // namespace gpu_engine::bench::paper
