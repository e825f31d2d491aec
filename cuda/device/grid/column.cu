#include "device/grid/column.cuh"

namespace gpu_engine::device {

using Key = GPU_ENGINE_KEY;

template Extent column_extent(const Call &, const GivenColumn<Key> &);
template Sample<Key> take_sample(const Call &, const GivenColumn<Key> &, std::uint64_t);
template std::uint32_t count_distinct(const Call &, const Sample<Key> &);
template ColumnScale<Key> make_scale(const Call &, const GivenColumn<Key> &, const Sample<Key> &,
                                     const Extent &, std::uint32_t);
template void add_slots(const Call &, const GivenColumn<Key> &, const ColumnScale<Key> &, std::uint32_t,
                        std::uint32_t *);
template void gather_column(const Call &, const GivenColumn<Key> &, const std::uint32_t *, Key *);
template void lay_out_scale(const Call &, const ColumnScale<Key> &, const ScaleShape &, std::uint64_t *,
                            std::uint64_t *);
template void lay_out_scale(const Call &, const ColumnScale<Key> &, const ScaleShape &, std::uint32_t *,
                            std::uint32_t *);

}  // namespace gpu_engine::device
