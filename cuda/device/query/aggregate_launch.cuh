// Launches of the kernel that adds rows to groups. Each of its two forms has a file of its own, as it has the
// code of all operations.
#pragma once

#include "device/query/front.cuh"

namespace gpu_engine::query::on_device {

inline constexpr unsigned max_threads = 256;

// Goes over the rows of a source with blocks whose groups in front take `front_bytes`.
void add_to_one_group(const Call &call, AggregateView view, std::size_t front_bytes);
void add_to_groups_by_key(const Call &call, AggregateView view, std::size_t front_bytes);

}  // namespace gpu_engine::query::on_device
