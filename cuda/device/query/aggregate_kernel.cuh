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

__device__ inline Part shuffle_down(const Part &part, int distance) {
    return {__shfl_down_sync(UINT32_MAX, part.low, distance),
            __shfl_down_sync(UINT32_MAX, part.high, distance),
            __shfl_down_sync(UINT32_MAX, part.top, distance)};
}
__device__ inline Part add_parts(const Part &one, const Part &other) {
    const Word low = one.low + other.low;
    const Word carry = low < one.low ? 1 : 0;
    const UInt128 high = static_cast<UInt128>(one.high) + other.high + carry;
    return {low, static_cast<Word>(high), one.top + other.top + static_cast<Word>(high >> 64)};
}
__device__ inline Part join_parts(const AccumulatorView &accumulator, const Part &one, const Part &other) {
    switch (accumulator.kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
        case AccumulatorKind::sum:
            return add_parts(one, other);
        case AccumulatorKind::least:
        case AccumulatorKind::greatest: {
            const bool is_wide = accumulator.type == ValueType::int128;
            const bool is_less = is_wide
                                     ? is_below(other, one)
                                     : static_cast<long long>(other.low) < static_cast<long long>(one.low);
            return is_less == (accumulator.kind == AccumulatorKind::least) ? other : one;
        }
        case AccumulatorKind::bit_and:
            return {one.low & other.low, 0, 0};
        case AccumulatorKind::bit_or:
            return {one.low | other.low, 0, 0};
        default:
            return {one.low ^ other.low, 0, 0};
    }
}

__device__ inline void add_floats_to_one(const AccumulatorView &accumulator, std::uint32_t counted,
                                         const Values &values, Word *words, std::uint32_t stride,
                                         GroupFlags *flags) {
    FloatDigits digits[rows_a_thread];
    int low = INT32_MAX;
    int high = INT32_MIN;
    std::uint32_t own_flags = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        digits[i] = {0, 0, {0, 0, 0}};
        if ((counted >> i & 1) == 0) {
            continue;
        }
        const double value = float_of_bits(values.low[i]);
        if (!find_digits(accumulator, value, &digits[i])) {
            flags->out_of_window = 1;
            digits[i] = {0, 0, {0, 0, 0}};
        } else if (digits[i].flags == 0 && value != 0) {
            low = min(low, digits[i].first);
            high = max(high, digits[i].first + 2);
        }
        own_flags |= static_cast<std::uint32_t>(digits[i].flags);
    }
    own_flags = join_of_warp(own_flags, groups::bit_or<std::uint32_t>());
    low = join_of_warp(low, groups::less<int>());
    high = join_of_warp(high, groups::greater<int>());
    const bool is_leader = threadIdx.x % 32 == 0;
    if (is_leader && own_flags != 0) {
        words[0] |= own_flags;
    }
    for (int digit = low; digit <= high; ++digit) {
        long long sum = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
#pragma unroll
            for (int piece = 0; piece < 3; ++piece) {
                sum += digits[i].first + piece == digit ? digits[i].piece[piece] : 0;
            }
        }
        for (int distance = 16; distance > 0; distance /= 2) {
            sum += __shfl_down_sync(UINT32_MAX, sum, distance);
        }
        if (is_leader) {
            words[(1 + digit) * stride] += static_cast<Word>(sum);
        }
    }
}

