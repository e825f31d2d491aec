// Codes of main and delta written anew, with the width that the merged dictionary needs.
#include <algorithm>

#include "common/column/codes.h"
#include "device/call.h"
#include "device/column/column.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

constexpr int recode_threads = 256;
constexpr int codes_a_thread = 8;
// A multiple of 32, so that tiles end with a word of the result.
constexpr int tile_codes = recode_threads * codes_a_thread;

struct Problem {
    std::uint32_t beyond;  // a code lies beyond its map, or needs more bits
};

// A tile's new codes lie in shared memory for a moment, where each word of the result finds its own.
__global__ void __launch_bounds__(recode_threads)
    recode_kernel(MappedCodes main, MappedCodes delta, std::uint32_t bits, std::uint32_t *words,
                  Problem *problem) {
    __shared__ std::uint32_t codes[tile_codes + 32];
    const std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * tile_codes;
    const std::uint64_t total = main.codes.count + delta.codes.count;
    const std::uint32_t mask = static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1);
    bool beyond = false;
    std::uint32_t own[codes_a_thread];
#pragma unroll
    for (int k = 0; k < codes_a_thread; ++k) {
        const std::uint64_t i = first + static_cast<std::uint64_t>(k * recode_threads) + threadIdx.x;
        own[k] = 0;
        const auto look_up = [&](const MappedCodes &source, std::uint64_t row) {
            const std::uint32_t code = code_at(source.codes.words, row, source.codes.bits);
            if (code < source.map_entries) {
                own[k] = __ldg(source.map + code);
            } else {
                beyond = true;
            }
        };
        if (i < main.codes.count) {
            look_up(main, i);
        } else if (i < total) {
            look_up(delta, i - main.codes.count);
        }
    }
#pragma unroll
    for (int k = 0; k < codes_a_thread; ++k) {
        beyond = beyond || (own[k] & ~mask) != 0;
        codes[k * recode_threads + static_cast<int>(threadIdx.x)] = own[k] & mask;
    }
    // What the last word looks at behind the tile's end.
    if (threadIdx.x < 32) {
        codes[tile_codes + static_cast<int>(threadIdx.x)] = 0;
    }
    if (beyond) {
        problem->beyond = 1;
    }
    __syncthreads();
    if (bits == 0) {
        return;
    }
    const std::uint64_t first_word = first / 32 * bits;
    const std::uint64_t word_count = (total * bits + 31) / 32;
    const std::uint32_t tile_words = tile_codes / 32 * bits;
    for (std::uint32_t word = threadIdx.x; word < tile_words && first_word + word < word_count;
         word += recode_threads) {
        const std::uint32_t bit = word * 32;
        std::uint32_t code = bit / bits;
        // The first code begins so many bits before the word.
        const std::uint32_t before = bit - code * bits;
        std::uint32_t result = codes[code] >> before;
        for (std::uint32_t filled = bits - before; filled < 32; filled += bits) {
            result |= codes[++code] << filled;
        }
        words[first_word + word] = result;
    }
}

}  // namespace

Status DeviceDictionaries::recode(Stream &stream, const MappedCodes &main, const MappedCodes &delta,
                                  std::uint32_t bits, std::uint32_t *words) noexcept {
    return guarded([&] {
        if (bits > 32 || main.codes.bits > 32 || delta.codes.bits > 32) {
            return make_status(StatusCode::invalid_argument, "codes have at most 32 bits");
        }
        const Call call(engine_, stream);
        const std::uint64_t total = main.codes.count + delta.codes.count;
        if (total == 0) {
            return Status{};
        }
        const std::uint64_t main_words = packed_words(main.codes.count, main.codes.bits);
        const std::uint64_t delta_words = packed_words(delta.codes.count, delta.codes.bits);
        const Input<std::uint32_t> main_codes(call, main.codes.words, main_words, main_words);
        const Input<std::uint32_t> delta_codes(call, delta.codes.words, delta_words, delta_words);
        const Input<std::uint32_t> main_map(call, main.map, main.map_entries, main.map_entries);
        const Input<std::uint32_t> delta_map(call, delta.map, delta.map_entries, delta.map_entries);
        const std::uint64_t new_words = packed_words(total, bits);
        const Output<std::uint32_t> output(call, words, new_words, new_words);
        const Buffer<Problem> problem = call.buffer<Problem>(1);
        call.fill(problem.data(), 0, sizeof(Problem));
        const MappedCodes own_main{{main_codes.piece(0, main_words), main.codes.count, main.codes.bits},
                                   main_map.piece(0, main.map_entries),
                                   main.map_entries};
        const MappedCodes own_delta{{delta_codes.piece(0, delta_words), delta.codes.count, delta.codes.bits},
                                    delta_map.piece(0, delta.map_entries),
                                    delta.map_entries};
        recode_kernel<<<static_cast<unsigned>((total + tile_codes - 1) / tile_codes), recode_threads, 0,
                        call.stream()>>>(own_main, own_delta, bits, output.piece(0), problem.data());
        check_launch("recode_kernel");
        Problem found{};
        call.copy(&found, static_cast<const Problem *>(problem.data()), 1);
        output.flush(0, new_words);
        call.wait();
        if (found.beyond != 0) {
            return make_status(StatusCode::invalid_argument,
                               "a code lies beyond its map, or needs more bits");
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
