// Histograms of bytes on the device: a stage, and CUB's.
#pragma once

#include <cub/device/device_histogram.cuh>

#include "bench/column/common.cuh"
#include "studies/column/device/byte_histogram.cuh"

namespace gpu_engine::bench {

struct ByteProblem {
    const device::Call &call;
    const std::uint8_t *bytes;
    std::uint64_t count;
    std::uint64_t *counts;
};

template <device::BytePlace Place, int LoadBytes>
double measure_byte_stage(const Bench &bench, const ByteProblem &problem,
                          std::vector<std::uint64_t> *result) {
    const double ms = median_ms(bench, [&] {
        problem.call.fill(problem.counts, 0, device::byte_slots * sizeof(std::uint64_t));
        device::launch_byte_histogram<Place, LoadBytes>(problem.call, problem.bytes, problem.count,
                                                        problem.counts);
    });
    result->resize(device::byte_slots);
    problem.call.copy(result->data(), static_cast<const std::uint64_t *>(problem.counts), device::byte_slots);
    problem.call.wait();
    return ms;
}

inline double measure_cub_bytes(const Bench &bench, const ByteProblem &problem) {
    const device::Buffer<int> counts = problem.call.buffer<int>(device::byte_slots);
    const auto histogram = [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(
            scratch, bytes, problem.bytes, counts.data(), device::byte_slots + 1, 0, device::byte_slots,
            static_cast<long long>(problem.count), problem.call.stream());
    };
    std::size_t bytes = 0;
    device::check(histogram(nullptr, bytes), "DeviceHistogram::HistogramEven");
    const device::Buffer<char> scratch = problem.call.buffer<char>(bytes);
    return median_ms(
        bench, [&] { device::check(histogram(scratch.data(), bytes), "DeviceHistogram::HistogramEven"); });
}

}  // namespace gpu_engine::bench
