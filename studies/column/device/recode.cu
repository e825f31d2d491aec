#include "studies/column/device/recode.cuh"

#include <algorithm>
#include <type_traits>

#include "studies/column/common/codes.h"
#include "studies/column/device/studies.h"

namespace gpu_engine::device {
namespace {

constexpr std::uint32_t wide_bits = 16;

// What a lane needs to pack the codes of its warp: 32 codes are as many words as a code has bits. `Wide` is
// for codes of at least wide_bits, of which no word has parts of more than 3.
template <bool Wide>
struct WarpPacking {
    std::uint32_t bits;
    std::uint32_t first;   // the lane whose code the word begins in
    std::uint32_t before;  // so many bits of it are in the word before
    std::uint32_t lanes;   // how many lanes' codes a word has a part of, at most

    __device__ WarpPacking(std::uint32_t bits, std::uint32_t lane)
        : bits(bits),
          first(bits > 0 ? lane * 32 / bits : 0),
          before(lane * 32 - first * bits),
          lanes(Wide       ? 3
                : bits > 0 ? 31 / bits + 2
                           : 0) {}

    // The word of this lane, of which there are `bits`.
    __device__ __forceinline__ std::uint32_t word(std::uint32_t code, std::uint32_t lane) const {
        constexpr std::uint32_t all = 0xffffffffU;
        constexpr std::uint32_t few_words = 6;
        if (!Wide && bits <= few_words) {
            std::uint32_t result = 0;
            for (std::uint32_t w = 0; w < bits; ++w) {
                const int shift = static_cast<int>(lane * bits) - static_cast<int>(w * 32);
                const bool within = shift < 32 && shift > -static_cast<int>(bits);
                const std::uint32_t part = !within ? 0 : shift >= 0 ? code << shift : code >> -shift;
                const std::uint32_t joined = __reduce_or_sync(all, part);
                result = lane == w ? joined : result;
            }
            return result;
        }
        std::uint32_t result = __shfl_sync(all, code, static_cast<int>(first & 31U)) >> before;
        std::uint32_t filled = bits - before;
#pragma unroll
        for (std::uint32_t k = 1; k < (Wide ? 3 : lanes); ++k, filled += bits) {
            const std::uint32_t next = __shfl_sync(all, code, static_cast<int>((first + k) & 31U));
            // Nothing from 32 bits on.
            result |= __funnelshift_lc(0U, next, filled);
        }
        return result;
    }
};

// Where a lane's code lies among the 32 of its warp, which begin at some bit of a word.
struct WarpUnpacking {
    std::uint32_t bits;
    std::uint32_t mask;
    std::uint32_t word;
    std::uint32_t offset;

