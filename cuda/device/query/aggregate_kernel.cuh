// The kernel that adds rows to groups.
#pragma once

#include "device/query/aggregate_launch.cuh"
#include "device/query/launch.cuh"
#include "device/warp.cuh"

namespace gpu_engine::query::on_device {

namespace groups = cooperative_groups;
template <typename Value, typename Join>
__device__ Value join_of_warp(Value value, Join join) {
    return groups::reduce(groups::tiled_partition<32>(groups::this_thread_block()), value, join);
}

// ---- arguments --------------------------------------------------------------------------------------------

// The rows that count for an accumulator, and their values.
__device__ inline std::uint32_t load_argument(const Rows &rows, const AccumulatorView &accumulator,
                                              Values *values) {
    std::uint32_t counted = rows.active();
    if (accumulator.filter.source != Source::none) {
        counted &= rows.trues(accumulator.filter);
    }
    if (accumulator.argument.source != Source::none) {
        rows.load(accumulator.argument, values);
        counted &= ~values->nulls;
    }
    return counted;
}

__device__ inline void count_ordered(const AggregateView &view, std::uint32_t accumulator,
                                     std::uint32_t counted) {
    const std::uint32_t count = device::sum_of_warp(static_cast<std::uint32_t>(__popc(counted)));
    if (threadIdx.x % 32 == 0 && count > 0) {
        atomicAdd(view.counts + accumulator, Word(count));
    }
}

// ---- one group --------------------------------------------------------------------------------------------

__device__ inline Part add_parts(const Part &one, const Part &other) {
    const Word low = one.low + other.low;
    const Word carry = low < one.low ? 1 : 0;
    const UInt128 high = static_cast<UInt128>(one.high) + other.high + carry;
    return {low, static_cast<Word>(high), one.top + other.top + static_cast<Word>(high >> 64)};
}

// Adds a thread's rows to `state`, its copy of the group's.
template <Room room>
__device__ void add_to_one(const AggregateView &view, const Rows &rows, Word *state) {
    const std::uint32_t stride = view.front.copies;
    for (std::uint32_t a = 0; a < view.accumulator_count; ++a) {
        const AccumulatorView &accumulator = view.accumulators[a];
        if (accumulator.is_shared) {
            continue;
        }
        Values values = {};
        const std::uint32_t counted = load_argument(rows, accumulator, &values);
        if (accumulator.is_ordered) {
            count_ordered(view, a, counted);
            continue;
        }
        if (counted == 0) {
            continue;
        }
        Part part = {static_cast<Word>(__popc(counted)), 0, 0};
        switch (accumulator.kind) {
            case AccumulatorKind::sum:
                part = {};
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    if ((counted >> i & 1) != 0) {
                        part = add_parts(part, part_of(accumulator, values.low[i], values.high[i]));
                    }
                }
                [[fallthrough]];
            case AccumulatorKind::count_rows:
            case AccumulatorKind::count:
                add_part<room>(accumulator, state + accumulator.word * stride, stride, part);
                if (!accumulator.is_seen) {
                    mark_seen(state, stride, accumulator.bit);
                }
                break;
            default:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    if ((counted >> i & 1) != 0) {
                        add_row<room>(accumulator, state, stride, values.low[i], values.high[i],
                                      view.groups.flags);
                    }
                }
        }
    }
}

// ---- groups by key ----------------------------------------------------------------------------------------

// What is done row by row here and below isn't unrolled, and reads slots instead of registers: an
// interpreter's warps wait for instructions more than for anything else, so the code between two steps has to
// be short.

// Puts the words of the rows' keys into their slots.
__device__ inline void read_keys(const AggregateView &view, Rows &rows) {
    if (view.has_null_word) {
#pragma unroll 1
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            rows.put(view.key_slot, i, 0);
        }
    }
    for (std::uint32_t k = 0; k < view.key_count; ++k) {
        const KeyView key = view.keys[k];
        const Access from = rows.access(key.operand);
        const bool is_wide = key.operand.type == ValueType::int128;
#pragma unroll 1
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const std::uint64_t *at = from.at + i * from.step;
            const bool is_null = from.is_null(i);
            rows.put(view.key_slot + key.word, i, is_null ? 0 : key_word(key.operand.type, *at));
            if (is_wide) {
                rows.put(view.key_slot + key.word + 1, i, is_null ? 0 : at[from.second]);
            }
            if (is_null) {
                rows.put(view.key_slot, i, rows.get(view.key_slot, i) | std::uint64_t(1) << k);
            }
        }
    }
}

// Does a warp still look in front? Not when most rows found no place there.
struct FrontUse {
    std::uint32_t looked = 0;
    std::uint32_t missed = 0;

    __device__ bool is_of_use() const { return looked < 16 * device::rows_a_warp || 2 * missed < looked; }
};

