#include "studies/column/device/studies.h"
#include "studies/column/device/histogram.cuh"

namespace gpu_engine::device {

Status DeviceHistograms::count(Stream &stream, const std::int32_t *values, std::uint64_t count,
                               const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return count_values(engine_, stream, values, count, bins, counts);
}

}  // namespace gpu_engine::device
