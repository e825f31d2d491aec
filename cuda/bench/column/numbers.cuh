// Histograms of numbers of one type.
#pragma once

#include <cub/device/device_histogram.cuh>

#include <limits>

#include "studies/column/studies.h"
#include "bench/column/common.cuh"
#include "bench/equal_bins.h"
#include "studies/column/device/histogram.cuh"

namespace gpu_engine::bench {

enum class NumberInput { uniform, equal, two, normal };

// Makes values between the bounds, which are 0 and 0.7 for floating point, otherwise 0 and 10^9. These are no
// powers of two, so that bins don't begin with round numbers.
template <typename Value>
inline constexpr double upper_bound = std::is_floating_point_v<Value> ? 0.7 : 1e9;

template <typename Value>
__global__ void make_numbers_kernel(Value *values, std::uint64_t count, NumberInput input) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const auto share = [](std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; };
    double place = 0;
    switch (input) {
        case NumberInput::uniform:
            place = share(scramble(i + 1));
            break;
        case NumberInput::equal:
            place = 0.37;
            break;
        case NumberInput::two:
            place = (i & 1) != 0 ? 0.37 : 0.71;
            break;
        case NumberInput::normal:
            // The mean of several random numbers is bell-shaped, a fortieth wide.
            for (std::uint64_t k = 0; k < 12; ++k) {
                place += share(scramble(i * 16 + k + 1));
            }
            place = 0.5 + (place - 6) / 40;
            break;
    }
    values[i] = static_cast<Value>(place * upper_bound<Value>);
}

template <typename Value>
double measure_cub_numbers(const Bench &bench, const device::Call &call, const Value *values,
                           std::uint64_t count, std::uint32_t bins) {
    const device::Buffer<int> counts = call.buffer<int>(bins);
    const auto histogram = [&](void *scratch, std::size_t &bytes) {
        return cub::DeviceHistogram::HistogramEven(
            scratch, bytes, values, counts.data(), static_cast<int>(bins) + 1, static_cast<Value>(0),
            static_cast<Value>(upper_bound<Value>), static_cast<long long>(count), call.stream());
    };
    std::size_t bytes = 0;
    device::check(histogram(nullptr, bytes), "DeviceHistogram::HistogramEven");
    const device::Buffer<char> scratch = call.buffer<char>(bytes);
    return median_ms(
        bench, [&] { device::check(histogram(scratch.data(), bytes), "DeviceHistogram::HistogramEven"); });
}

template <typename Value>
void measure_numbers(const Bench &bench, const char *type) {
    using device::HistogramPlace;
    using device::HistogramPlan;
    const Briefly brief(bench);
    for (const int size : bench.options.sizes) {
        const std::uint64_t bytes = std::uint64_t(1) << size;
        const std::uint64_t count = bytes / sizeof(Value);
        const device::Call call(bench.engine, bench.stream);
        const double limit = read_bandwidth(bench, call, bytes);
        const device::Buffer<Value> values = call.buffer<Value>(count);
        const struct {
            NumberInput input;
            const char *name;
        } inputs[] = {{NumberInput::uniform, "uniform"},
                      {NumberInput::equal, "all equal"},
                      {NumberInput::two, "two in turn"},
                      {NumberInput::normal, "normal"}};
        for (const auto &[input, name] : inputs) {
            make_numbers_kernel<<<grid_for(count), 256, 0, call.stream()>>>(values.data(), count, input);
            device::check_launch("make_numbers_kernel");
            for (const std::uint32_t bins : {256U, 4096U, 65536U}) {
                const std::string table = std::string("histogram of ") + type + ", " + std::to_string(bins) +
                                          " bins, " + power(size) + " bytes";
                const double high = upper_bound<Value>;
                const std::vector<double> edges = equal_bins(high, bins);
                const HistogramBins wanted{0, high, bins, edges.data()};
                const device::DeviceBins own =
                    device::make_device_bins(call, wanted, std::is_integral_v<Value>);
                const std::uint32_t slots = wanted.slots();
                const device::Buffer<std::uint64_t> counts = call.buffer<std::uint64_t>(slots);
                std::vector<std::uint64_t> right;
                const auto add = [&](const std::string &line, double ms, std::uint64_t values_read) {
                    const double speed = static_cast<double>(values_read * sizeof(Value)) / ms / 1e6;
                    bench.results.add(
                        {table, line, name, speed, "GB/s, share of reading", speed / limit, sizeof(Value)});
                };
                const auto measure = [&](const Bench &repeats, const std::string &line,
                                         const HistogramPlan &plan, std::uint64_t values_read) {
                    const auto launch = [&](const auto &slot_of) {
                        return median_ms(repeats, [&] {
                            call.fill(counts.data(), 0, slots * sizeof(std::uint64_t));
                            device::launch_histogram(call, static_cast<const Value *>(values.data()),
                                                     values_read, slot_of, plan, counts.data());
                        });
                    };
                    const double ms = std::is_integral_v<Value> && own.map.exact_integers
                                          ? launch(device::SlotOfValue<false>{own.map, own.edges.data()})
                                          : launch(device::SlotOfValue<true>{own.map, own.edges.data()});
                    add(line, ms, values_read);
                    if (values_read < count) {
                        return;
                    }
                    std::vector<std::uint64_t> found(slots);
                    call.copy(found.data(), static_cast<const std::uint64_t *>(counts.data()), slots);
                    call.wait();
                    if (right.empty()) {
                        right = found;
                    }
                    require(found == right, "two histograms of the same numbers differ");
                };
                measure(bench, "the library's", device::histogram_plan(bench.engine, slots), count);
                for (std::uint32_t shift = 0; shift <= 5; ++shift) {
                    const device::HistogramLayout layout{slots, shift};
                    if (layout.bytes() <= bench.engine.shared_bytes()) {
                        measure(brief.bench(), std::to_string(layout.copies()) + " copies a block",
                                HistogramPlan{HistogramPlace::block, layout, 0}, count);
                    }
                }
                if ((slots + 1) / 2 * sizeof(std::uint32_t) <= bench.engine.shared_bytes()) {
                    measure(brief.bench(), "counters of 16 bits",
                            HistogramPlan{HistogramPlace::packed, {slots, 0}, 0}, count);
                }
                // This is the slowest way, so it gets fewer values.
                measure(brief.bench(), "global atomics", HistogramPlan{HistogramPlace::global, {slots, 0}, 0},
                        count / 16);
                add("CUB DeviceHistogram",
                    measure_cub_numbers(brief.bench(), call, static_cast<const Value *>(values.data()), count,
                                        bins),
                    count);
                std::vector<std::uint64_t> on_host(slots);
                add("call, values on the device",
                    median_call_ms(bench,
                                   [&] {
                                       require(open_column_studies(bench.engine)
                                                   ->histograms()
                                                   .count(bench.stream, values.data(), count, wanted,
                                                          on_host.data()));
                                   }),
                    count);
                require(on_host == right, "the call's histogram differs");
            }
        }
    }
}

}  // namespace gpu_engine::bench
