#include "device/column/select/target.h"

#include <algorithm>

#include "device/column/select/codes.cuh"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

constexpr int count_threads = 512;
// A block may have so many copies of a histogram in shared memory. Lanes that add to the same place wait for
// each other, but the more a block takes, the fewer blocks find room.
constexpr std::uint32_t max_copies = 32;
constexpr std::size_t shared_for_copies = 48 << 10;
constexpr std::uint64_t max_copied_codes = 4096;

using Count = unsigned long long;

__device__ std::uint64_t value_of(const TargetView &target, std::uint64_t code) {
    if (target.column.encoding != ColumnEncoding::dictionary) {
        return target.column.base + code;
    }
    // On damaged pages a code may lie beyond its dictionary.
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
    if (target.counts_codes) {
        return code;
    }
    return target.slot_of_code != nullptr ? target.slot_of_code[code]
                                          : target.finder.slot(target.column.base + code);
}

__device__ bool is_null(const TargetView &target, std::uint64_t row) {
    return target.nulls != nullptr && (target.nulls[row / 64] >> (row % 64) & 1) != 0;
}

// Counts are kept in shared memory first where there are `copies`: copy c of place p is at p * copies + c.
// Otherwise they are added in device memory at once. The last place is that of NULL.
template <bool in_shared_memory>
__global__ void __launch_bounds__(count_threads)
    count_places_kernel(TargetView target, const std::uint64_t *selected, std::uint64_t words,
                        std::uint64_t places, std::uint32_t copies, Count *counts) {
    extern __shared__ std::uint32_t copied[];
    if constexpr (in_shared_memory) {
        for (std::uint64_t i = threadIdx.x; i < places * copies; i += blockDim.x) {
            copied[i] = 0;
        }
        __syncthreads();
    }
    const std::uint32_t lane = threadIdx.x % 32;
    const CodesView view{target.codes, target.column.bits};
    for_words(selected, words, [&](std::uint64_t first, const std::uint32_t *bits) {
        std::uint64_t codes[words_a_warp];
        view.read(first + lane, rows_of_lane(bits), codes);
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            if ((bits[i] >> lane & 1) == 0) {
                continue;
            }
            const std::uint64_t place =
                is_null(target, first + i * 32 + lane) ? places - 1 : slot_of(target, codes[i]);
            // A code that the dictionary hasn't got has no place, so it isn't counted.
            if (place >= places) {
                continue;
            }
            if constexpr (in_shared_memory) {
                atomicAdd(&copied[place * copies + lane % copies], 1U);
            } else {
                atomicAdd(&counts[place], Count(1));
            }
        }
    });
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

// Makes counts by slot of counts by code. There are `codes` codes, and behind them a place for NULL.
__global__ void fold_codes_kernel(const Count *by_code, const std::uint32_t *slot_of_code,
                                  std::uint64_t codes, std::uint64_t slots, Count *counts) {
    const std::uint64_t code = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (code <= codes && by_code[code] != 0) {
        atomicAdd(&counts[code == codes ? slots : slot_of_code[code]], by_code[code]);
    }
}

// `counts` are the number of rows, the least code and the greatest code.
__global__ void count_bounds_kernel(TargetView target, const std::uint64_t *selected, std::uint64_t words,
                                    Count *counts) {
    const std::uint32_t lane = threadIdx.x % 32;
    const CodesView view{target.codes, target.column.bits};
    Count rows = 0;
    Count least = UINT64_MAX;
    Count greatest = 0;
    for_words(selected, words, [&](std::uint64_t first, const std::uint32_t *bits) {
        std::uint64_t codes[words_a_warp];
        view.read(first + lane, rows_of_lane(bits), codes);
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            if ((bits[i] >> lane & 1) == 0 || is_null(target, first + i * 32 + lane)) {
                continue;
            }
            const Count code = codes[i];
            ++rows;
            least = code < least ? code : least;
            greatest = code > greatest ? code : greatest;
        }
    });
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