// Finds the states of the rows' groups, and puts them into the key's first slot: of the rows that it returns
// the number of the state's first word among those in front, and of others its address, or null where the
// table is full.
__device__ inline std::uint32_t find_groups(const AggregateView &view, const Front &front, FrontUse *use,
                                            Rows &rows) {
    read_keys(view, rows);
    const bool looks_in_front = view.front.slots > 0 && use->is_of_use();
    std::uint32_t in_front = 0;
    std::uint32_t missed = 0;
#pragma unroll 1
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        if ((rows.active() >> i & 1) == 0) {
            continue;
        }
        const auto key_at = [&](std::uint32_t word) { return Word(rows.get(view.key_slot + word, i)); };
        std::uint64_t hash = 0;
        for (std::uint32_t word = 0; word < view.groups.key_words; ++word) {
            hash = mix_key(hash, key_at(word));
        }
        if (looks_in_front) {
            const std::uint32_t slot = find_in_front(view, front, hash, key_at);
            if (slot != no_slot) {
                rows.put(view.key_slot, i,
                         front.state(view, slot, threadIdx.x % view.front.copies) - front.words);
                in_front |= 1U << i;
                continue;
            }
            ++missed;
        }
        Word *record = find_record(view.groups, hash, key_at);
        rows.put(view.key_slot, i,
                 reinterpret_cast<Word>(record == nullptr ? nullptr : record + view.groups.key_words));
    }
    if (looks_in_front) {
        use->looked += device::sum_of_warp(static_cast<std::uint32_t>(__popc(rows.active())));
        use->missed += device::sum_of_warp(missed);
    }
    return in_front;
}

// What most accumulators are: those need no more than this of their views, which stays in registers.
enum class Frequent : std::uint8_t { no, count, sum };

__device__ inline Frequent frequent_of(const AccumulatorView &accumulator) {
    switch (accumulator.kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
            return Frequent::count;
        case AccumulatorKind::sum:
            return accumulator.type == ValueType::int64 && accumulator.is_seen ? Frequent::sum : Frequent::no;
        default:
            return Frequent::no;
    }
}

// Adds a row's number to the words of a count or a sum, which lie `stride` apart.
template <Room room>
__device__ void add_frequent(Frequent frequent, Word *words, std::uint32_t stride, Word low) {
    if (frequent == Frequent::sum) {
        const auto upper = static_cast<Word>(static_cast<long long>(low) >> 63);
        add_number<room>(words, stride, {low, upper, 0}, false);
    } else if constexpr (room == Room::block) {
        atomicAdd(reinterpret_cast<std::uint32_t *>(words), 1U);
    } else {
        atomicAdd(words, Word(1));
    }
}

__device__ inline void add_to_groups(const AggregateView &view, const Front &front, const Rows &rows,
                                     std::uint32_t in_front) {
    for (std::uint32_t a = 0; a < view.accumulator_count; ++a) {
        const AccumulatorView &accumulator = view.accumulators[a];
        if (accumulator.is_shared) {
            continue;
        }
        std::uint32_t counted = rows.active();
        if (accumulator.filter.source != Source::none) {
            counted &= true_rows(rows.access(accumulator.filter));
        }
        const Access from = rows.access(accumulator.argument);
        if (accumulator.argument.source != Source::none) {
            counted &= ~from.nulls;
        }
        if (accumulator.is_ordered) {
            count_ordered(view, a, counted);
            continue;
        }
        const bool is_wide = accumulator.type == ValueType::int128;
        const Frequent frequent = frequent_of(accumulator);
        const std::uint32_t word = accumulator.word;
        const std::uint32_t copies = view.front.copies;
#pragma unroll 1
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((counted >> i & 1) == 0) {
                continue;
            }
            const std::uint64_t *at = from.at + i * from.step;
            const Word low = *at;
            const Word found = rows.get(view.key_slot, i);
            const bool is_in_front = (in_front >> i & 1) != 0;
            if (!is_in_front && found == 0) {
                continue;
            }
            if (frequent != Frequent::no && is_in_front) {
                add_frequent<Room::block>(frequent, front.words + found + word * copies, copies, low);
            } else if (frequent != Frequent::no) {
                add_frequent<Room::device>(frequent, reinterpret_cast<Word *>(found) + word, 1, low);
            } else if (is_in_front) {
                add_row<Room::block>(accumulator, front.words + found, copies, low,
                                     is_wide ? at[from.second] : 0, view.groups.flags);
            } else {
                add_row<Room::device>(accumulator, reinterpret_cast<Word *>(found), 1, low,
                                      is_wide ? at[from.second] : 0, view.groups.flags);
            }
        }
    }
}

// ---- other passes -----------------------------------------------------------------------------------------

