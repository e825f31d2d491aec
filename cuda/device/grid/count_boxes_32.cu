#include "device/grid/count_boxes.cuh"

namespace gpu_engine::device {

template void count_boxes(const Call &, const GridView<std::uint32_t> &, const BoxBatch &, const DeadView &,
                          std::uint32_t *);

}  // namespace gpu_engine::device