// A warp adds up its rows first, and then to words of its own. `state` has a copy a warp.
__device__ inline void add_to_one(const AggregateView &view, const Rows &rows, Word *state) {
    const std::uint32_t stride = view.front.copies;
    const std::uint32_t lane = threadIdx.x % 32;
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
        const std::uint32_t lanes = __ballot_sync(UINT32_MAX, counted != 0);
        if (lanes == 0) {
            continue;
        }
        Word *words = state + accumulator.word * stride;
        if (accumulator.kind == AccumulatorKind::any_value) {
            if (lane == __ffs(static_cast<int>(lanes)) - 1U) {
                const std::uint32_t i = __ffs(static_cast<int>(counted)) - 1U;
                Word low = 0;
                Word high = 0;
#pragma unroll
                for (std::uint32_t row = 0; row < rows_a_thread; ++row) {
                    low = row == i ? values.low[row] : low;
                    high = row == i ? values.high[row] : high;
                }
                add_row<true>(accumulator, state, stride, low, high, view.groups.flags);
            }
            __syncwarp();
            continue;
        }
        if (accumulator.kind == AccumulatorKind::sum_float) {
            add_floats_to_one(accumulator, counted, values, words, stride, view.groups.flags);
        } else if (accumulator.kind == AccumulatorKind::count_rows ||
                   accumulator.kind == AccumulatorKind::count) {
            const std::uint32_t count = device::sum_of_warp(static_cast<std::uint32_t>(__popc(counted)));
            if (lane == 0) {
                words[0] += count;
            }
        } else {
            Part joined = {view.initial[accumulator.word],
                           accumulator.type == ValueType::int128 ? view.initial[accumulator.word + 1] : 0, 0};
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                if ((counted >> i & 1) != 0) {
                    joined =
                        join_parts(accumulator, joined, part_of(accumulator, values.low[i], values.high[i]));
                }
            }
            for (int distance = 16; distance > 0; distance /= 2) {
                const Part other = shuffle_down(joined, distance);
                joined = join_parts(accumulator, joined, other);
            }
            if (lane == 0) {
                add_part<true>(accumulator, words, stride, joined);
            }
        }
        if (lane == 0 && !accumulator.is_seen) {
            mark_seen(state, stride, accumulator.bit);
        }
        __syncwarp();
    }
}

// ---- groups by key ----------------------------------------------------------------------------------------

// Puts the words of the rows' keys into their slots, and gives their hashes.
__device__ inline void read_keys(const AggregateView &view, Rows &rows, std::uint64_t *hashes) {
    std::uint64_t nulls[rows_a_thread] = {};
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        hashes[i] = 0;
    }
    for (std::uint32_t k = 0; k < view.key_count; ++k) {
        const KeyView key = view.keys[k];
        Values values;
        rows.load(key.operand, &values);
        const bool is_wide = key.operand.type == ValueType::int128;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const bool is_null = (values.nulls >> i & 1) != 0;
            const Word low = is_null ? 0 : key_word(key.operand.type, values.low[i]);
            nulls[i] |= static_cast<std::uint64_t>(is_null) << k;
            rows.put(view.key_slot + key.word, i, low);
            if (is_wide) {
                rows.put(view.key_slot + key.word + 1, i, is_null ? 0 : values.high[i]);
            }
        }
    }
    if (view.has_null_word) {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            rows.put(view.key_slot, i, nulls[i]);
        }
    }
    for (std::uint32_t word = 0; word < view.groups.key_words; ++word) {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            hashes[i] = mix_key(hashes[i], rows.get(view.key_slot + word, i));
        }
    }
}

// The states of the rows' groups: those with a bit in `in_block` are in front. Null: the table is full.
struct RowGroups {
    Word *state[rows_a_thread];
    std::uint32_t in_block;
};

// Does a warp still look in front? Not when most rows found no place there.
struct FrontUse {
    std::uint32_t looked = 0;
    std::uint32_t missed = 0;

    __device__ bool is_of_use() const { return looked < 16 * device::rows_a_warp || 2 * missed < looked; }
};

