// Each lane takes 32 units, which are as many words as a unit has bits. Where that number is known at compile
// time, so is where each unit lies. Several short codes are counted at once, as one unit.
#include "studies/column/device/code_units.h"

#include <algorithm>

#include "studies/column/common/codes.h"
#include "studies/column/device/histogram.cuh"

namespace gpu_engine::device {
namespace {

constexpr std::uint32_t counted_bits = 16;
constexpr std::uint32_t joined_bits = 12;
constexpr std::uint32_t longest_joined_code = 6;
constexpr std::uint32_t group_units = 32;
constexpr std::size_t unit_copies_bytes = 48 << 10;
constexpr std::uint32_t max_copies_shift = 5;
// Units whose counters take more of a block's memory have counters of 16 bits.
constexpr std::size_t max_counters_bytes = std::size_t(192) << 10;

constexpr bool are_packed(std::uint32_t units) {
    return units * sizeof(std::uint32_t) > max_counters_bytes;
}
constexpr std::size_t least_bytes(std::uint32_t units) {
    return units * (are_packed(units) ? sizeof(std::uint16_t) : sizeof(std::uint32_t));
}

std::uint32_t codes_a_unit(std::uint32_t bits) {
    return bits <= longest_joined_code ? joined_bits / bits : 1;
}

template <int Bits>
struct UnitGroup {
    std::uint32_t words[Bits];

