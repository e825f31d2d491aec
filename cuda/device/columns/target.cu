#include "device/columns/target.h"

#include <algorithm>

#include "device/columns/codes.cuh"
#include "gpu_engine/guard.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

constexpr int threads = 256;
constexpr int count_threads = 512;
// Copies of a histogram in a block's shared memory: lanes that meet wait for each other, blocks that need too
// much leave room for few of them.
constexpr std::uint32_t most_copies = 32;
constexpr std::size_t shared_for_copies = 48 << 10;

using Count = unsigned long long;

unsigned blocks_for(std::uint64_t count) {
    return static_cast<unsigned>((count + threads - 1) / threads);
}
unsigned row_blocks(const Call &call) {
    return static_cast<unsigned>(call.engine().multiprocessors() * row_blocks_a_multiprocessor);
}

__device__ std::uint64_t value_of(const TargetView &target, std::uint64_t code) {
    if (target.column.encoding != ColumnEncoding::dictionary) {
        return target.column.base + code;
    }
    // A code may lie beyond its dictionary where pages lie.
    return code < target.column.distinct
               ? target.column.base + packed_at(target.dictionary, code, target.column.entry_bits)
               : 0;
}

__global__ void find_slots_kernel(TargetView target, std::uint32_t *slot_of_code, std::uint64_t codes) {
    const std::uint64_t code = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (code < codes) {
        slot_of_code[code] = target.finder.slot(value_of(target, code));
    }
}

__device__ std::uint64_t slot_of(const TargetView &target, std::uint64_t code) {
    if (target.kind == TargetKind::codes) {
        return code;
    }
    return target.slot_of_code != nullptr ? target.slot_of_code[code]
                                          : target.finder.slot(target.column.base + code);
}

// A warp takes words of 32 rows. With `copies` counts are kept in shared memory first, copy c of place p at
// p * copies + c; without, there are only those in device memory.
template <bool in_shared_memory>
__global__ void __launch_bounds__(count_threads)
    count_slots_kernel(TargetView target, const std::uint32_t *selected, std::uint64_t words,
                       std::uint32_t copies, Count *counts) {
    extern __shared__ std::uint32_t copied[];
    const std::uint64_t places = target.slots + 1;
    if constexpr (in_shared_memory) {
        for (std::uint64_t i = threadIdx.x; i < places * copies; i += blockDim.x) {
            copied[i] = 0;
        }
        __syncthreads();
    }
    const std::uint32_t lane = threadIdx.x % 32;
    const CodesView codes{target.codes, target.column.bits};
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / 32;
    for (std::uint64_t word = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
         word < words; word += warps) {
        const std::uint32_t bits = selected[word];
        if ((bits >> lane & 1) == 0) {
            continue;
        }
        const std::uint64_t row = word * 32 + lane;
        const bool is_null = target.nulls != nullptr && (target.nulls[row / 64] >> (row % 64) & 1) != 0;
        const std::uint64_t slot = is_null ? target.slots : slot_of(target, codes[row]);
        // Nothing is counted for a code that the dictionary hasn't got.
        if (slot > target.slots) {
            continue;
        }
        if constexpr (in_shared_memory) {
            atomicAdd(&copied[slot * copies + lane % copies], 1U);
        } else {
            atomicAdd(&counts[slot], Count(1));
        }
    }
    if constexpr (in_shared_memory) {
        __syncthreads();
        for (std::uint64_t place = threadIdx.x; place < places; place += blockDim.x) {
            Count sum = 0;
            for (std::uint32_t copy = 0; copy < copies; ++copy) {
                sum += copied[place * copies + (copy + threadIdx.x) % copies];
            }
            if (sum != 0) {
                atomicAdd(&counts[place], sum);
            }
        }
    }
}

// counts: rows, least code, greatest code.
__global__ void count_bounds_kernel(TargetView target, const std::uint32_t *selected, std::uint64_t words,
                                    Count *counts) {
    const std::uint32_t lane = threadIdx.x % 32;
    const CodesView codes{target.codes, target.column.bits};
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / 32;
    Count rows = 0;
    Count least = UINT64_MAX;
    Count greatest = 0;
    for (std::uint64_t word = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
         word < words; word += warps) {
        const std::uint64_t row = word * 32 + lane;
        if ((selected[word] >> lane & 1) == 0 ||
            (target.nulls != nullptr && (target.nulls[row / 64] >> (row % 64) & 1) != 0)) {
            continue;
        }
        const Count code = codes[row];
        ++rows;
        least = code < least ? code : least;
        greatest = code > greatest ? code : greatest;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        rows += __shfl_down_sync(UINT32_MAX, rows, distance);
        const Count low = __shfl_down_sync(UINT32_MAX, least, distance);
        const Count high = __shfl_down_sync(UINT32_MAX, greatest, distance);
        least = low < least ? low : least;
        greatest = high > greatest ? high : greatest;
    }
    if (lane == 0 && rows != 0) {
        atomicAdd(&counts[0], rows);
        atomicMin(&counts[1], least);
        atomicMax(&counts[2], greatest);
    }
}

