// A program's steps for the rows of a warp: each thread computes those of its own rows, a few at a time, so
// that an instruction is decoded once for all of them.
#pragma once

#include "device/column/aggregate/program.h"
#include "device/column/select/codes.cuh"
#include "gpu_engine/top_rows.h"

namespace gpu_engine::device {

// The places of rows in the heap.
struct SpansView {
    const Span *spans;
    std::uint64_t count;
    const std::uint64_t *bitmaps;

    __device__ std::uint64_t operator[](std::uint64_t row) const {
        return encode_tid(tid_in_span(spans[find_span(spans, count, row)], bitmaps, row));
    }
};

// A thread has so many rows at a time. Number i counts if bit i of `active` is set.
inline constexpr std::uint32_t rows_a_thread = words_a_warp;

// Numbers of a thread's rows; `nulls` has a bit a row.
struct RowValues {
    long long number[rows_a_thread];
    std::uint32_t nulls;
};

// Computes a thread's rows. Other threads don't look at its slots.
class RowComputer {
  public:
    // `slots` lies in the block's shared memory, with slot_bytes for each slot and thread.
    __device__ RowComputer(const ProgramView &program, const SpansView &places, long long *slots)
        : program_(program),
          places_(places),
          slots_(slots),
          slot_nulls_(reinterpret_cast<std::uint8_t *>(slots + static_cast<std::size_t>(program.slots) *
                                                                   rows_a_thread * blockDim.x)) {}

    static constexpr std::size_t slot_bytes = rows_a_thread * sizeof(long long) + 1;