    __device__ WarpUnpacking(std::uint32_t bits, std::uint32_t lane, std::uint32_t begin)
        : bits(bits),
          mask(static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1)),
          word((begin + lane * bits) / 32),
          offset((begin + lane * bits) % 32) {}
    // There are no branches, so the reads are under way together. 32 more codes must follow these: the word
    // behind a code's first is read whether or not the code reaches into it.
    template <int Codes>
    __device__ __forceinline__ void read(const std::uint32_t *words, std::uint32_t (&own)[Codes]) const {
        words += word;
#pragma unroll
        for (std::uint32_t k = 0; k < Codes; ++k) {
            own[k] = __funnelshift_r(words[k * bits], words[k * bits + 1], offset) & mask;
        }
    }
};

// Brings the line of an address to the second level of caches.
__device__ __forceinline__ void prefetch(const void *address) {
    asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

template <bool Wide, typename Lookup>
__device__ __forceinline__ void recode_rows(const Recoding &recoding, const Lookup &lookup) {
    constexpr int codes = Lookup::codes;
    constexpr std::uint32_t chunk_codes = codes * 32;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * (blockDim.x / 32);
    const std::uint64_t total = recoding.total();
    const std::uint64_t chunks = (total + chunk_codes - 1) / chunk_codes;
    const std::uint32_t bits = recoding.bits;
    const WarpPacking<Wide> packing(bits, lane);
    const MappedCodes &main = recoding.main;
    const MappedCodes &delta = recoding.delta;
    // Takes the chunks of main alone, and of delta alone, behind which another 32 codes follow.
    const std::uint64_t main_chunks = main.codes.bits > 0 && main.map_entries > 0 && main.codes.count >= 32
                                          ? (main.codes.count - 32) / chunk_codes
                                          : 0;
    const WarpUnpacking main_packing(main.codes.bits, lane, 0);
    const auto main_last = static_cast<std::uint32_t>(
        (main.map_entries < std::uint64_t(1) << 32 ? main.map_entries : std::uint64_t(1) << 32) - 1);
    const std::uint64_t delta_first = delta.codes.bits > 0 && delta.map_entries > 0
                                          ? (main.codes.count + chunk_codes - 1) / chunk_codes
                                          : chunks;
    const std::uint64_t delta_end = total >= 32 ? (total - 32) / chunk_codes : 0;
    std::uint32_t greatest = 0;  // of main's codes
    std::uint32_t any = 0;       // the new codes' bits
    bool beyond = false;
    for (std::uint64_t chunk = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
         chunk < chunks; chunk += warps) {
        std::uint32_t own[codes];
        if (chunk < main_chunks) {
            main_packing.read(main.codes.words + chunk * codes * main.codes.bits, own);
            if constexpr (Lookup::prefetches) {
                constexpr std::uint32_t line_words = 32;
                const std::uint64_t next = chunk + warps;
                if (next < main_chunks && lane * line_words < codes * main.codes.bits) {
                    prefetch(main.codes.words + next * codes * main.codes.bits + lane * line_words);
                }
            }
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                greatest = max(greatest, own[k]);
                own[k] = min(own[k], main_last);
            }
            lookup.look_up(own);
        } else if (chunk >= delta_first && chunk < delta_end) {
            const std::uint64_t bit = (chunk * chunk_codes - main.codes.count) * delta.codes.bits;
            const WarpUnpacking packing_there(delta.codes.bits, lane, static_cast<std::uint32_t>(bit % 32));
            packing_there.read(delta.codes.words + bit / 32, own);
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                const bool is_there = own[k] < delta.map_entries;
                own[k] = __ldg(delta.map + (is_there ? own[k] : 0));
                beyond = beyond || !is_there;
            }
        } else {
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                own[k] = 0;
                const auto look_up_plain = [&](const MappedCodes &source, std::uint64_t row) {
                    const std::uint32_t code = code_at(source.codes.words, row, source.codes.bits);
                    if (code < source.map_entries) {
                        own[k] = source.map[code];
                    } else {
                        beyond = true;
                    }
                };
                const std::uint64_t row = chunk * chunk_codes + static_cast<std::uint64_t>(k) * 32 + lane;
                if (row < main.codes.count) {
                    look_up_plain(main, row);
                } else if (row < total) {
                    look_up_plain(delta, row - main.codes.count);
                }
            }
        }
        std::uint32_t *const words = recoding.words + chunk * codes * bits + lane;
        const auto write = [&]<bool IsLast>(std::bool_constant<IsLast>, std::uint32_t left) {
#pragma unroll
            for (std::uint32_t k = 0; k < codes; ++k) {
                any |= own[k];
                const std::uint32_t word = packing.word(own[k], lane);
                if (lane < bits && (!IsLast || k * bits + lane < left)) {
                    words[k * bits] = word;
                }
            }
        };
        if (chunk + 1 < chunks) {
            write(std::false_type{}, 0);
        } else {
            write(std::true_type{},
                  static_cast<std::uint32_t>((total * bits + 31) / 32 - chunk * codes * bits));
        }
    }
    const auto mask = static_cast<std::uint32_t>((std::uint64_t(1) << bits) - 1);
    if (beyond || (main_chunks > 0 && greatest > main_last) || (any & ~mask) != 0) {
        *recoding.beyond = 1;
    }
}

template <bool Wide, typename Lookup>
__global__ void __launch_bounds__(Lookup::threads, Lookup::blocks)
    recode_kernel(Recoding recoding, Lookup lookup) {
    recode_rows<Wide>(recoding, lookup);
}

template <bool Wide>
__global__ void __launch_bounds__(CellLookup::threads, CellLookup::blocks)
    recode_by_cells_kernel(Recoding recoding, CellLookup lookup) {
    extern __shared__ uint4 memory[];
    if (lookup.enter(memory)) {
        recode_rows<Wide>(recoding, lookup);
    } else {
        recode_rows<Wide>(recoding, PlainLookup{recoding.main.map});
    }
}

// Making a map small pays for so many rows an entry, and for at least so many rows.
constexpr std::uint64_t mapped_rows = 1 << 20;
// How many steps 256 codes may have on average. With that, few groups have more than fit.
constexpr std::uint64_t sparse_steps = 8;

// How many steps main's map has at most, if it ascends and its codes fit; each step is an entry of delta's.
// Other maps are read as they are.
std::uint64_t max_steps(const Recoding &recoding) {
    const std::uint64_t entries = recoding.main.map_entries;
    const std::uint64_t codes = std::uint64_t(1) << recoding.bits;
    const std::uint64_t others = codes > entries ? codes - entries : 0;
    return std::min(recoding.delta.map_entries > 0 ? recoding.delta.map_entries : others, entries);
}

// The length of the cells: the shortest one whose words fit. Longer cells are taken where few of them have a
// step all the same, since what shared memory doesn't take is left to the first level of caches.
std::uint32_t cell_length(std::uint64_t entries, std::uint64_t steps, std::size_t shared_bytes) {
    constexpr std::size_t small_bytes = 64 << 10;
    constexpr std::uint64_t few = 8;
    std::uint32_t length = CellMap::shortest;
    while (length < CellMap::longest) {
        const std::size_t bytes = CellMap(entries, length, 0).bytes();
        const bool longer_serves = bytes > small_bytes && steps * (length + 1) <= entries / few;
        if (bytes <= shared_bytes && !longer_serves) {
            break;
        }
        ++length;
    }
    return length;
}

