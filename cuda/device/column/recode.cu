#include "device/column/recode.cuh"

#include <algorithm>

#include "common/column/codes.h"
#include "device/column/column.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

// Sets *unlisted where the map isn't one of few steps at each code.
__global__ void list_steps_kernel(const std::uint32_t *map, std::uint32_t entries, StepList list,
                                  std::uint16_t *begins, std::uint8_t *places, std::uint32_t *unlisted) {
    const std::uint32_t code = blockIdx.x * blockDim.x + threadIdx.x;
    if (code >= entries) {
        return;
    }
    const std::uint32_t before = code == 0 ? 0 : map[code - 1] - (code - 1);
    const std::uint32_t steps = map[code] - code;
    // Where codes fall, the difference is a large one.
    bool fits = steps - before <= StepList::longest_step && steps <= list.steps;
    if (fits) {
        for (std::uint32_t step = before; step < steps; ++step) {
            places[step] = static_cast<std::uint8_t>(code % StepList::block_codes);
        }
    }
    const auto begin = [&](std::uint32_t block, std::uint32_t at) {
        const std::uint32_t distance = at - list.share_before(block) + StepList::even;
        fits = fits && distance < 2 * StepList::even;
        begins[block] = static_cast<std::uint16_t>(distance);
    };
    if (code % StepList::block_codes == 0) {
        begin(code / StepList::block_codes, before);
    }
    if (code + 1 == entries) {
        begin(list.blocks, steps);
    }
    if (!fits) {
        *unlisted = 1;
    }
}

// What a lane needs to pack the codes of its warp: 32 codes are as many words as a code has bits.
struct WarpPacking {
    std::uint32_t bits;
    std::uint32_t first;   // the lane whose code the word begins in
    std::uint32_t before;  // so many bits of it are in the word before
    std::uint32_t lanes;   // how many lanes' codes a word has a part of, at most

    __device__ WarpPacking(std::uint32_t bits, std::uint32_t lane)
        : bits(bits),
          first(bits > 0 ? lane * 32 / bits : 0),
          before(lane * 32 - first * bits),
          lanes(bits > 0 ? 31 / bits + 2 : 0) {}

    // The word of this lane, of which there are `bits`.
    __device__ __forceinline__ std::uint32_t word(std::uint32_t code, std::uint32_t lane) const {
        constexpr std::uint32_t all = 0xffffffffU;
        constexpr std::uint32_t few_words = 6;
        if (bits <= few_words) {
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
        for (std::uint32_t k = 1; k < lanes; ++k, filled += bits) {
            const std::uint32_t next = __shfl_sync(all, code, static_cast<int>((first + k) & 31U));
            result |= filled < 32 ? next << filled : 0;
        }
        return result;
    }
};

template <typename Lookup>
__device__ void recode_rows(const Recoding &recoding, const Lookup &look_up) {
    constexpr int codes = Lookup::codes;
    constexpr std::uint32_t chunk_codes = codes * 32;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * (blockDim.x / 32);
    const std::uint64_t total = recoding.total();
    const std::uint64_t chunks = (total + chunk_codes - 1) / chunk_codes;
    const std::uint64_t word_count = (total * recoding.bits + 31) / 32;
    const auto mask = static_cast<std::uint32_t>((std::uint64_t(1) << recoding.bits) - 1);
    const WarpPacking packing(recoding.bits, lane);
    // Where the lane's code lies among 32.
    const PackedCodes &from = recoding.main.codes;
    const auto from_mask = static_cast<std::uint32_t>((std::uint64_t(1) << from.bits) - 1);
    const std::uint32_t word_of_32 = lane * from.bits / 32;
    const std::uint32_t offset = lane * from.bits % 32;
    const std::uint32_t next = offset + from.bits > 32 ? 1 : 0;
    // Chunks of main alone: without branches, so that the reads are under way together.
    const std::uint64_t whole_chunks =
        from.bits > 0 && recoding.main.map_entries > 0 ? from.count / chunk_codes : 0;
    bool beyond = false;
    for (std::uint64_t chunk = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
         chunk < chunks; chunk += warps) {
        std::uint32_t own[codes];
        if (chunk < whole_chunks) {
            const std::uint32_t *word = from.words + chunk * codes * from.bits + word_of_32;
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                own[k] = __funnelshift_r(word[0], word[next], offset) & from_mask;
                word += from.bits;
            }
#pragma unroll
            for (int k = 0; k < codes; ++k) {
                const bool is_there = own[k] < recoding.main.map_entries;
                own[k] = look_up(is_there ? own[k] : 0);
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
                if (row < from.count) {
                    look_up_plain(recoding.main, row);
                } else if (row < total) {
                    look_up_plain(recoding.delta, row - from.count);
                }
            }
        }
        const std::uint64_t first_word = chunk * codes * recoding.bits;
#pragma unroll
        for (int k = 0; k < codes; ++k) {
            beyond = beyond || (own[k] & ~mask) != 0;
            const std::uint32_t word = packing.word(own[k] & mask, lane);
            const std::uint64_t at = first_word + static_cast<std::uint64_t>(k) * recoding.bits + lane;
            if (lane < recoding.bits && at < word_count) {
                recoding.words[at] = word;
            }
        }
    }
    if (beyond) {
        recoding.problem->beyond = 1;
    }
}

template <typename Lookup>
__global__ void __launch_bounds__(Lookup::threads, Lookup::blocks)
    recode_kernel(Recoding recoding, Lookup lookup) {
    extern __shared__ uint4 memory[];
    const auto &own = lookup.in_block(memory);
    recode_rows(recoding, own);
}

