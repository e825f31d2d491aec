// Histograms of the rows that a bitmap selects, a bit a row, as a filter on other columns leaves one.
#include <limits>

#include "studies/column/studies.h"
#include "bench/column/common.cuh"
#include "bench/column/numbers.cuh"

namespace gpu_engine::bench {
namespace {

using device::HistogramLayout;

// Selects so many of a thousand rows.
__global__ void make_selection_kernel(std::uint32_t *selected, std::uint64_t words,
                                      std::uint32_t thousandths) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= words) {
        return;
    }
    std::uint32_t word = 0;
    for (std::uint64_t bit = 0; bit < 32; ++bit) {
        word |= (scramble(i * 32 + bit + 1) % 1000 < thousandths ? 1U : 0U) << bit;
    }
    selected[i] = word;
}
__global__ void invert_kernel(std::uint32_t *selected, std::uint64_t words) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < words) {
        selected[i] = ~selected[i];
    }
}

// This is the library's kernel, but for the bits: four values have four bits of a word. Values are not read
// where none of them is selected.
template <typename Value, typename SlotOf>
__global__ void __launch_bounds__(device::histogram_threads, 2)
    selected_histogram_kernel(const Value *values, const std::uint32_t *selected, std::uint64_t count,
                              SlotOf slot_of, HistogramLayout layout, std::uint32_t *sums) {
    static_assert(sizeof(Value) == 4);
    constexpr int together = 4;
    extern __shared__ std::uint32_t counters[];
    device::clear_counters(counters, layout.slots << layout.shift);
    device::BlockCounter counter(counters, layout);
    const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    const auto *loads = reinterpret_cast<const uint4 *>(values);
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count / 4;
         i += together * threads) {
        std::uint32_t bits[together];
        uint4 read[together];
#pragma unroll
        for (int k = 0; k < together; ++k) {
            const std::uint64_t at = i + k * threads;
            bits[k] = at < count / 4 ? selected[at / 8] >> (at % 8 * 4) & 15U : 0;
        }
#pragma unroll
        for (int k = 0; k < together; ++k) {
            read[k] = bits[k] != 0 ? __ldcs(loads + i + k * threads) : uint4{0, 0, 0, 0};
        }
#pragma unroll
        for (int k = 0; k < together; ++k) {
            Value part[4];
            memcpy(part, &read[k], sizeof(part));
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                if ((bits[k] >> v & 1U) != 0) {
                    counter.add(slot_of(part[v]));
                }
            }
        }
    }
    device::write_block_sums(counters, layout, sums);
}

template <typename Value>
void measure_selected_numbers(const Bench &bench, const char *type) {
    const device::Call call(bench.engine, bench.stream);
    constexpr std::uint64_t count = std::uint64_t(1) << 28;
    const double limit = read_bandwidth(bench, call, count * sizeof(Value));
    const device::Buffer<Value> values = call.buffer<Value>(count);
    const device::Buffer<std::uint32_t> selected = call.buffer<std::uint32_t>(count / 32);
    make_numbers_kernel<<<grid_for(count), 256, 0, call.stream()>>>(values.data(), count,
                                                                    NumberInput::uniform);
    device::check_launch("make_numbers_kernel");
    for (const std::uint32_t bins : {256U, 4096U}) {
        const double high = upper_bound<Value>;
        const std::vector<double> edges = equal_bins(high, bins);
        const HistogramBins wanted{0, high, bins, edges.data()};
        const device::DeviceBins own = device::make_device_bins(call, wanted, std::is_integral_v<Value>);
        const device::SlotOfValue<true> slot_of{own.map, own.edges.data()};
        const std::uint32_t slots = wanted.slots();
        const HistogramLayout layout = device::histogram_plan(bench.engine, slots).layout;
        const auto kernel = selected_histogram_kernel<Value, device::SlotOfValue<true>>;
        const auto blocks = static_cast<unsigned>(
            device::resident_blocks(bench.engine, kernel, device::histogram_threads, layout.bytes()));
        const device::Buffer<std::uint32_t> sums = call.buffer<std::uint32_t>(std::uint64_t(blocks) * slots);
        const device::Buffer<std::uint64_t> counts = call.buffer<std::uint64_t>(slots);
        const auto launch = [&] {
            call.fill(counts.data(), 0, slots * sizeof(std::uint64_t));
            kernel<<<blocks, device::histogram_threads, layout.bytes(), call.stream()>>>(
                values.data(), selected.data(), count, slot_of, layout, sums.data());
            device::check_launch("selected_histogram_kernel");
            device::add_block_sums(call, sums.data(), blocks, slots, false, counts.data());
        };
        const auto found = [&] {
            std::vector<std::uint64_t> result(slots);
            call.copy(result.data(), static_cast<const std::uint64_t *>(counts.data()), slots);
            call.wait();
            return result;
        };
        std::vector<std::uint64_t> all(slots);
        require(open_column_studies(bench.engine)
                    ->histograms()
                    .count(bench.stream, values.data(), count, wanted, all.data()));
        for (const std::uint32_t thousandths : {10U, 100U, 500U, 1000U}) {
            make_selection_kernel<<<grid_for(count / 32), 256, 0, call.stream()>>>(selected.data(),
                                                                                   count / 32, thousandths);
            device::check_launch("make_selection_kernel");
            const double ms = median_ms(bench, launch);
            std::vector<std::uint64_t> both = found();
            invert_kernel<<<grid_for(count / 32), 256, 0, call.stream()>>>(selected.data(), count / 32);
            device::check_launch("invert_kernel");
            launch();
            const std::vector<std::uint64_t> others = found();
            for (std::uint32_t slot = 0; slot < slots; ++slot) {
                both[slot] += others[slot];
            }
            require(both == all, "the histograms of a selection and of its complement aren't that of all");
            const double bytes = static_cast<double>(count) * (sizeof(Value) + 0.125);
            bench.results.add({"histogram of selected rows, 2^30 bytes",
                               std::string(type) + ", " + std::to_string(bins) + " bins",
                               std::to_string(thousandths / 10) + " % selected", bytes / ms / 1e6,
                               "GB/s of values and bits, share of reading", bytes / ms / 1e6 / limit,
                               sizeof(Value)});
        }
    }
}

}  // namespace

void measure_selected(const Bench &bench) {
    measure_selected_numbers<std::int32_t>(bench, "i32");
    measure_selected_numbers<float>(bench, "f32");
}

}  // namespace gpu_engine::bench