__device__ inline void find_groups(const AggregateView &view, const Front &front, FrontUse *use, Rows &rows,
                                   RowGroups *found) {
    std::uint64_t hashes[rows_a_thread];
    read_keys(view, rows, hashes);
    found->in_block = 0;
    const bool looks_in_front = view.front.slots > 0 && use->is_of_use();
    std::uint32_t looked = 0;
    std::uint32_t missed = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        found->state[i] = nullptr;
        if ((rows.active() >> i & 1) == 0) {
            continue;
        }
        const auto key_at = [&](std::uint32_t word) { return Word(rows.get(view.key_slot + word, i)); };
        if (looks_in_front) {
            const std::uint32_t slot = find_in_front(view, front, hashes[i], key_at);
            ++looked;
            if (slot != no_slot) {
                found->state[i] = front.state(view, slot, threadIdx.x % view.front.copies);
                found->in_block |= 1U << i;
                continue;
            }
            ++missed;
        }
        Word *record = find_record(view.groups, hashes[i], key_at);
        found->state[i] = record == nullptr ? nullptr : record + view.groups.key_words;
    }
    if (looks_in_front) {
        use->looked += device::sum_of_warp(looked);
        use->missed += device::sum_of_warp(missed);
    }
}

__device__ inline void add_to_groups(const AggregateView &view, const Rows &rows, const RowGroups &found) {
    const std::uint32_t copies = view.front.copies;
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
        const bool is_count =
            accumulator.kind == AccumulatorKind::count_rows || accumulator.kind == AccumulatorKind::count;
        const bool is_sum = accumulator.kind == AccumulatorKind::sum &&
                            accumulator.type == ValueType::int64 && accumulator.is_seen;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            Word *state = found.state[i];
            if ((counted >> i & 1) == 0 || state == nullptr) {
                continue;
            }
            const bool in_block = (found.in_block >> i & 1) != 0;
            Word *words = state + accumulator.word * (in_block ? copies : 1);
            if (is_count && in_block) {
                atomicAdd(reinterpret_cast<std::uint32_t *>(words), 1U);
            } else if (is_count) {
                atomicAdd(words, Word(1));
            } else if (is_sum && in_block) {
                add_number<true>(words, copies, part_of(accumulator, values.low[i], 0), false);
            } else if (is_sum) {
                add_number<false>(words, 1, part_of(accumulator, values.low[i], 0), false);
            } else if (in_block) {
                add_row<true>(accumulator, state, copies, values.low[i], values.high[i], view.groups.flags);
            } else {
                add_row<false>(accumulator, state, 1, values.low[i], values.high[i], view.groups.flags);
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

__device__ inline void list_values(const AggregateView &view, const Rows &rows, const RowGroups &found) {
    const ListedValues &listed = view.listed;
    const AccumulatorView &accumulator = view.accumulators[listed.accumulator];
    Values values = {};
    const std::uint32_t counted = load_argument(rows, accumulator, &values);
    const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        const bool is_listed = (counted >> i & 1) != 0 && found.state[i] != nullptr;
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
            const auto record = static_cast<std::uint64_t>(found.state[i] - view.groups.records);
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
__global__ void __launch_bounds__(max_threads, 2)
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
    for (std::uint32_t round = 0;; ++round) {
        // A table that is too small will be thrown away, so nothing is added to it any more.
        if (!is_one && round % 8 == 0 &&
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
            if (view.pass == Pass::add) {
                add_to_one(view, rows, front.state(view, 0, threadIdx.x / 32));
            } else {
                RowGroups found;
                found.in_block = 0;
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    found.state[i] = view.groups.records;
                }
                list_values(view, rows, found);
            }
        } else {
            RowGroups found;
            find_groups(view, front, &use, rows, &found);
            if (view.pass == Pass::add) {
                add_to_groups(view, rows, found);
            } else {
                list_values(view, rows, found);
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
void launch_aggregate(const Call &call, AggregateView view, unsigned threads, std::size_t front_bytes) {
    const Launch launch =
        plan_launch(call, aggregate_kernel<is_one>, view.program, view.source, threads, front_bytes);
    view.front.at = static_cast<std::uint32_t>(launch.slot_bytes);
    view.scratch = launch.scratch.data();
    aggregate_kernel<is_one><<<launch.blocks, launch.threads, launch.shared, call.stream()>>>(view);
    device::check_launch("aggregate_kernel");
}

}  // namespace gpu_engine::query::on_device