    // `aligned` says that the first group is on a boundary of 16 bytes.
    __device__ __forceinline__ void read(const std::uint32_t *from, std::uint64_t group, bool aligned) {
        from += group * Bits;
        const auto read_as = [&](auto vector) {
            using Vector = decltype(vector);
            constexpr int words_a_load = sizeof(Vector) / sizeof(std::uint32_t);
#pragma unroll
            for (int k = 0; k < Bits / words_a_load; ++k) {
                const Vector load = __ldg(reinterpret_cast<const Vector *>(from) + k);
                memcpy(words + k * words_a_load, &load, sizeof(load));
            }
        };
        if (Bits % 4 == 0 && aligned) {
            read_as(uint4{});
        } else if (Bits % 2 == 0 && aligned) {
            read_as(uint2{});
        } else {
            read_as(std::uint32_t{});
        }
    }
    template <typename Visit>
    __device__ __forceinline__ void visit(Visit visit_unit) const {
#pragma unroll
        for (int k = 0; k < static_cast<int>(group_units); ++k) {
            constexpr std::uint32_t mask = (1U << Bits) - 1;
            const int word = k * Bits / 32;
            const int offset = k * Bits % 32;
            if (offset + Bits <= 32) {
                visit_unit(words[word] >> offset & mask);
            } else {
                visit_unit(__funnelshift_r(words[word], words[word + 1], static_cast<unsigned>(offset)) &
                           mask);
            }
        }
    }
};

struct UnitSource {
    const std::uint32_t *words;
    std::uint64_t groups;
    bool aligned;
};

template <int Bits>
__global__ void __launch_bounds__(histogram_threads, 2)
    unit_histogram_kernel(UnitSource source, HistogramLayout layout, std::uint32_t *sums) {
    extern __shared__ std::uint32_t counters[];
    clear_counters(counters, layout.slots << layout.shift);
    BlockCounter counter(counters, layout);
    const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    for (std::uint64_t group = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
         group < source.groups; group += threads) {
        UnitGroup<Bits> own;
        own.read(source.words, group, source.aligned);
        own.visit([&](std::uint32_t unit) { counter.add(unit); });
    }
    write_block_sums(counters, layout, sums);
}

// The counters have 16 bits, as in packed_histogram_kernel.
template <int Bits>
__global__ void __launch_bounds__(packed_threads, 1)
    packed_unit_histogram_kernel(UnitSource source, std::uint32_t *sums, std::uint64_t *counts) {
    static_assert(packed_threads * group_units <= 1U << 15);
    extern __shared__ std::uint32_t counters[];
    constexpr std::uint32_t words = 1U << (Bits - 1);
    clear_counters(counters, words);
    const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * packed_threads;
    std::uint64_t group = static_cast<std::uint64_t>(blockIdx.x) * packed_threads + threadIdx.x;
    UnitGroup<Bits> own;
    if (group < source.groups) {
        own.read(source.words, group, source.aligned);
    }
    // All threads of a block go round as often as its first one.
    for (std::uint64_t first = static_cast<std::uint64_t>(blockIdx.x) * packed_threads; first < source.groups;
         first += threads, group += threads) {
        if (group < source.groups) {
            const UnitGroup<Bits> read = own;
            if (group + threads < source.groups) {
                own.read(source.words, group + threads, source.aligned);
            }
            std::uint32_t slot = 0;
            std::uint32_t run = 0;
            read.visit([&](std::uint32_t unit) {
                if (unit != slot) {
                    if (run != 0) {
                        add_packed(counters, slot, run, counts);
                    }
                    slot = unit;
                    run = 0;
                }
                ++run;
            });
            add_packed(counters, slot, run, counts);
        }
        __syncthreads();
    }
    std::uint32_t *to = sums + static_cast<std::uint64_t>(blockIdx.x) * words;
    for (std::uint32_t word = threadIdx.x; word < words; word += packed_threads) {
        to[word] = counters[word];
    }
}

// Each block takes a code and adds up the units that have it, as often as they do.
__global__ void fold_units_kernel(const std::uint64_t *unit_counts, std::uint32_t units, std::uint32_t bits,
                                  std::uint32_t codes_a_unit, std::uint32_t entries,
                                  std::uint64_t *code_counts) {
    __shared__ unsigned long long sum;
    if (threadIdx.x == 0) {
        sum = 0;
    }
    __syncthreads();
    unsigned long long own = 0;
    for (std::uint32_t unit = threadIdx.x; unit < units; unit += blockDim.x) {
        std::uint32_t times = 0;
        for (std::uint32_t k = 0; k < codes_a_unit; ++k) {
            times += (unit >> (k * bits) & ((1U << bits) - 1)) == blockIdx.x ? 1 : 0;
        }
        own += times * unit_counts[unit];
    }
    atomicAdd(&sum, own);
    __syncthreads();
    if (threadIdx.x == 0 && sum != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(code_counts) + min(blockIdx.x, entries), sum);
    }
}
__global__ void fold_codes_kernel(const std::uint64_t *unit_counts, std::uint32_t units,
                                  std::uint32_t entries, std::uint64_t *code_counts) {
    const std::uint32_t code = blockIdx.x * blockDim.x + threadIdx.x;
    if (code < units && unit_counts[code] != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(code_counts) + min(code, entries),
                  static_cast<unsigned long long>(unit_counts[code]));
    }
}

// Counts what is left behind the last group.
__global__ void count_last_codes_kernel(const std::uint32_t *words, std::uint64_t first, std::uint64_t count,
                                        std::uint32_t bits, std::uint32_t entries,
                                        std::uint64_t *code_counts) {
    const std::uint64_t i = first + static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        atomicAdd(reinterpret_cast<unsigned long long *>(code_counts) + min(code_at(words, i, bits), entries),
                  1ULL);
    }
}