// From codes to values, once all is counted.
__global__ void find_bounds_kernel(TargetView target, Count *counts) {
    if (counts[0] == 0) {
        counts[1] = counts[2] = 0;
        return;
    }
    counts[1] = value_of(target, counts[1]);
    counts[2] = value_of(target, counts[2]);
}

// The number of the warp's first row in the list. All lanes call it.
__device__ std::uint64_t reserve_rows(std::uint32_t bits, Count *listed) {
    Count first = 0;
    if (threadIdx.x % 32 == 0) {
        first = atomicAdd(listed, Count(__popc(bits)));
    }
    return __shfl_sync(UINT32_MAX, first, 0);
}

// Calls list(row, place) for each selected row.
template <typename List>
__device__ void for_selected(const std::uint32_t *selected, std::uint64_t words, Count *listed, List list) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t warps = static_cast<std::uint64_t>(gridDim.x) * blockDim.x / 32;
    for (std::uint64_t word = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
         word < words; word += warps) {
        const std::uint32_t bits = selected[word];
        if (bits == 0) {
            continue;
        }
        const std::uint64_t first = reserve_rows(bits, listed);
        if ((bits >> lane & 1) != 0) {
            list(word * 32 + lane, first + __popc(bits & ((1U << lane) - 1)));
        }
    }
}

struct TidsView {
    const Stretch *stretches;
    std::uint64_t count;
    const std::uint64_t *bitmaps;

    __device__ Tid operator[](std::uint64_t row) const {
        return tid_in_stretch(stretches[find_stretch(stretches, count, row)], bitmaps, row);
    }
};

__global__ void __launch_bounds__(row_threads)
    list_doubtful_kernel(TargetView target, TidsView tids, const std::uint32_t *selected, std::uint64_t words,
                         Count *listed, DoubtfulRow *rows) {
    const CodesView codes{target.codes, target.column.bits};
    for_selected(selected, words, listed, [&](std::uint64_t row, std::uint64_t place) {
        std::uint64_t number = 0;
        if (target.kind != TargetKind::rows) {
            const bool is_null = target.nulls != nullptr && (target.nulls[row / 64] >> (row % 64) & 1) != 0;
            number = is_null                             ? target.slots
                     : target.kind == TargetKind::bounds ? value_of(target, codes[row])
                                                         : slot_of(target, codes[row]);
        }
        rows[place] = DoubtfulRow{number, tids[row], 0};
    });
}

__global__ void __launch_bounds__(row_threads)
    list_tids_kernel(TidsView tids, const std::uint32_t *selected, std::uint64_t words, Count *listed,
                     Tid *listed_tids) {
    for_selected(selected, words, listed,
                 [&](std::uint64_t row, std::uint64_t place) { listed_tids[place] = tids[row]; });
}

const std::uint32_t *halves_of(const Buffer<std::uint64_t> &words) {
    return reinterpret_cast<const std::uint32_t *>(words.data());
}

TidsView tids_of(const StoreParts &parts) {
    return {parts.stretches.data(), parts.count.stretches, parts.bitmaps.data()};
}

}  // namespace

Target::Target(const Call &call, const StoreParts &parts, const ColumnTarget &target)
    : call_(call), parts_(parts) {
    const Status status = check_target(parts.layout, target);
    if (!status.ok()) {
        throw Failure{status};
    }
    view_.kind = target.kind;
    if (target.kind == TargetKind::rows) {
        return;
    }
    view_.column = parts.layout.column[target.column];
    view_.codes = parts.codes(target.column);
    view_.dictionary = parts.dictionary(target.column);
    view_.nulls = parts.null_bits(target.column);
    if (target.kind == TargetKind::codes) {
        view_.slots = code_slots(view_.column);
        return;
    }
    if (target.kind == TargetKind::bounds) {
        return;
    }
    view_.slots = target.slots;
    view_.finder = make_slot_finder(target, &starts_);
    device_starts_ = call.buffer<std::uint64_t>(starts_.size() + 1);
    call.copy(device_starts_.data(), static_cast<const std::uint64_t *>(starts_.data()), starts_.size());
    view_.finder.starts = device_starts_.data();
    const bool is_dictionary = view_.column.encoding == ColumnEncoding::dictionary;
    if (is_dictionary || view_.column.bits <= most_counted_bits) {
        const std::uint64_t codes = std::uint64_t(1) << view_.column.bits;
        slot_of_code_ = call.buffer<std::uint32_t>(codes);
        find_slots_kernel<<<blocks_for(codes), threads, 0, call.stream()>>>(view_, slot_of_code_.data(),
                                                                            codes);
        check_launch("find_slots_kernel");
        view_.slot_of_code = slot_of_code_.data();
    }
}

