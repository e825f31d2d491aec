// Histograms of dictionary codes: slots belong to the dictionary's entries, and rows have only codes. Codes
// of few bits are counted as they are, and their counts are put into the slots last.
#include "studies/column/common/codes.h"
#include "studies/column/device/code_units.h"
#include "studies/column/device/studies.h"
#include "studies/column/device/histogram.cuh"

namespace gpu_engine::device {
namespace {

// Turns a row's code into a slot. Codes beyond the dictionary have a slot of their own behind the others.
struct SlotOfCode {
    const std::uint32_t *slot_of_code;
    std::uint32_t entries;
    std::uint32_t slots;

    __device__ __forceinline__ std::uint32_t operator()(std::uint32_t code) const {
        if (code >= entries) {
            return slots;
        }
        const std::uint32_t slot = __ldg(slot_of_code + code);
        return slot < slots ? slot : slots;
    }
};

struct CodeSource {
    const std::uint32_t *words;
    std::uint32_t bits;

    __device__ __forceinline__ std::uint32_t at(std::uint64_t i) const { return code_at(words, i, bits); }
};

// Calls visit(code) for the block's share of the codes.
template <typename Visit>
__device__ __forceinline__ void visit_codes(const CodeSource &codes, std::uint64_t count, Visit visit) {
    constexpr int at_once = 4;
    const std::uint64_t threads = static_cast<std::uint64_t>(gridDim.x) * blockDim.x;
    std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i + (at_once - 1) * threads < count; i += at_once * threads) {
        std::uint32_t read[at_once];
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
            read[k] = codes.at(i + k * threads);
        }
#pragma unroll
        for (int k = 0; k < at_once; ++k) {
            visit(read[k]);
        }
    }
    for (; i < count; i += threads) {
        visit(codes.at(i));
    }
}

__global__ void __launch_bounds__(histogram_threads)
    code_histogram_kernel(CodeSource codes, std::uint64_t count, SlotOfCode slot_of, HistogramLayout layout,
                          std::uint32_t *sums) {
    extern __shared__ std::uint32_t counters[];
    clear_counters(counters, layout.slots << layout.shift);
    BlockCounter counter(counters, layout);
    visit_codes(codes, count, [&](std::uint32_t code) { counter.add(slot_of(code)); });
    write_block_sums(counters, layout, sums);
}

__global__ void __launch_bounds__(histogram_threads)
    global_code_histogram_kernel(CodeSource codes, std::uint64_t count, SlotOfCode slot_of,
                                 std::uint64_t *counts) {
    visit_codes(codes, count, [&](std::uint32_t code) {
        atomicAdd(reinterpret_cast<unsigned long long *>(counts) + slot_of(code), 1ULL);
    });
}

__global__ void fold_slots_kernel(const std::uint64_t *code_counts, SlotOfCode slot_of,
                                  std::uint64_t *counts) {
    const std::uint32_t code = blockIdx.x * blockDim.x + threadIdx.x;
    // The place behind the last entry has counted the codes that lie beyond.
    if (code <= slot_of.entries && code_counts[code] != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(counts) + slot_of(code),
                  static_cast<unsigned long long>(code_counts[code]));
    }
}

void launch_codes(const Call &call, const CodeSource &codes, std::uint64_t count, const SlotOfCode &slot_of,
                  std::uint64_t *counts) {
    const HistogramPlan plan = histogram_plan(call.engine(), slot_of.slots + 1);
    const bool in_blocks = plan.layout.bytes() <= call.engine().shared_bytes();
    std::uint64_t blocks =
        in_blocks
            ? resident_blocks(call.engine(), code_histogram_kernel, histogram_threads, plan.layout.bytes())
            : resident_blocks(call.engine(), global_code_histogram_kernel, histogram_threads, 0);
    blocks = std::clamp<std::uint64_t>(count / (histogram_threads * 16), 1, blocks);
    const auto grid = static_cast<unsigned>(blocks);
    if (in_blocks) {
        const Buffer<std::uint32_t> sums = call.buffer<std::uint32_t>(blocks * plan.layout.slots);
        code_histogram_kernel<<<grid, histogram_threads, plan.layout.bytes(), call.stream()>>>(
            codes, count, slot_of, plan.layout, sums.data());
        check_launch("code_histogram_kernel");
        add_block_sums(call, sums.data(), blocks, plan.layout.slots, false, counts);
    } else {
        global_code_histogram_kernel<<<grid, histogram_threads, 0, call.stream()>>>(codes, count, slot_of,
                                                                                    counts);
        check_launch("global_code_histogram_kernel");
    }
}

}  // namespace

Status DeviceHistograms::count_codes(Stream &stream, const PackedCodes &codes,
                                     const std::uint32_t *slot_of_code, std::uint64_t entries,
                                     std::uint32_t slots, std::uint64_t *counts) noexcept {
    return guarded([&] {
        if (codes.bits > 32 || entries > UINT32_MAX || slots > HistogramBins::max_bins + 3) {
            return make_status(StatusCode::invalid_argument,
                               "codes of so many bits or slots can't be counted");
        }
        const Call call(engine_, stream);
        const bool counted = are_counted(engine_, codes.bits);
        // Codes can't lie beyond the entries that their bits can name.
        const std::uint64_t own_entries =
            counted ? std::min(entries, std::uint64_t(1) << codes.bits) : entries;
        const Input<std::uint32_t> map(call, slot_of_code, entries, entries);
        const SlotOfCode slot_of{map.piece(0, entries), static_cast<std::uint32_t>(own_entries), slots};
        const Buffer<std::uint64_t> sums = call.buffer<std::uint64_t>(slots + 1);
        call.fill(sums.data(), 0, (slots + 1) * sizeof(std::uint64_t));
        // Pieces begin with whole words.
        const std::uint64_t piece = counted ? counted_piece(codes.bits) : histogram_piece;
        const Input<std::uint32_t> input(call, codes.words, packed_words(codes.count, codes.bits),
                                         packed_words(piece, codes.bits));
        const std::uint64_t own_slots = counted ? own_entries + 1 : 0;
        const Buffer<std::uint64_t> of_codes = call.buffer<std::uint64_t>(own_slots);
        call.fill(of_codes.data(), 0, own_slots * sizeof(std::uint64_t));
        for (std::uint64_t first = 0; first < codes.count; first += piece) {
            const std::uint64_t count = std::min(piece, codes.count - first);
            const std::uint32_t *words =
                input.piece(first / 32 * codes.bits, packed_words(count, codes.bits));
            if (counted) {
                count_codes_themselves(call, words, count, codes.bits,
                                       static_cast<std::uint32_t>(own_entries), of_codes.data());
            } else {
                launch_codes(call, CodeSource{words, codes.bits}, count, slot_of, sums.data());
            }
            call.wait();
        }
        if (counted) {
            constexpr int threads = 256;
            fold_slots_kernel<<<static_cast<unsigned>((own_slots + threads - 1) / threads), threads, 0,
                                call.stream()>>>(of_codes.data(), slot_of, sums.data());
            check_launch("fold_slots_kernel");
        }
        std::uint64_t beyond = 0;
        call.copy(&beyond, static_cast<const std::uint64_t *>(sums.data()) + slots, 1);
        call.copy(counts, static_cast<const std::uint64_t *>(sums.data()), slots);
        call.wait();
        if (beyond != 0) {
            return make_status(StatusCode::invalid_argument,
                               "a code lies beyond its dictionary or the slots");
        }
        return Status{};
    });
}

}  // namespace gpu_engine::device