// Adds to `counts`, which has a place for each unit.
template <int Bits>
void launch_units(const Call &call, const UnitSource &source, std::uint64_t *counts) {
    constexpr std::uint32_t units = 1U << Bits;
    const auto launch = [&](auto kernel, int threads, std::size_t bytes, std::uint32_t words, auto run) {
        const std::uint64_t resident = resident_blocks(call.engine(), kernel, threads, bytes);
        const auto blocks = static_cast<unsigned>(
            std::clamp<std::uint64_t>(source.groups / static_cast<std::uint64_t>(threads), 1, resident));
        const Buffer<std::uint32_t> sums = call.buffer<std::uint32_t>(std::uint64_t(blocks) * words);
        run(kernel, blocks, sums.data());
        check_launch("unit_histogram_kernel");
        add_block_sums(call, sums.data(), blocks, units, words < units, counts);
    };
    if constexpr (!are_packed(units)) {
        const std::size_t copies_bytes = std::min(unit_copies_bytes, call.engine().shared_bytes());
        HistogramLayout layout{units, 0};
        while (layout.shift < max_copies_shift &&
               HistogramLayout{units, layout.shift + 1}.bytes() <= copies_bytes) {
            ++layout.shift;
        }
        launch(unit_histogram_kernel<Bits>, histogram_threads, layout.bytes(), units,
               [&](auto kernel, unsigned blocks, std::uint32_t *sums) {
                   kernel<<<blocks, histogram_threads, layout.bytes(), call.stream()>>>(source, layout, sums);
               });
    } else {
        constexpr std::uint32_t words = units / 2;
        constexpr std::size_t bytes = least_bytes(units);
        launch(packed_unit_histogram_kernel<Bits>, packed_threads, bytes, words,
               [&](auto kernel, unsigned blocks, std::uint32_t *sums) {
                   kernel<<<blocks, packed_threads, bytes, call.stream()>>>(source, sums, counts);
               });
    }
}

void launch_units(const Call &call, const UnitSource &source, std::uint32_t bits, std::uint64_t *counts) {
    switch (bits) {
        case 7:
            return launch_units<7>(call, source, counts);
        case 8:
            return launch_units<8>(call, source, counts);
        case 9:
            return launch_units<9>(call, source, counts);
        case 10:
            return launch_units<10>(call, source, counts);
        case 11:
            return launch_units<11>(call, source, counts);
        case 12:
            return launch_units<12>(call, source, counts);
        case 13:
            return launch_units<13>(call, source, counts);
        case 14:
            return launch_units<14>(call, source, counts);
        case 15:
            return launch_units<15>(call, source, counts);
        case 16:
            return launch_units<16>(call, source, counts);
        default:
            throw Failure{make_status(StatusCode::internal, "units of so many bits aren't counted")};
    }
}

}  // namespace

bool are_counted(const DeviceEngine &engine, std::uint32_t bits) {
    return bits > 0 && bits <= counted_bits &&
           least_bytes(1U << (bits * codes_a_unit(bits))) <= engine.shared_bytes();
}

std::uint64_t counted_piece(std::uint32_t bits) {
    const std::uint64_t group = group_units * codes_a_unit(bits);
    return histogram_piece / group * group;
}

void count_codes_themselves(const Call &call, const std::uint32_t *words, std::uint64_t count,
                            std::uint32_t bits, std::uint32_t entries, std::uint64_t *code_counts) {
    constexpr unsigned threads = 256;
    const std::uint32_t joined = codes_a_unit(bits);
    const std::uint32_t unit_bits = bits * joined;
    const std::uint32_t units = 1U << unit_bits;
    const UnitSource source{words, count / (group_units * joined),
                            reinterpret_cast<std::uintptr_t>(words) % 16 == 0};
    const std::uint64_t in_groups = source.groups * group_units * joined;
    if (source.groups > 0) {
        const Buffer<std::uint64_t> unit_counts = call.buffer<std::uint64_t>(units);
        call.fill(unit_counts.data(), 0, unit_counts.bytes());
        launch_units(call, source, unit_bits, unit_counts.data());
        if (joined > 1) {
            fold_units_kernel<<<1U << bits, threads, 0, call.stream()>>>(unit_counts.data(), units, bits,
                                                                         joined, entries, code_counts);
        } else {
            fold_codes_kernel<<<(units + threads - 1) / threads, threads, 0, call.stream()>>>(
                unit_counts.data(), units, entries, code_counts);
        }
        check_launch("fold_codes_kernel");
    }
    if (in_groups < count) {
        const auto left = static_cast<unsigned>(count - in_groups);
        count_last_codes_kernel<<<(left + threads - 1) / threads, threads, 0, call.stream()>>>(
            words, in_groups, count, bits, entries, code_counts);
        check_launch("count_last_codes_kernel");
    }
}

}  // namespace gpu_engine::device