void Target::count(const Selection &selection, std::uint64_t *counts) {
    const std::uint64_t places = view_.kind == TargetKind::rows     ? 1
                                 : view_.kind == TargetKind::bounds ? bounds_places
                                                                    : view_.slots + 1;
    counts_ = call_.buffer<std::uint64_t>(places);
    call_.fill(counts_.data(), 0, places * sizeof(std::uint64_t));
    if (view_.kind == TargetKind::rows) {
        count_selected(call_, selection, counts_.data());
    } else if (view_.kind == TargetKind::bounds) {
        count_bounds(selection);
    } else if (selection.count > 0) {
        count_slots(selection);
    }
    call_.copy(counts, static_cast<const std::uint64_t *>(counts_.data()), places);
}

void Target::count_slots(const Selection &selection) {
    const std::uint64_t places = view_.slots + 1;
    const std::size_t bytes = places * sizeof(std::uint32_t);
    auto *counts = reinterpret_cast<Count *>(counts_.data());
    if (bytes > call_.engine().shared_bytes()) {
        count_slots_kernel<false><<<row_blocks(call_), count_threads, 0, call_.stream()>>>(
            view_, halves_of(selection.words), selection.count * 2, 1, counts);
        check_launch("count_slots_kernel");
        return;
    }
    std::uint32_t copies = 1;
    while (copies < most_copies && 2 * copies * bytes <= shared_for_copies) {
        copies *= 2;
    }
    const std::size_t shared = copies * bytes;
    check(cudaFuncSetAttribute(count_slots_kernel<true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(call_.engine().shared_bytes())),
          "cudaFuncSetAttribute");
    const std::size_t blocks =
        std::max<std::size_t>(1, std::min<std::size_t>(4, call_.engine().shared_bytes() / shared));
    count_slots_kernel<true>
        <<<static_cast<unsigned>(call_.engine().multiprocessors() * blocks), count_threads, shared,
           call_.stream()>>>(view_, halves_of(selection.words), selection.count * 2, copies, counts);
    check_launch("count_slots_kernel");
}

void Target::count_bounds(const Selection &selection) {
    auto *counts = reinterpret_cast<Count *>(counts_.data());
    call_.fill(counts_.data() + 1, 0xff, sizeof(std::uint64_t));
    if (selection.count > 0) {
        count_bounds_kernel<<<row_blocks(call_), row_threads, 0, call_.stream()>>>(
            view_, halves_of(selection.words), selection.count * 2, counts);
        check_launch("count_bounds_kernel");
    }
    find_bounds_kernel<<<1, 1, 0, call_.stream()>>>(view_, counts);
    check_launch("find_bounds_kernel");
}

void list_doubtful(const Call &call, const StoreParts &parts, const TargetView &target,
                   const Buffer<std::uint64_t> &selected, std::uint64_t count, DoubtfulRow *rows) {
    const Buffer<std::uint64_t> listed = call.buffer<std::uint64_t>(1);
    const Buffer<DoubtfulRow> device_rows = call.buffer<DoubtfulRow>(count);
    call.fill(listed.data(), 0, sizeof(std::uint64_t));
    list_doubtful_kernel<<<row_blocks(call), row_threads, 0, call.stream()>>>(
        target, tids_of(parts), halves_of(selected), selected.size() * 2,
        reinterpret_cast<Count *>(listed.data()), device_rows.data());
    check_launch("list_doubtful_kernel");
    call.copy(rows, static_cast<const DoubtfulRow *>(device_rows.data()), count);
    call.wait();
}

void list_tids(const Call &call, const StoreParts &parts, const Buffer<std::uint64_t> &selected,
               std::uint64_t count, Tid *tids) {
    const Buffer<std::uint64_t> listed = call.buffer<std::uint64_t>(1);
    const Buffer<Tid> device_tids = call.buffer<Tid>(count);
    call.fill(listed.data(), 0, sizeof(std::uint64_t));
    list_tids_kernel<<<row_blocks(call), row_threads, 0, call.stream()>>>(
        tids_of(parts), halves_of(selected), selected.size() * 2, reinterpret_cast<Count *>(listed.data()),
        device_tids.data());
    check_launch("list_tids_kernel");
    call.copy(tids, static_cast<const Tid *>(device_tids.data()), count);
    call.wait();
}

}  // namespace gpu_engine::device