    // Goes on to rows that lie 32 apart: number i is `first + i * 32`.
    __device__ void take(std::uint64_t first, std::uint32_t active) {
        first_ = first;
        active_ = active;
        are_apart_ = true;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            behind_[i] = i * 32;
        }
    }
    // Goes on to rows of a list, of which each thread of a warp has every 32nd.
    __device__ void take_listed(const std::uint32_t *rows, std::uint32_t count) {
        first_ = 0;
        active_ = 0;
        are_apart_ = false;
        const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const std::uint32_t place = i * 32 + lane;
            behind_[i] = place < count ? rows[place] : 0;
            active_ |= (place < count ? 1U : 0U) << i;
        }
    }
    __device__ std::uint64_t row(std::uint32_t i) const {
        return first_ + behind_[i];
    }

    // Computes the steps of a stage. Rows that pass its condition stay active.
    __device__ void run(const StageView &stage) {
        for (std::uint32_t i = 0; i < stage.count; ++i) {
            run(stage.steps[i]);
        }
        if (stage.has_condition) {
            active_ &= trues(stage.condition);
        }
    }
    // Computes the filter, and of rows that pass everything else.
    __device__ void compute() {
#pragma unroll 1
        for (std::uint32_t stage = filter_stage; stage < stages; ++stage) {
            run(program_.stage[stage]);
        }
    }

    __device__ std::uint32_t active() const {
        return active_;
    }
    __device__ bool has_failed() const {
        return has_failed_;
    }
    __device__ std::uint64_t place(std::uint32_t i) const {
        return places_[row(i)];
    }

    __device__ RowValues load(Operand operand) const {
        RowValues values;
        values.nulls = 0;
        switch (operand.source) {
            case Source::slot: {
                const long long *slot = slots_ + slot_at(operand.number);
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    values.number[i] = slot[i * blockDim.x];
                }
                values.nulls = slot_nulls_[operand.number * blockDim.x + threadIdx.x];
                return values;
            }
            case Source::input:
                return load_input(program_.inputs[operand.number]);
            case Source::constant:
                fill(program_.constants[operand.number], &values);
                return values;
            case Source::place:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    values.number[i] = is_active(i) ? static_cast<long long>(place(i)) : 0;
                }
                return values;
            default:
                fill(0, &values);
                values.nulls = all_rows;
                return values;
        }
    }
    // The rows for which a truth value is true.
    __device__ std::uint32_t trues(Operand operand) const {
        const RowValues truth = load(operand);
        std::uint32_t rows = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            rows |= (truth.number[i] != 0 ? 1U : 0U) << i;
        }
        return rows & ~truth.nulls;
    }

    // Computes a word of the rows' keys: of groups, and of rows in an order.
    __device__ void key_word(std::uint32_t word, std::uint64_t *keys) const {
        key_word(word, 0, keys, [](const auto &...arguments) { return key_part(arguments...); });
    }
    // Computes a word of the keys, of which only bits from `lowest` on are wanted: keys that have none of
    // them aren't computed.
    __device__ void order_word(std::uint32_t word, std::uint32_t lowest, std::uint64_t *keys) const {
        key_word(word, lowest, keys, [](const auto &...arguments) { return order_part(arguments...); });
    }

    // The numbers of the rows' groups where groups are dense; they and all factors have 32 bits then.
    __device__ void group_number(std::uint32_t *groups) const {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            groups[i] = 0;
        }
        for (std::uint32_t k = 0; k < program_.key_count; ++k) {
            const KeyView &view = program_.keys[k];
            const AggregateKey key = view.key;
            const RowValues values = load(view.operand);
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                const std::uint64_t code = key_code(key, values.number[i], (values.nulls >> i & 1) != 0);
                // A code that is none is damage, which must not lead beyond the table.
                groups[i] += static_cast<std::uint32_t>(code < view.codes ? code : view.codes - 1) *
                             static_cast<std::uint32_t>(view.factor);
            }
        }
    }

    // The values that the rows that count add to an accumulator.
    struct Argument {
        long long number[rows_a_thread];
        std::uint32_t counted;
    };
    __device__ Argument argument(const AccumulatorView &accumulator) const {
        Argument argument;
        argument.counted = active_;
        if (accumulator.has_filter) {
            argument.counted &= trues(accumulator.filter);
        }
        RowValues values = {};
        if (accumulator.has_argument) {
            values = load(accumulator.argument);
        }
        argument.counted &= ~values.nulls;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            argument.number[i] = values.number[i];
        }
        return argument;
    }
    // Returns the value that a row that counts adds to a narrow sum.
    __device__ static long long narrow_number(const AccumulatorView &accumulator, long long number) {
        return accumulator.kind == AccumulatorKind::sum_squares ? number * number : number;
    }
    // Returns the value that a row that counts adds to a sum.
    __device__ UInt128 wide_number(const AccumulatorView &accumulator, long long number) {
        if (is_sum_of_floats(accumulator.kind)) {
            UInt128 fixed = 0;
            has_failed_ |= !fix_float(accumulator.kind, number, accumulator.exponent, &fixed);
            return fixed;
        }
        if (accumulator.kind == AccumulatorKind::sum_squares) {
            return wide_square(number);
        }
        if (accumulator.wide == nullptr) {
            return wide_of_number(number);
        }
        const std::uint64_t *words = accumulator.wide + 2 * static_cast<std::uint64_t>(number);
        return wide_of_words(words[0], words[1]);
    }

  private:
    static constexpr std::uint32_t all_rows = (1U << rows_a_thread) - 1;

    template <typename PartOf>
    __device__ void key_word(std::uint32_t word, std::uint32_t lowest, std::uint64_t *keys,
                             PartOf part_of) const {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            keys[i] = 0;
        }
        for (std::uint32_t k = 0; k < program_.key_count; ++k) {
            const AggregateKey key = program_.keys[k].key;
            if (key.word != word || static_cast<std::uint32_t>(key.shift) + key.bits <= lowest) {
                continue;
            }
            const RowValues values = load(program_.keys[k].operand);
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                keys[i] |= part_of(key, values.number[i], (values.nulls >> i & 1) != 0);
            }
        }
    }
    __device__ bool is_active(std::uint32_t i) const {
        return (active_ >> i & 1) != 0;
    }
    __device__ std::size_t slot_at(std::uint32_t slot) const {
        return static_cast<std::size_t>(slot) * rows_a_thread * blockDim.x + threadIdx.x;
    }
    __device__ static void fill(long long number, RowValues *values) {
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            values->number[i] = number;
        }
    }
    __device__ void store(std::uint32_t to, const RowValues &values) {
        long long *slot = slots_ + slot_at(to);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            slot[i * blockDim.x] = values.number[i];
        }
        slot_nulls_[to * blockDim.x + threadIdx.x] = static_cast<std::uint8_t>(values.nulls);
    }

    // Looks up the numbers of active rows; nothing is read for others.
    template <typename Value>
    __device__ void look_up(const AggregateInput &input, RowValues *values) const {
        const auto *map = static_cast<const Value *>(input.values);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if (is_active(i)) {
                values->number[i] = static_cast<long long>(
                    map[place_in_map(input, static_cast<std::uint64_t>(values->number[i]))]);
            }
        }
    }
    __device__ RowValues load_input(const InputView &view) const {
        const AggregateInput &input = view.input;
        const CodesView codes{view.codes, view.bits};
        RowValues values;
        values.nulls = 0;
        if (are_apart_) {
            codes.read(first_, active_, values.number);
        } else {
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                values.number[i] = is_active(i) ? static_cast<long long>(codes[row(i)]) : 0;
            }
        }
        if (input.nulls != nullptr) {
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                if (is_active(i)) {
                    const std::uint64_t place =
                        place_of_null(input, static_cast<std::uint64_t>(values.number[i]));
                    values.nulls |= static_cast<std::uint32_t>(input.nulls[place / 64] >> (place % 64) & 1)
                                    << i;
                }
            }
        }
        switch (input.kind) {
            case AggregateInputKind::code:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    values.number[i] =
                        static_cast<long long>(static_cast<std::uint64_t>(values.number[i]) + input.offset);
                }
                break;
            case AggregateInputKind::map8:
                look_up<std::uint8_t>(input, &values);
                break;
            case AggregateInputKind::map32:
                look_up<std::uint32_t>(input, &values);
                break;
            case AggregateInputKind::map64:
                look_up<long long>(input, &values);
                break;
            case AggregateInputKind::bits:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    if (is_active(i)) {
                        values.number[i] =
                            bit_at(static_cast<const std::uint64_t *>(input.values),
                                   place_in_map(input, static_cast<std::uint64_t>(values.number[i])));
                    }
                }
                break;
            case AggregateInputKind::ranges:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    if (is_active(i)) {
                        values.number[i] = number_of_range(
                            input, place_in_ranges(input, static_cast<std::uint64_t>(values.number[i])));
                    }
                }
                break;
            default:
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    values.number[i] = static_cast<long long>(
                        place_in_map(input, static_cast<std::uint64_t>(values.number[i])));
                }
        }
        if (view.column_nulls != nullptr) {
            replace_column_nulls(view, &values);
        }
        return values;
    }
    __device__ void replace_column_nulls(const InputView &view, RowValues *values) const {
        const AggregateInput &input = view.input;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if (!is_active(i) || (view.column_nulls[row(i) / 64] >> (row(i) % 64) & 1) == 0) {
                continue;
            }
            values->number[i] = input.kind == AggregateInputKind::map128 ? 0 : input.of_column_null;
            values->nulls = (values->nulls & ~(1U << i)) | (input.column_null_is_null ? 1U : 0U) << i;
        }
    }

    template <AggregateOperation operation>
    __device__ void compute_integers(std::uint8_t width, const RowValues &left, const RowValues &right,
                                     RowValues *result) {
        result->nulls = left.nulls | right.nulls;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            std::int64_t value;
            const bool is_fine = compute_integer<operation>(left.number[i], right.number[i], &value) &&
                                 fits_width(value, width);
            has_failed_ |= !is_fine && is_active(i) && (result->nulls >> i & 1) == 0;
            result->number[i] = value;
        }
    }
    template <AggregateOperation operation>
    __device__ static void compare(const RowValues &left, const RowValues &right, RowValues *result) {
        result->nulls = left.nulls | right.nulls;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            result->number[i] = compare_integers<operation>(left.number[i], right.number[i]) ? 1 : 0;
        }
    }
    // Joins truth values by three-valued logic: an operand that is `decisive` decides, whatever the other one
    // is.
    __device__ static void join_truth(long long decisive, const RowValues &left, const RowValues &right,
                                      RowValues *result) {
        std::uint32_t decided = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const bool by_left = left.number[i] == decisive && (left.nulls >> i & 1) == 0;
            const bool by_right = right.number[i] == decisive && (right.nulls >> i & 1) == 0;
            decided |= (by_left || by_right ? 1U : 0U) << i;
            result->number[i] = by_left || by_right ? decisive : 1 - decisive;
        }
        result->nulls = (left.nulls | right.nulls) & ~decided;
    }
    __device__ static void choose(AggregateOperation operation, const RowValues &left, const RowValues &right,
                                  RowValues *result) {
        const bool is_condition = operation == AggregateOperation::only_where;
        std::uint32_t by_left = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const bool is_null = (left.nulls >> i & 1) != 0;
            const bool takes_left = is_condition ? is_null || left.number[i] == 0 : !is_null;
            by_left |= (takes_left ? 1U : 0U) << i;
            result->number[i] = takes_left && !is_condition ? left.number[i] : right.number[i];
        }
        // A row that a condition keeps out gives NULL.
        result->nulls = (right.nulls & ~by_left) | (is_condition ? by_left : 0);
    }
    __device__ static void take_greater(const RowValues &left, const RowValues &right, RowValues *result) {
        result->nulls = left.nulls | right.nulls;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            result->number[i] = left.number[i] < right.number[i] ? right.number[i] : left.number[i];
        }
    }
    __device__ static void compute_of_one(AggregateOperation operation, const RowValues &left,
                                          RowValues *result) {
        const bool takes_nulls = operation == AggregateOperation::logical_not;
        result->nulls = takes_nulls ? left.nulls : 0;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const bool is_null = (left.nulls >> i & 1) != 0;
            const bool is_true = operation == AggregateOperation::is_null   ? is_null
                                 : operation == AggregateOperation::is_true ? !is_null && left.number[i] != 0
                                                                            : left.number[i] == 0;
            result->number[i] = is_true ? 1 : 0;
        }
    }

    __device__ void run(const Instruction &instruction) {
        using enum AggregateOperation;
        const RowValues left = load(instruction.left);
        if (!takes_two(instruction.operation)) {
            if (!takes_one(instruction.operation)) {
                store(instruction.to, left);
                return;
            }
            RowValues result;
            compute_of_one(instruction.operation, left, &result);
            store(instruction.to, result);
            return;
        }
        const RowValues right = load(instruction.right);
        RowValues result;
        switch (instruction.operation) {
            case add:
                compute_integers<add>(instruction.width, left, right, &result);
                break;
            case subtract:
                compute_integers<subtract>(instruction.width, left, right, &result);
                break;
            case multiply:
                compute_integers<multiply>(instruction.width, left, right, &result);
                break;
            case divide:
                compute_integers<divide>(instruction.width, left, right, &result);
                break;
            case modulo:
                compute_integers<modulo>(instruction.width, left, right, &result);
                break;
            case greater:
                take_greater(left, right, &result);
                break;
            case only_where:
            case or_else:
                choose(instruction.operation, left, right, &result);
                break;
            case equal:
                compare<equal>(left, right, &result);
                break;
            case not_equal:
                compare<not_equal>(left, right, &result);
                break;
            case less:
                compare<less>(left, right, &result);
                break;
            case less_or_equal:
                compare<less_or_equal>(left, right, &result);
                break;
            default:
                join_truth(instruction.operation == logical_or ? 1 : 0, left, right, &result);
        }
        store(instruction.to, result);
    }

    const ProgramView &program_;
    const SpansView &places_;
    long long *slots_;
    std::uint8_t *slot_nulls_;
    std::uint64_t first_ = 0;
    std::uint32_t behind_[rows_a_thread] = {};
    std::uint32_t active_ = 0;
    bool are_apart_ = true;  // rows lie 32 apart
    bool has_failed_ = false;
};

}  // namespace gpu_engine::device
