#include "device/query/finish.cuh"

#include "device/cub_calls.cuh"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

__device__ bool has_group(const GroupsView &groups, std::uint64_t record) {
    if (groups.slots == 0) {
        return true;
    }
    if (groups.key_words > 1) {
        return groups.states[record] != slot_is_free;
    }
    return record == groups.slots ? groups.flags->has_last != 0 : *groups.record(record) != free_key;
}

__global__ void count_groups_kernel(GroupsView groups, std::uint64_t records, Word *count) {
    std::uint32_t own = 0;
    for (std::uint64_t i = plain_index(); i < records;
         i += static_cast<std::uint64_t>(gridDim.x) * blockDim.x) {
        own += has_group(groups, i) ? 1 : 0;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        own += __shfl_down_sync(UINT32_MAX, own, distance);
    }
    if (threadIdx.x % 32 == 0 && own > 0) {
        atomicAdd(count, Word(own));
    }
}

// Rounds a part of a sum of digits once. Returns false where no float has that size.
__device__ __noinline__ bool round_digits(const AccumulatorView &accumulator, const Word *words,
                                          double *result) {
    std::uint64_t sum[(max_digits * digit_bits + 2 * 64 + 63) / 64] = {};
    const SumScale scale = {
        least_digit_exponent + accumulator.lowest_digit * static_cast<std::int32_t>(digit_bits),
        (accumulator.digits * digit_bits + 64 + 63) / 64};
    for (std::uint32_t digit = 0; digit < accumulator.digits; ++digit) {
        const auto value = static_cast<long long>(words[1 + digit]);
        if (value == 0) {
            continue;
        }
        const std::uint32_t place = digit * digit_bits;
        const auto shifted = static_cast<UInt128>(static_cast<Int128>(value)) << (place % 64);
        const std::uint64_t sign = value < 0 ? UINT64_MAX : 0;
        std::uint64_t carry = 0;
        for (std::uint32_t word = place / 64; word < scale.words; ++word) {
            const std::uint32_t at = word - place / 64;
            const std::uint64_t part = at == 0   ? static_cast<std::uint64_t>(shifted)
                                       : at == 1 ? static_cast<std::uint64_t>(shifted >> 64)
                                                 : sign;
            const UInt128 added = static_cast<UInt128>(sum[word]) + part + carry;
            sum[word] = static_cast<std::uint64_t>(added);
            carry = static_cast<std::uint64_t>(added >> 64);
        }
    }
    return round_sum_part(sum, scale, words[0], accumulator.part, result);
}

// A result's words in its column are as many as its type has, whether or not it is NULL: fewer would lie in
// the value of another row.
__device__ bool has_wide_result(const AccumulatorView &accumulator) {
    switch (accumulator.kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
            return false;
        case AccumulatorKind::sum:
            return true;
        default:
            return accumulator.type == ValueType::int128;
    }
}
__device__ void write_words(const AccumulatorView &accumulator, const OutputView &to, std::uint64_t row,
                            Word low, Word high) {
    if (has_wide_result(accumulator)) {
        to.values[2 * row] = low;
        to.values[2 * row + 1] = high;
    } else {
        to.values[row] = low;
    }
}

// Writes a group's result. Returns false where it fails.
__device__ bool write_result(const AccumulatorView &accumulator, const Word *state, const OutputView &to,
                             std::uint64_t row) {
    const Word *words = state + accumulator.word;
    const bool is_wide = accumulator.type == ValueType::int128;
    if (!accumulator.is_seen && (state[accumulator.bit / 64] >> (accumulator.bit % 64) & 1) == 0) {
        set_null(to.nulls, row);
        write_words(accumulator, to, row, 0, 0);
        return true;
    }
    switch (accumulator.kind) {
        case AccumulatorKind::sum:
            write_words(accumulator, to, row, words[0], words[1]);
            // The third word of a sum that has room in two is their sign.
            return !is_wide || words[2] == static_cast<Word>(static_cast<long long>(words[1]) >> 63);
        case AccumulatorKind::sum_float: {
            double result = 0;
            const bool is_fine = round_digits(accumulator, words, &result);
            write_words(accumulator, to, row, bits_of_float(result), 0);
            return is_fine;
        }
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
            write_words(accumulator, to, row,
                        is_wide ? words[0] : value_of_joined(accumulator.type, words[0]),
                        is_wide ? words[1] : 0);
            return true;
        default:
            write_words(accumulator, to, row, words[0], has_wide_result(accumulator) ? words[1] : 0);
            return true;
    }
}

__global__ void finish_kernel(const __grid_constant__ FinishView view) {
    const std::uint64_t slot = plain_index();
    const std::uint32_t lane = threadIdx.x % 32;
    const bool is_there = slot < view.records && has_group(view.groups, slot);
    const std::uint32_t lanes = __ballot_sync(UINT32_MAX, is_there);
    Word row = 0;
    if (lane == 0 && lanes != 0) {
        row = atomicAdd(&view.groups.flags->groups, Word(__popc(lanes)));
    }
    row = __shfl_sync(UINT32_MAX, row, 0) + __popc(lanes & ((1U << lane) - 1));
    if (!is_there) {
        return;
    }
    const Word *record = view.groups.record(slot);
    for (std::uint32_t k = 0; k < view.key_count; ++k) {
        const KeyView key = view.keys[k];
        const OutputView to = view.outputs[k];
        if (key.operand.type == ValueType::int128) {
            to.values[2 * row] = record[key.word];
            to.values[2 * row + 1] = record[key.word + 1];
        } else {
            to.values[row] = record[key.word];
        }
        if (to.nulls != nullptr && (record[0] >> k & 1) != 0) {
            set_null(to.nulls, row);
        }
    }
    for (std::uint32_t a = 0; a < view.accumulator_count; ++a) {
        if (!write_result(view.accumulators[a], record + view.groups.key_words,
                          view.outputs[view.key_count + a], row)) {
            view.groups.flags->failed = 1;
        }
    }
}

}  // namespace

std::uint64_t count_groups(const Call &call, const GroupsView &groups, std::uint64_t records) {
    const Buffer<Word> count = call.buffer<Word>(1);
    call.fill(count.data(), 0, sizeof(Word));
    const unsigned blocks =
        std::min(plain_blocks(records), static_cast<unsigned>(call.engine().multiprocessors()) * 8);
    count_groups_kernel<<<blocks, plain_threads, 0, call.stream()>>>(groups, records, count.data());
    device::check_launch("count_groups_kernel");
    return device::read_element(call, count.data());
}

void finish_groups(const Call &call, const FinishView &view) {
    finish_kernel<<<plain_blocks(view.records), plain_threads, 0, call.stream()>>>(view);
    device::check_launch("finish_kernel");
}

}  // namespace gpu_engine::query::on_device
