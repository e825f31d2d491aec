#include "device/grid/count_boxes.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template void count_boxes(const Call &, const GridView<Key> &, const BoxBatch &, const DeadView &,
                          std::uint32_t *);

}  // namespace gpu_engine::device