// The same where the list may have failed.
__global__ void __launch_bounds__(ListedLookup::threads, ListedLookup::blocks)
    recode_listed_kernel(Recoding recoding, ListedLookup lookup) {
    extern __shared__ uint4 memory[];
    if (recoding.problem->unlisted != 0) {
        recode_rows(recoding, PlainLookup{recoding.main.map});
    } else {
        recode_rows(recoding, lookup.in_block(memory));
    }
}

// Making a map small pays for so many rows an entry, and at least so many.
constexpr std::uint64_t mapped_rows = 1 << 20;
// What a block may have steps of, on average, so that few have more than fit.
constexpr std::uint64_t sparse_steps = 6;

template <typename Lookup, typename Kernel>
void launch(const Call &call, const Recoding &recoding, const Lookup &lookup, Kernel kernel,
            std::size_t bytes) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(call.engine().shared_bytes())),
          "cudaFuncSetAttribute");
    int resident = 0;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, Lookup::threads, bytes),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    const std::uint64_t block_codes = static_cast<std::uint64_t>(Lookup::threads) * Lookup::codes;
    const auto blocks = static_cast<unsigned>(
        std::min<std::uint64_t>((recoding.total() + block_codes - 1) / block_codes,
                                static_cast<std::uint64_t>(std::max(resident, 1)) *
                                    static_cast<std::uint64_t>(call.engine().multiprocessors())));
    kernel<<<blocks, Lookup::threads, bytes, call.stream()>>>(recoding, lookup);
    check_launch("recode_kernel");
}

template <typename Groups>
Buffer<uint4> make_groups(const Call &call, const Recoding &recoding) {
    constexpr unsigned threads = 256;
    const auto entries = static_cast<std::uint32_t>(recoding.main.map_entries);
    const std::uint32_t count = (entries + Groups::codes - 1) / Groups::codes;
    Buffer<uint4> groups = call.buffer<uint4>(count);
    group_steps_kernel<Groups><<<count / (threads / 32) + 1, threads, 0, call.stream()>>>(
        recoding.main.map, entries, groups.data());
    check_launch("group_steps_kernel");
    return groups;
}

template <typename Groups>
void launch_grouped(const Call &call, const Recoding &recoding) {
    using Lookup = GroupedLookup<Groups>;
    const Buffer<uint4> groups = make_groups<Groups>(call, recoding);
    launch(call, recoding, Lookup{groups.data(), recoding.main.map}, recode_kernel<Lookup>, 0);
}

void launch_listed(const Call &call, const Recoding &recoding, std::uint32_t steps) {
    constexpr unsigned threads = 256;
    const auto entries = static_cast<std::uint32_t>(recoding.main.map_entries);
    const StepList list(entries, steps);
    const Buffer<std::uint8_t> memory = call.buffer<std::uint8_t>(list.bytes());
    call.fill(memory.data(), 0, list.bytes());
    list_steps_kernel<<<entries / threads + 1, threads, 0, call.stream()>>>(
        recoding.main.map, entries, list, reinterpret_cast<std::uint16_t *>(memory.data()),
        memory.data() + list.begins_bytes(), &recoding.problem->unlisted);
    check_launch("list_steps_kernel");
    launch(call, recoding, ListedLookup(list, memory.data()), recode_listed_kernel, list.bytes());
}

}  // namespace

std::uint32_t steps_of_map(const Call &call, const Recoding &recoding) {
    const std::uint64_t last = recoding.main.map_entries - 1;
    std::uint32_t code = 0;
    call.copy(&code, recoding.main.map + last, 1);
    call.wait();
    return code - static_cast<std::uint32_t>(last);
}

MapForm map_form(std::uint64_t rows, std::uint64_t entries, std::uint32_t steps, std::size_t shared_bytes) {
    if (rows < std::max(mapped_rows, entries / 2) || steps > entries) {
        return MapForm::plain;
    }
    // What shared memory could hold the first level of caches, which is the same memory, holds too.
    if (entries / DenseGroups::codes * sizeof(uint4) <= shared_bytes) {
        return MapForm::dense;
    }
    if (StepList(entries, steps).bytes() <= shared_bytes) {
        return MapForm::listed;
    }
    return steps <= entries / SparseGroups::codes * sparse_steps ? MapForm::sparse : MapForm::dense;
}

void launch_recode(const Call &call, const Recoding &recoding, MapForm form, std::uint32_t steps) {
    switch (form) {
        case MapForm::listed:
            launch_listed(call, recoding, steps);
            break;
        case MapForm::sparse:
            launch_grouped<SparseGroups>(call, recoding);
            break;
        case MapForm::dense:
            launch_grouped<DenseGroups>(call, recoding);
            break;
        default:
            launch(call, recoding, PlainLookup{recoding.main.map}, recode_kernel<PlainLookup>, 0);
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
        const Buffer<RecodeProblem> problem = call.buffer<RecodeProblem>(1);
        call.fill(problem.data(), 0, sizeof(RecodeProblem));
        const Recoding recoding{{{main_codes.piece(0, main_words), main.codes.count, main.codes.bits},
                                 main_map.piece(0, main.map_entries),
                                 main.map_entries},
                                {{delta_codes.piece(0, delta_words), delta.codes.count, delta.codes.bits},
                                 delta_map.piece(0, delta.map_entries),
                                 delta.map_entries},
                                bits,
                                output.piece(0),
                                problem.data()};
        MapForm form = MapForm::plain;
        std::uint32_t steps = 0;
        if (main.codes.count >= mapped_rows && main.map_entries > 0 && main.map_entries <= UINT32_MAX) {
            steps = steps_of_map(call, recoding);
            form = map_form(main.codes.count, main.map_entries, steps, engine_.shared_bytes());
        }
        launch_recode(call, recoding, form, steps);
        RecodeProblem found{};
        call.copy(&found, static_cast<const RecodeProblem *>(problem.data()), 1);
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
