#include "device/grid/each_in_boxes.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template void each_in_boxes(const Call &, const GridView<Key> &, const BoxBatch &, const DeadView &,
                            const EachJob &);

}  // namespace gpu_engine::device