// Replaces the codes by their values, once all is counted.
__global__ void find_bounds_kernel(TargetView target, Count *counts) {
    if (counts[0] == 0) {
        counts[1] = counts[2] = 0;
        return;
    }
    counts[1] = value_of(target, counts[1]);
    counts[2] = value_of(target, counts[2]);
}

// Reserves places in the list for `count` rows of a warp, and returns the first. All lanes call it.
__device__ std::uint64_t reserve_rows(std::uint32_t count, Count *listed) {
    Count first = 0;
    if (threadIdx.x % 32 == 0) {
        first = atomicAdd(listed, Count(count));
    }
    return __shfl_sync(UINT32_MAX, first, 0);
}

// Calls list(row, place) for each selected row.
template <typename List>
__device__ void for_selected(const std::uint64_t *selected, std::uint64_t words, Count *listed, List list) {
    const std::uint32_t lane = threadIdx.x % 32;
    for_words(selected, words, [&](std::uint64_t first, const std::uint32_t *bits) {
        std::uint32_t count = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            count += __popc(bits[i]);
        }
        std::uint64_t place = reserve_rows(count, listed);
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            if ((bits[i] >> lane & 1) != 0) {
                list(first + i * 32 + lane, place + __popc(bits[i] & ((1U << lane) - 1)));
            }
            place += __popc(bits[i]);
        }
    });
}

struct TidsView {
    const Span *spans;
    std::uint64_t count;
    const std::uint64_t *bitmaps;

    __device__ Tid operator[](std::uint64_t row) const {
        return tid_in_span(spans[find_span(spans, count, row)], bitmaps, row);
    }
};

__global__ void __launch_bounds__(row_threads)
    list_unresolved_kernel(TargetView target, TidsView tids, const std::uint64_t *selected,
                           std::uint64_t words, Count *listed, UnresolvedRow *rows) {
    const CodesView codes{target.codes, target.column.bits};
    for_selected(selected, words, listed, [&](std::uint64_t row, std::uint64_t place) {
        std::uint64_t number = 0;
        if (target.kind != TargetKind::rows) {
            number = is_null(target, row)                ? target.slots
                     : target.kind == TargetKind::bounds ? value_of(target, codes[row])
                                                         : slot_of(target, codes[row]);
        }
        rows[place] = UnresolvedRow{number, tids[row], 0};
    });
}

__global__ void __launch_bounds__(row_threads)
    list_tids_kernel(TidsView tids, const std::uint64_t *selected, std::uint64_t words, Count *listed,
                     Tid *listed_tids) {
    for_selected(selected, words, listed,
                 [&](std::uint64_t row, std::uint64_t place) { listed_tids[place] = tids[row]; });
}

TidsView tids_of(const StoreParts &parts) {
    return {parts.spans.data(), parts.count.spans, parts.bitmaps.data()};
}

}  // namespace