template <typename Lookup, typename Kernel>
void launch(const Call &call, const Recoding &recoding, const Lookup &lookup, Kernel kernel,
            std::size_t bytes) {
    const std::uint64_t block_codes = static_cast<std::uint64_t>(Lookup::threads) * Lookup::codes;
    const auto blocks = static_cast<unsigned>(
        std::min<std::uint64_t>((recoding.total() + block_codes - 1) / block_codes,
                                static_cast<std::uint64_t>(Lookup::blocks) *
                                    static_cast<std::uint64_t>(call.engine().multiprocessors())));
    kernel<<<blocks, Lookup::threads, bytes, call.stream()>>>(recoding, lookup);
    check_launch("recode_kernel");
}

template <typename Lookup>
void launch(const Call &call, const Recoding &recoding, const Lookup &lookup) {
    if (recoding.bits >= wide_bits) {
        launch(call, recoding, lookup, recode_kernel<true, Lookup>, 0);
    } else {
        launch(call, recoding, lookup, recode_kernel<false, Lookup>, 0);
    }
}

template <typename Groups>
void launch_grouped(const Call &call, const Recoding &recoding) {
    constexpr unsigned threads = 256;
    const auto entries = static_cast<std::uint32_t>(recoding.main.map_entries);
    const std::uint32_t count = (entries + Groups::codes - 1) / Groups::codes;
    const Buffer<uint4> groups = call.buffer<uint4>(count);
    group_steps_kernel<Groups><<<count / (threads / 32) + 1, threads, 0, call.stream()>>>(
        recoding.main.map, entries, groups.data());
    check_launch("group_steps_kernel");
    launch(call, recoding, GroupedLookup<Groups>{groups.data(), recoding.main.map});
}

void launch_by_cells(const Call &call, const Recoding &recoding) {
    constexpr unsigned warps = 8;
    const auto entries = static_cast<std::uint32_t>(recoding.main.map_entries);
    const auto steps = static_cast<std::uint32_t>(max_steps(recoding));
    const CellMap cells(entries, cell_length(entries, steps, call.engine().shared_bytes()), steps);
    const Buffer<char> memory = call.buffer<char>(cells.bytes() + cells.details() * sizeof(std::uint32_t));
    auto *const words = reinterpret_cast<uint2 *>(memory.data());
    auto *const details = reinterpret_cast<std::uint32_t *>(memory.data() + cells.bytes());
    make_cells_kernel<warps><<<cells.words / warps + 1, warps * 32, 0, call.stream()>>>(
        recoding.main.map, entries, cells, words, details);
    check_launch("make_cells_kernel");
    const auto kernel =
        recoding.bits >= wide_bits ? recode_by_cells_kernel<true> : recode_by_cells_kernel<false>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(call.engine().shared_bytes())),
          "cudaFuncSetAttribute");
    launch(call, recoding, CellLookup{cells, words, details, recoding.main.map}, kernel, cells.bytes());
}

}  // namespace

MapForm map_form(const Recoding &recoding, std::size_t shared_bytes) {
    const std::uint64_t entries = recoding.main.map_entries;
    if (entries == 0 || entries > max_dictionary_entries ||
        recoding.main.codes.count < std::max(mapped_rows, entries / 2)) {
        return MapForm::plain;
    }
    const std::uint64_t steps = max_steps(recoding);
    const std::uint32_t length = cell_length(entries, steps, shared_bytes);
    // At least half of the cells have no step.
    if (CellMap(entries, length, 0).bytes() <= shared_bytes && steps * length <= entries / 2) {
        return MapForm::cells;
    }
    return steps <= entries / SparseGroups::codes * sparse_steps ? MapForm::sparse : MapForm::dense;
}

void launch_recode(const Call &call, const Recoding &recoding, MapForm form) {
    switch (form) {
        case MapForm::cells:
            launch_by_cells(call, recoding);
            break;
        case MapForm::sparse:
            launch_grouped<SparseGroups>(call, recoding);
            break;
        case MapForm::dense:
            launch_grouped<DenseGroups>(call, recoding);
            break;
        default:
            launch(call, recoding, PlainLookup{recoding.main.map});
            break;
    }
}

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
        volatile std::uint64_t *const beyond = call.result();
        *beyond = 0;
        const Recoding recoding{{{main_codes.piece(0, main_words), main.codes.count, main.codes.bits},
                                 main_map.piece(0, main.map_entries),
                                 main.map_entries},
                                {{delta_codes.piece(0, delta_words), delta.codes.count, delta.codes.bits},
                                 delta_map.piece(0, delta.map_entries),
                                 delta.map_entries},
                                bits,
                                output.piece(0),
                                beyond};
        launch_recode(call, recoding, map_form(recoding, engine_.shared_bytes()));
        output.flush(0, new_words);
        call.wait();
        if (*beyond != 0) {
            return make_status(StatusCode::invalid_argument,
                               "a code lies beyond its map, or needs more bits");
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
