#include "device/grid/each_in_boxes.cuh"

namespace gpu_engine::device {

template void each_in_boxes(const Call &, const GridView<std::uint32_t> &, const BoxBatch &, const DeadView &,
                            const EachJob &);

}  // namespace gpu_engine::device
