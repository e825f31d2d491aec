// Codes of main and delta written anew, with the width that the merged dictionary needs.
#include <algorithm>

#include "common/column/codes.h"
#include "device/call.h"
#include "device/column/column.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

struct Problem {
    std::uint32_t beyond;  // a code lies beyond its map, or needs more bits
};

struct Recoding {
    MappedCodes main;
    MappedCodes delta;
    std::uint32_t bits;
    std::uint32_t *words;
    Problem *problem;

    __host__ __device__ std::uint64_t total() const { return main.codes.count + delta.codes.count; }
};

// A map as it is.
struct PlainLookup {
    const std::uint32_t *map;

    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t code) const {
        return __ldg(map + code);
    }
};

// New codes mostly follow each other as old ones do: 64 of a map in 12 bytes, the first one and a bit for
// each where the distance to the one before is 2, an entry of delta having come between. Other distances make
// the 64 irregular, and the map itself is read.
constexpr std::uint32_t codes_a_group = 64;
constexpr std::uint32_t irregular = UINT32_MAX;

struct GroupedLookup {
    const std::uint64_t *steps;
    const std::uint32_t *bases;
    const std::uint32_t *map;

    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t code) const {
        const std::uint32_t group = code / codes_a_group;
        const std::uint32_t within = code % codes_a_group;
        const std::uint32_t base = bases[group];
        if (base == irregular) {
            return __ldg(map + code);
        }
        return base + within + static_cast<std::uint32_t>(__popcll(steps[group] & ((2ULL << within) - 1)));
    }
};

// A warp a group.
__global__ void group_map_kernel(const std::uint32_t *map, std::uint64_t entries, std::uint64_t *steps,
                                 std::uint32_t *bases, std::uint32_t *irregular_groups) {
    const std::uint64_t group = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    const std::uint64_t first = group * codes_a_group;
    if (first >= entries) {
        return;
    }
    const std::uint64_t lane = threadIdx.x % 32;
    std::uint64_t found = 0;
    bool regular = true;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const std::uint64_t i = first + static_cast<std::uint64_t>(half) * 32 + lane;
        const std::uint32_t distance = i > first && i < entries ? map[i] - map[i - 1] : 1;
        regular = regular && (distance == 1 || distance == 2);
        found |= static_cast<std::uint64_t>(__ballot_sync(0xffffffffU, distance == 2)) << (32 * half);
    }
    regular = __all_sync(0xffffffffU, regular) != 0;
    if (lane == 0) {
        steps[group] = found;
        bases[group] = regular ? map[first] : irregular;
        if (!regular) {
            atomicAdd(irregular_groups, 1U);
        }
    }
}

