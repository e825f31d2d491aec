#include "device/grid/segment.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template void add_extents(const Call &, const Segments &, std::uint32_t, std::uint32_t, const Key *,
                          SegmentColumns *);
template void find_distinct(const Call &, const Segments &, std::uint32_t, std::uint32_t, const Key *,
                            SegmentColumns *);
template void make_lower_scales(const Call &, const Segments &, std::uint32_t, std::uint32_t, const Key *,
                                SegmentColumns *);
template void add_lower_slots(const Call &, const Segments &, std::uint32_t, std::uint32_t, const Key *,
                              const SegmentColumns &, std::uint32_t *);

}  // namespace gpu_engine::device
