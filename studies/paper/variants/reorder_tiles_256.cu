#include "studies/paper/variants/tiles.cuh"

namespace gpu_engine::bench::paper {

template bool reorder_by_tiles<256>(const device::Call &, const Index<std::uint32_t> &, const Variant &,
                                    const Batch<std::uint32_t> &);

}  // namespace gpu_engine::bench::paper
