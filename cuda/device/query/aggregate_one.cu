#include "device/query/aggregate_kernel.cuh"

namespace gpu_engine::query::on_device {

void add_to_one_group(const Call &call, AggregateView view, std::size_t front_bytes) {
    launch_aggregate<true>(call, view, front_bytes);
}

}  // namespace gpu_engine::query::on_device