__device__ inline void find_spans(const AggregateView &view, const Rows &rows) {
    for (std::uint32_t a = 0; a < view.accumulator_count; ++a) {
        const AccumulatorView &accumulator = view.accumulators[a];
        if (accumulator.kind != AccumulatorKind::sum_float || accumulator.is_shared) {
            continue;
        }
        Values values = {};
        const std::uint32_t counted = load_argument(rows, accumulator, &values);
        int low = INT32_MAX;
        int high = INT32_MIN;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const double value = float_of_bits(values.low[i]);
            const FloatParts parts = split_float(value);
            if ((counted >> i & 1) != 0 && sum_flags(value) == 0 && parts.mantissa != 0) {
                const int digit =
                    (parts.exponent - least_digit_exponent) / static_cast<std::int32_t>(digit_bits);
                low = min(low, digit);
                high = max(high, digit + 2);
            }
        }
        low = join_of_warp(low, groups::less<int>());
        high = join_of_warp(high, groups::greater<int>());
        if (threadIdx.x % 32 == 0 && low <= high) {
            atomicMin(&view.spans[a].low, low);
            atomicMax(&view.spans[a].high, high);
        }
    }
}

// A word that compares as values of a type do; of int128 the lower word is left as it is.
__device__ inline Word order_word(ValueType type, Word low) {
    return type == ValueType::int128    ? low
           : type == ValueType::float64 ? order_of_float(float_of_bits(low))
                                        : order_of_integer(static_cast<std::int64_t>(low));
}

// `state_of(i)` is the state of row i's group, or null.
template <typename StateOf>
__device__ void list_values(const AggregateView &view, const Rows &rows, StateOf state_of) {
    const ListedValues &listed = view.listed;
    const AccumulatorView &accumulator = view.accumulators[listed.accumulator];
    Values values = {};
    const std::uint32_t counted = load_argument(rows, accumulator, &values);
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        const Word *state = (counted >> i & 1) != 0 ? state_of(i) : nullptr;
        const bool is_listed = state != nullptr;
        const std::uint32_t lanes = __ballot_sync(UINT32_MAX, is_listed);
        if (lanes == 0) {
            continue;
        }
        Word place = 0;
        if (lane == 0) {
            place = atomicAdd(listed.count, Word(__popc(lanes)));
        }
        place = __shfl_sync(UINT32_MAX, place, 0) + __popc(lanes & ((1U << lane) - 1));
        if (is_listed) {
            const auto record = static_cast<std::uint64_t>(state - view.groups.records);
            listed.slots[place] = record / view.groups.stride;
            listed.low[place] = order_word(accumulator.type, values.low[i]);
            if (accumulator.type == ValueType::int128) {
                listed.high[place] = order_of_integer(static_cast<std::int64_t>(values.high[i]));
            }
        }
    }
}

// ---- the kernel -------------------------------------------------------------------------------------------

template <bool is_one>
__global__ void __launch_bounds__(max_threads, 4)
    aggregate_kernel(const __grid_constant__ AggregateView view) {
    extern __shared__ std::uint64_t shared[];
    Rows rows(view.program, view.source, make_slot_room(shared, view.scratch, view.program.slots));
    const Front front(view, shared);
    if (view.pass == Pass::add) {
        begin_front(view, front);
    }
    const std::uint32_t lane = threadIdx.x % 32;
    WarpRows lots(view.source);
    FrontUse use;
    for (;;) {
        // A table that is too small will be thrown away, so nothing is added to it any more.
        if (!is_one &&
            __any_sync(UINT32_MAX, *static_cast<volatile std::uint32_t *>(&view.groups.flags->full) != 0)) {
            break;
        }
        std::uint64_t first = 0;
        std::uint32_t bits[device::words_a_warp];
        if (!lots.next(&first, bits)) {
            break;
        }
        rows.take(first + lane, device::rows_of_lane(bits));
        rows.run_all();
        if (!__any_sync(UINT32_MAX, rows.active() != 0)) {
            continue;
        }
        if (view.pass == Pass::spans) {
            find_spans(view, rows);
            continue;
        }
        if constexpr (is_one) {
            Word *state = front.state(view, 0, threadIdx.x % view.front.copies);
            if (view.pass == Pass::add && view.front.copies >= blockDim.x) {
                add_to_one<Room::own>(view, rows, state);
            } else if (view.pass == Pass::add) {
                add_to_one<Room::block>(view, rows, state);
            } else {
                list_values(view, rows, [&](std::uint32_t) { return view.groups.records; });
            }
        } else {
            const std::uint32_t in_front = find_groups(view, front, &use, rows);
            if (view.pass == Pass::add) {
                add_to_groups(view, front, rows, in_front);
            } else {
                list_values(view, rows, [&](std::uint32_t i) {
                    return reinterpret_cast<const Word *>(rows.get(view.key_slot, i));
                });
            }
        }
    }
    if (rows.has_failed()) {
        view.groups.flags->failed = 1;
    }
    if (view.pass == Pass::add) {
        finish_front(view, front);
    }
}

template <bool is_one>
void launch_aggregate(const Call &call, AggregateView view, std::size_t front_bytes) {
    const Launch launch =
        plan_launch(call, aggregate_kernel<is_one>, view.program, view.source, max_threads, front_bytes);
    view.front.at = static_cast<std::uint32_t>(launch.slot_bytes);
    view.scratch = launch.scratch.data();
    aggregate_kernel<is_one><<<launch.blocks, launch.threads, launch.shared, call.stream()>>>(view);
    device::check_launch("aggregate_kernel");
}

}  // namespace gpu_engine::query::on_device