Target::Target(const Call &call, const StoreParts &parts, const ColumnTarget &target)
    : call_(call), parts_(parts) {
    require_ok(check_target(parts.layout, target));
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
        view_.counts_codes = true;
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
    if (is_dictionary || view_.column.bits <= max_counted_bits) {
        const std::uint64_t codes = std::uint64_t(1) << view_.column.bits;
        slot_of_code_ = call.buffer<std::uint32_t>(codes);
        find_slots_kernel<<<blocks_for(codes), threads_a_block, 0, call.stream()>>>(
            view_, slot_of_code_.data(), codes);
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
    const std::uint64_t codes = slot_of_code_.size();
    const std::uint64_t most = call_.engine().shared_bytes() / sizeof(std::uint32_t);
    // Few codes are counted one by one, and each one's slot is looked up once.
    if (codes == 0 || codes >= most || (codes > max_copied_codes && places <= most)) {
        count_places(view_, selection, places, counts_.data());
        return;
    }
    by_code_ = call_.buffer<std::uint64_t>(codes + 1);
    call_.fill(by_code_.data(), 0, by_code_.size() * sizeof(std::uint64_t));
    TargetView view = view_;
    view.counts_codes = true;
    count_places(view, selection, codes + 1, by_code_.data());
    fold_codes_kernel<<<blocks_for(codes + 1), threads_a_block, 0, call_.stream()>>>(
        reinterpret_cast<const Count *>(by_code_.data()), slot_of_code_.data(), codes, view_.slots,
        reinterpret_cast<Count *>(counts_.data()));
    check_launch("fold_codes_kernel");
}

void Target::count_places(const TargetView &view, const Selection &selection, std::uint64_t places,
                          std::uint64_t *counts) {
    const std::size_t bytes = places * sizeof(std::uint32_t);
    const std::size_t max_bytes = call_.engine().shared_bytes();
    if (bytes > max_bytes) {
        count_places_kernel<false><<<row_blocks(call_), count_threads, 0, call_.stream()>>>(
            view, selection.words.data(), selection.words.size(), places, 1,
            reinterpret_cast<Count *>(counts));
        check_launch("count_places_kernel");
        return;
    }
    std::uint32_t copies = 1;
    while (copies < max_copies && 2 * copies * bytes <= shared_for_copies) {
        copies *= 2;
    }
    const std::size_t shared = copies * bytes;
    check(cudaFuncSetAttribute(count_places_kernel<true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(max_bytes)),
          "cudaFuncSetAttribute");
    const std::size_t blocks = std::max<std::size_t>(1, std::min<std::size_t>(4, max_bytes / shared));
    count_places_kernel<true>
        <<<static_cast<unsigned>(call_.engine().multiprocessors() * blocks), count_threads, shared,
           call_.stream()>>>(view, selection.words.data(), selection.words.size(), places, copies,
                             reinterpret_cast<Count *>(counts));
    check_launch("count_places_kernel");
}

void Target::count_bounds(const Selection &selection) {
    auto *counts = reinterpret_cast<Count *>(counts_.data());
    call_.fill(counts_.data() + 1, 0xff, sizeof(std::uint64_t));
    if (selection.count > 0) {
        count_bounds_kernel<<<row_blocks(call_), row_threads, 0, call_.stream()>>>(
            view_, selection.words.data(), selection.words.size(), counts);
        check_launch("count_bounds_kernel");
    }
    find_bounds_kernel<<<1, 1, 0, call_.stream()>>>(view_, counts);
    check_launch("find_bounds_kernel");
}

void list_unresolved(const Call &call, const StoreParts &parts, const TargetView &target,
                     const Buffer<std::uint64_t> &selected, std::uint64_t count, UnresolvedRow *rows) {
    const Buffer<std::uint64_t> listed = call.buffer<std::uint64_t>(1);
    const Buffer<UnresolvedRow> device_rows = call.buffer<UnresolvedRow>(count);
    call.fill(listed.data(), 0, sizeof(std::uint64_t));
    list_unresolved_kernel<<<row_blocks(call), row_threads, 0, call.stream()>>>(
        target, tids_of(parts), selected.data(), selected.size(), reinterpret_cast<Count *>(listed.data()),
        device_rows.data());
    check_launch("list_doubtful_kernel");
    call.copy(rows, static_cast<const UnresolvedRow *>(device_rows.data()), count);
    call.wait();
}

void list_tids(const Call &call, const StoreParts &parts, const Buffer<std::uint64_t> &selected,
               std::uint64_t count, Tid *tids) {
    const Buffer<std::uint64_t> listed = call.buffer<std::uint64_t>(1);
    const Buffer<Tid> device_tids = call.buffer<Tid>(count);
    call.fill(listed.data(), 0, sizeof(std::uint64_t));
    list_tids_kernel<<<row_blocks(call), row_threads, 0, call.stream()>>>(
        tids_of(parts), selected.data(), selected.size(), reinterpret_cast<Count *>(listed.data()),
        device_tids.data());
    check_launch("list_tids_kernel");
    call.copy(tids, static_cast<const Tid *>(device_tids.data()), count);
    call.wait();
}

}  // namespace gpu_engine::device
