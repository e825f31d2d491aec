#include "studies/paper/variants/reorder.cuh"

namespace gpu_engine::bench::paper {

template <>
bool reorder_kary(const device::Call &call, const Index<std::uint32_t> &index, const Variant &variant,
                  const Batch<std::uint32_t> &batch) {
    if (variant.threads != usual_sort_threads || variant.items != usual_sort_items || variant.together != 1) {
        return false;
    }
    return with_lanes<std::uint32_t, 1>(variant.fanout, [&]<typename Search>(Search *) {
        return launch_reordering<Search, usual_sort_threads, usual_sort_items>(call, index, variant, batch);
    });
}

}  // namespace gpu_engine::bench::paper
