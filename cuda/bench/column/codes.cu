// Histograms of dictionary codes.
#include "studies/column/studies.h"
#include "bench/column/common.cuh"

namespace gpu_engine::bench {
namespace {

__global__ void make_code_words_kernel(std::uint32_t *words, std::uint64_t count, std::uint64_t first,
                                       bool equal) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        words[i] = equal ? 0 : static_cast<std::uint32_t>(scramble(first + i + 1));
    }
}

}  // namespace

// Random words are random codes where the number of the dictionary's entries is a power of two.
void measure_codes(const Bench &bench) {
    for (const int size : bench.options.sizes) {
        const std::uint64_t word_count = std::uint64_t(1) << (size - 2);
        const device::Call call(bench.engine, bench.stream);
        const double limit = read_bandwidth(bench, call, word_count * 4);
        const device::Buffer<std::uint32_t> words = call.buffer<std::uint32_t>(word_count);
        for (const bool equal : {false, true}) {
            make_code_words_kernel<<<grid_for(word_count), 256, 0, call.stream()>>>(words.data(), word_count,
                                                                                    0, equal);
            device::check_launch("make_code_words_kernel");
            for (const std::uint32_t bits : {2U, 5U, 8U, 10U, 12U, 16U, 20U, 24U}) {
                const std::uint64_t entries = std::uint64_t(1) << bits;
                const std::uint64_t count = word_count * 32 / bits;
                for (const std::uint32_t slots : {259U, 4099U}) {
                    std::vector<std::uint32_t> slot_of_code(entries);
                    for (std::uint64_t code = 0; code < entries; ++code) {
                        slot_of_code[code] = static_cast<std::uint32_t>(code * slots / entries);
                    }
                    const device::Buffer<std::uint32_t> slot_map = call.buffer<std::uint32_t>(entries);
                    call.copy(slot_map.data(), static_cast<const std::uint32_t *>(slot_of_code.data()),
                              entries);
                    call.wait();
                    std::vector<std::uint64_t> counts(slots);
                    const double ms = median_ms(bench, [&] {
                        require(open_column_studies(bench.engine)
                                    ->histograms()
                                    .count_codes(bench.stream, PackedCodes{words.data(), count, bits},
                                                 slot_map.data(), entries, slots, counts.data()));
                    });
                    std::uint64_t sum = 0;
                    for (const std::uint64_t slot : counts) {
                        sum += slot;
                    }
                    require(sum == count, "a histogram of codes doesn't count all");
                    const double speed = static_cast<double>(word_count) * 4 / ms / 1e6;
                    bench.results.add({"histogram of codes, " + power(size) + " bytes, call",
                                       std::to_string(bits) + " bits" + (equal ? ", all equal" : ""),
                                       std::to_string(slots) + " slots", speed, "GB/s, share of reading",
                                       speed / limit, bits / 8.0});
                    bench.results.add({"histogram of codes, " + power(size) + " bytes, codes",
                                       std::to_string(bits) + " bits" + (equal ? ", all equal" : ""),
                                       std::to_string(slots) + " slots",
                                       static_cast<double>(count) / ms / 1e6, "G codes/s", 0, bits / 8.0});
                }
            }
        }
    }
}

}  // namespace gpu_engine::bench
