#include "studies/column/device/byte_histogram.cuh"

#include <array>
#include <vector>

#include "studies/column/device/studies.h"

namespace gpu_engine::device {

Status DeviceHistograms::count_bytes(Stream &stream, const std::uint8_t *bytes, std::uint64_t count,
                                     std::uint64_t *counts) noexcept {
    return guarded([&] {
        const Call call(engine_, stream);
        const Buffer<std::uint64_t> sums = call.buffer<std::uint64_t>(byte_slots);
        call.fill(sums.data(), 0, byte_slots * sizeof(std::uint64_t));
        const Input<std::uint8_t> input(call, bytes, count, histogram_piece);
        for (std::uint64_t first = 0; first < count; first += histogram_piece) {
            const std::uint64_t piece = std::min(histogram_piece, count - first);
            launch_byte_histogram<BytePlace::striped, 16>(call, input.piece(first, piece), piece,
                                                          sums.data());
            call.wait();
        }
        call.copy(counts, static_cast<const std::uint64_t *>(sums.data()), byte_slots);
        call.wait();
        return Status{};
    });
}

// Bytes are counted one by one at first, so only 256 values are left to put into bins.
Status DeviceHistograms::count(Stream &stream, const std::uint8_t *values, std::uint64_t count,
                               const HistogramBins &bins, std::uint64_t *counts) noexcept {
    return guarded([&] {
        std::array<std::uint64_t, byte_slots> byte_counts;
        const Status status = count_bytes(stream, values, count, byte_counts.data());
        if (!status.ok()) {
            return status;
        }
        const std::vector<std::uint64_t> sums = slots_of_bytes(bins, byte_counts.data());
        const Call call(engine_, stream);
        call.copy(counts, sums.data(), sums.size());
        call.wait();
        return Status{};
    });
}

}  // namespace gpu_engine::device