// A tile's new codes lie in shared memory for a moment, where each word of the result finds its own. Tiles
// are multiples of 32 codes, so that they end with a word. `codes` has 32 places more than the tile has
// codes.
template <int Threads, int CodesAThread, typename Lookup>
__device__ __forceinline__ void recode_tile(const Recoding &recoding, const Lookup &look_up_main,
                                            std::uint64_t tile, std::uint32_t *codes) {
    constexpr int tile_codes = Threads * CodesAThread;
    const std::uint64_t first = tile * tile_codes;
    const std::uint64_t total = recoding.total();
    const std::uint32_t bits = recoding.bits;
    const auto mask = static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1);
    bool beyond = false;
    std::uint32_t own[CodesAThread];
    const auto row_of = [&](int k) { return first + static_cast<std::uint64_t>(k * Threads) + threadIdx.x; };
    if (first + tile_codes <= recoding.main.codes.count && recoding.main.map_entries > 0) {
        // All of main: without branches, so that the reads are under way together.
#pragma unroll
        for (int k = 0; k < CodesAThread; ++k) {
            own[k] = code_at(recoding.main.codes.words, row_of(k), recoding.main.codes.bits);
        }
#pragma unroll
        for (int k = 0; k < CodesAThread; ++k) {
            const bool is_there = own[k] < recoding.main.map_entries;
            own[k] = look_up_main(is_there ? own[k] : 0);
            beyond = beyond || !is_there;
        }
    } else {
        for (int k = 0; k < CodesAThread; ++k) {
            own[k] = 0;
            const auto look_up = [&](const MappedCodes &source, std::uint64_t row) {
                const std::uint32_t code = code_at(source.codes.words, row, source.codes.bits);
                if (code < source.map_entries) {
                    own[k] = source.map[code];
                } else {
                    beyond = true;
                }
            };
            const std::uint64_t row = row_of(k);
            if (row < recoding.main.codes.count) {
                look_up(recoding.main, row);
            } else if (row < total) {
                look_up(recoding.delta, row - recoding.main.codes.count);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < CodesAThread; ++k) {
        beyond = beyond || (own[k] & ~mask) != 0;
        codes[k * Threads + static_cast<int>(threadIdx.x)] = own[k] & mask;
    }
    // What the last word looks at behind the tile's end.
    if (threadIdx.x < 32) {
        codes[tile_codes + static_cast<int>(threadIdx.x)] = 0;
    }
    if (beyond) {
        recoding.problem->beyond = 1;
    }
    __syncthreads();
    const std::uint64_t first_word = first / 32 * bits;
    const std::uint64_t word_count = (total * bits + 31) / 32;
    const std::uint32_t tile_words = tile_codes / 32 * bits;
    for (std::uint32_t word = threadIdx.x; word < tile_words && first_word + word < word_count;
         word += Threads) {
        const std::uint32_t bit = word * 32;
        std::uint32_t code = bit / bits;
        // The first code begins so many bits before the word.
        const std::uint32_t before = bit - code * bits;
        std::uint32_t result = codes[code] >> before;
        for (std::uint32_t filled = bits - before; filled < 32; filled += bits) {
            result |= codes[++code] << filled;
        }
        recoding.words[first_word + word] = result;
    }
}

constexpr int plain_threads = 256;
constexpr int plain_codes = 8;

__global__ void __launch_bounds__(plain_threads, 6) recode_kernel(Recoding recoding) {
    __shared__ std::uint32_t codes[plain_threads * plain_codes + 32];
    recode_tile<plain_threads, plain_codes>(recoding, PlainLookup{recoding.main.map}, blockIdx.x, codes);
}

constexpr int grouped_threads = 1024;
constexpr int grouped_codes = 4;
constexpr std::size_t grouped_tile_bytes = (grouped_threads * grouped_codes + 32) * sizeof(std::uint32_t);

// Main's map in groups, in every block's shared memory.
__global__ void __launch_bounds__(grouped_threads, 1)
    recode_grouped_kernel(Recoding recoding, GroupedLookup lookup, std::uint32_t groups) {
    extern __shared__ __align__(16) char memory[];
    auto *const steps = reinterpret_cast<std::uint64_t *>(memory);
    auto *const bases = reinterpret_cast<std::uint32_t *>(steps + groups);
    std::uint32_t *const codes = bases + groups;
    for (std::uint32_t group = threadIdx.x; group < groups; group += grouped_threads) {
        steps[group] = lookup.steps[group];
        bases[group] = lookup.bases[group];
    }
    constexpr std::uint64_t tile_codes = grouped_threads * grouped_codes;
    const std::uint64_t tiles = (recoding.total() + tile_codes - 1) / tile_codes;
    for (std::uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        __syncthreads();
        recode_tile<grouped_threads, grouped_codes>(recoding, GroupedLookup{steps, bases, lookup.map}, tile,
                                                    codes);
    }
}

// Grouping pays for so many rows an entry, and at least so many.
constexpr std::uint64_t grouped_rows = 1 << 20;
constexpr std::uint64_t grouped_rows_an_entry = 2;
// One in so many groups may be irregular.
constexpr std::uint32_t regular_groups = 16;

void launch_recode(const Call &call, const Recoding &recoding) {
    const std::uint64_t entries = recoding.main.map_entries;
    const auto groups = static_cast<std::uint32_t>((entries + codes_a_group - 1) / codes_a_group);
    const std::size_t bytes = groups * (sizeof(std::uint64_t) + sizeof(std::uint32_t)) + grouped_tile_bytes;
    const std::uint64_t rows = recoding.main.codes.count;
    if (rows >= grouped_rows && rows / grouped_rows_an_entry >= entries &&
        bytes <= call.engine().shared_bytes()) {
        const Buffer<std::uint64_t> steps = call.buffer<std::uint64_t>(groups);
        const Buffer<std::uint32_t> bases = call.buffer<std::uint32_t>(groups);
        const Buffer<std::uint32_t> irregular_groups = call.buffer<std::uint32_t>(1);
        call.fill(irregular_groups.data(), 0, sizeof(std::uint32_t));
        constexpr unsigned threads = 256;
        group_map_kernel<<<groups / (threads / 32) + 1, threads, 0, call.stream()>>>(
            recoding.main.map, entries, steps.data(), bases.data(), irregular_groups.data());
        check_launch("group_map_kernel");
        std::uint32_t found = 0;
        call.copy(&found, static_cast<const std::uint32_t *>(irregular_groups.data()), 1);
        call.wait();
        if (found <= groups / regular_groups) {
            check(cudaFuncSetAttribute(recode_grouped_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(call.engine().shared_bytes())),
                  "cudaFuncSetAttribute");
            recode_grouped_kernel<<<static_cast<unsigned>(call.engine().multiprocessors()), grouped_threads,
                                    bytes, call.stream()>>>(
                recoding, GroupedLookup{steps.data(), bases.data(), recoding.main.map}, groups);
            check_launch("recode_grouped_kernel");
            return;
        }
    }
    constexpr std::uint64_t tile_codes = plain_threads * plain_codes;
    recode_kernel<<<static_cast<unsigned>((recoding.total() + tile_codes - 1) / tile_codes), plain_threads, 0,
                    call.stream()>>>(recoding);
    check_launch("recode_kernel");
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
        launch_recode(call,
                      Recoding{{{main_codes.piece(0, main_words), main.codes.count, main.codes.bits},
                                main_map.piece(0, main.map_entries),
                                main.map_entries},
                               {{delta_codes.piece(0, delta_words), delta.codes.count, delta.codes.bits},
                                delta_map.piece(0, delta.map_entries),
                                delta.map_entries},
                               bits,
                               output.piece(0),
                               problem.data()});
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
