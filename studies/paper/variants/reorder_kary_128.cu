#include "studies/paper/variants/reorder.cuh"

namespace gpu_engine::bench::paper {

template <>
bool reorder_kary(const device::Call &call, const Index<Key128> &index, const Variant &variant,
                  const Batch<Key128> &batch) {
    if (variant.threads != usual_sort_threads || variant.items != usual_sort_items || variant.together != 1) {
        return false;
    }
    return with_lanes<Key128, 1>(variant.fanout, [&]<typename Search>(Search *) {
        return launch_reordering<Search, usual_sort_threads, usual_sort_items>(call, index, variant, batch);
    });
}

}  // namespace gpu_engine::bench::paper
