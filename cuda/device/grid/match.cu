#include "device/grid/match.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template void count_matches(const Call &, const GridView<Key> &, const PointBatch &, const DeadView &,
                            std::uint32_t *, std::uint32_t *);
template void write_matches(const Call &, const GridView<Key> &, const PointBatch &, const DeadView &,
                            const std::uint32_t *, const std::uint32_t *, const Tid *, const std::uint64_t *,
                            Tid *);

}  // namespace gpu_engine::device
