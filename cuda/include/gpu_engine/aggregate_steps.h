// Computing the steps of a program (gpu_engine/aggregate.h): row by row, as a device does, and for the rows
// of a tile at a time, as processors do. All paths compute with these functions, so that they can't differ.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu_engine/aggregate.h"
#include "gpu_engine/both.h"

namespace gpu_engine {

// ---- a row ------------------------------------------------------------------------------------------------

GPU_ENGINE_BOTH bool is_arithmetic(AggregateOperation operation) {
    return operation >= AggregateOperation::add && operation <= AggregateOperation::modulo;
}
GPU_ENGINE_BOTH bool takes_one(AggregateOperation operation) {
    return operation >= AggregateOperation::logical_not;
}
GPU_ENGINE_BOTH bool takes_two(AggregateOperation operation) {
    return operation >= AggregateOperation::add && operation < AggregateOperation::logical_not;
}

// Lists the conditions whose conjunction a filter is, in the order of their steps; `conditions` has room for
// max_aggregate_steps. Rows may be given up as soon as one of them isn't true. Where a step may fail there is
// only the filter itself, because it must be seen to fail for all rows. Returns their number.
inline std::uint32_t list_conditions(const AggregateProgram &program, std::uint16_t filter,
                                     std::uint16_t *conditions) {
    bool is_needed[max_aggregate_steps] = {};
    bool is_condition[max_aggregate_steps] = {};
    is_needed[filter] = true;
    is_condition[filter] = true;
    // Operands come before the steps that take them.
    for (std::uint32_t i = filter + 1U; i-- > 0;) {
        const AggregateStep &step = program.step[i];
        if (!is_needed[i]) {
            continue;
        }
        if (is_arithmetic(step.operation)) {
            conditions[0] = filter;
            return 1;
        }
        const bool is_and = is_condition[i] && step.operation == AggregateOperation::logical_and;
        if (takes_one(step.operation) || takes_two(step.operation)) {
            is_needed[step.left] = true;
            is_condition[step.left] |= is_and;
        }
        if (takes_two(step.operation)) {
            is_needed[step.right] = true;
            is_condition[step.right] |= is_and;
        }
        is_condition[i] &= !is_and;
    }
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i <= filter; i++) {
        if (is_condition[i]) {
            conditions[count++] = static_cast<std::uint16_t>(i);
        }
    }
    return count;
}

GPU_ENGINE_BOTH bool fits_width(std::int64_t value, std::uint8_t width) {
    const int unused = width >= 8 ? 0 : 64 - 8 * width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused == value;
}

// Computes what SQL's operators of 64-bit integers do; returns false where they raise an error.
template <AggregateOperation operation>
GPU_ENGINE_BOTH bool compute_integer(std::int64_t left, std::int64_t right, std::int64_t *value) {
    const auto unsigned_left = static_cast<std::uint64_t>(left);
    const auto unsigned_right = static_cast<std::uint64_t>(right);
    if constexpr (operation == AggregateOperation::add) {
        *value = static_cast<std::int64_t>(unsigned_left + unsigned_right);
        return ((left ^ *value) & (right ^ *value)) >= 0;
    } else if constexpr (operation == AggregateOperation::subtract) {
        *value = static_cast<std::int64_t>(unsigned_left - unsigned_right);
        return ((left ^ right) & (left ^ *value)) >= 0;
    } else if constexpr (operation == AggregateOperation::multiply) {
        *value = static_cast<std::int64_t>(unsigned_left * unsigned_right);
#ifdef __CUDA_ARCH__
        return __mul64hi(left, right) == *value >> 63;
#else
        return !__builtin_mul_overflow(left, right, value);
#endif
    } else {
        const bool is_remainder = operation == AggregateOperation::modulo;
        // The least number divided by -1 would trap.
        if (right == 0 || right == -1) {
            *value = is_remainder ? 0 : static_cast<std::int64_t>(0 - unsigned_left);
            return right != 0 && (is_remainder || left != INT64_MIN);
        }
        *value = is_remainder ? left % right : left / right;
        return true;
    }
}

template <AggregateOperation operation>
GPU_ENGINE_BOTH bool compare_integers(std::int64_t left, std::int64_t right) {
    return operation == AggregateOperation::equal       ? left == right
           : operation == AggregateOperation::not_equal ? left != right
           : operation == AggregateOperation::less      ? left < right
                                                        : left <= right;
}

// Returns the place of a code in a map. On damaged pages a code may lie beyond the map; it gets place 0 then.
GPU_ENGINE_BOTH std::uint64_t place_in_map(const AggregateInput &input, std::uint64_t code) {
    return code < input.places ? code : 0;
}

// Returns the range of a code, of which there is at least one. Whatever the starts are, it is one of them.
GPU_ENGINE_BOTH std::uint64_t place_in_ranges(const AggregateInput &input, std::uint64_t code) {
    const auto *starts = static_cast<const std::uint64_t *>(input.values);
    std::uint64_t place = 0;
    for (std::uint64_t count = input.places; count > 1;) {
        const std::uint64_t half = count / 2;
        place += starts[place + half] <= code ? half : 0;
        count -= half;
    }
    return place;
}
GPU_ENGINE_BOTH std::int64_t number_of_range(const AggregateInput &input, std::uint64_t place) {
    return static_cast<const std::int64_t *>(input.values)[input.places + place];
}

// The place of a code's bit that says whether its number is NULL.
GPU_ENGINE_BOTH std::uint64_t place_of_null(const AggregateInput &input, std::uint64_t code) {
    return input.kind == AggregateInputKind::ranges ? place_in_ranges(input, code)
                                                    : place_in_map(input, code);
}

GPU_ENGINE_BOTH bool bit_at(const std::uint64_t *bits, std::uint64_t i) noexcept {
    return (bits[i / 64] >> (i % 64) & 1) != 0;
}

// Is the input a map of numbers of 64 bits at most?
GPU_ENGINE_BOTH bool is_map_of_numbers(const AggregateInput &input) {
    return input.kind == AggregateInputKind::map8 || input.kind == AggregateInputKind::map32 ||
           input.kind == AggregateInputKind::map64 || input.kind == AggregateInputKind::bits;
}
// Is such a map's number at a place neither 0 nor NULL?
GPU_ENGINE_BOTH bool is_true_in_map(const AggregateInput &input, std::uint64_t place) {
    if (input.nulls != nullptr && bit_at(input.nulls, place)) {
        return false;
    }
    switch (input.kind) {
        case AggregateInputKind::bits:
            return bit_at(static_cast<const std::uint64_t *>(input.values), place);
        case AggregateInputKind::map8:
            return static_cast<const std::uint8_t *>(input.values)[place] != 0;
        case AggregateInputKind::map32:
            return static_cast<const std::uint32_t *>(input.values)[place] != 0;
        default:
            return static_cast<const std::int64_t *>(input.values)[place] != 0;
    }
}

// ---- a tile -----------------------------------------------------------------------------------------------

// A step's results, by row.
struct StepValues {
    std::int64_t *values;
    std::uint8_t *nulls;  // 0 or 1; nullptr: none is NULL
};

// Calls visit(i, row) for a tile's rows: the i-th of them is row positions[i], or i where that is nullptr.
template <typename Visit>
inline void for_tile_rows(const std::uint16_t *positions, std::uint32_t count, Visit visit) {
    if (positions == nullptr) {
        for (std::uint32_t i = 0; i < count; i++) {
            visit(i, i);
        }
        return;
    }
    for (std::uint32_t i = 0; i < count; i++) {
        visit(i, std::uint32_t{positions[i]});
    }
}

template <typename Value, typename Code>
inline void look_up_tile(const AggregateInput &input, const Code *codes, const std::uint16_t *positions,
                         std::uint32_t count, std::int64_t *values) {
    const auto *map = static_cast<const Value *>(input.values);
    for_tile_rows(positions, count, [&](std::uint32_t i, std::uint32_t row) {
        values[i] = static_cast<std::int64_t>(map[place_in_map(input, codes[row])]);
    });
}

// Loads the numbers of ranges. Rows beside each other often belong to the same one. Otherwise several rows
// are looked for at the same time, because each step of one search waits for the one before it.
template <typename Code>
inline void look_up_ranges(const AggregateInput &input, const Code *codes, const std::uint16_t *positions,
                           std::uint32_t count, std::int64_t *values) {
    constexpr std::uint32_t together = 8;
    const auto *starts = static_cast<const std::uint64_t *>(input.values);
    std::uint64_t start = 0;
    std::uint64_t width = 0;
    std::int64_t number = 0;
    for (std::uint32_t first = 0; first < count; first += together) {
        // Behind the last row it is looked for again.
        const std::uint32_t rows = count - first < together ? count - first : together;
        std::uint64_t searched[together];
        bool is_same = true;
        for (std::uint32_t i = 0; i < together; i++) {
            const std::uint32_t place = first + (i < rows ? i : rows - 1);
            searched[i] = codes[positions == nullptr ? place : positions[place]];
            is_same &= searched[i] - start < width;
        }
        if (is_same) {
            for (std::uint32_t i = 0; i < rows; i++) {
                values[first + i] = number;
            }
            continue;
        }
        std::uint64_t found[together] = {};
        for (std::uint64_t left = input.places; left > 1;) {
            const std::uint64_t half = left / 2;
            for (std::uint32_t i = 0; i < together; i++) {
                found[i] += starts[found[i] + half] <= searched[i] ? half : 0;
            }
            left -= half;
        }
        for (std::uint32_t i = 0; i < rows; i++) {
            values[first + i] = number_of_range(input, found[i]);
        }
        const std::uint64_t last = found[together - 1];
        start = starts[last];
        width = (last + 1 < input.places ? starts[last + 1] : UINT64_MAX) - start;
        number = number_of_range(input, last);
    }
}

// Puts in what a tile's column being NULL gives. Some entries may have been NULL already (result.nulls).
inline StepValues load_column_nulls(const AggregateInput &input, const std::uint64_t *column_nulls,
                                    const std::uint16_t *positions, std::uint32_t count, StepValues result,
                                    std::uint8_t *null_room) {
    if (column_nulls == nullptr) {
        return result;
    }
    if (result.nulls == nullptr && input.column_null_is_null) {
        result.nulls = null_room;
        std::memset(null_room, 0, count);
    }
    for_tile_rows(positions, count, [&](std::uint32_t i, std::uint32_t row) {
        if (!bit_at(column_nulls, row)) {
            return;
        }
        result.values[i] = input.kind == AggregateInputKind::map128 ? 0 : input.of_column_null;
        if (result.nulls != nullptr) {
            result.nulls[i] = input.column_null_is_null ? 1 : 0;
        }
    });
    return result;
}

// Loads an input's numbers. `codes` and `column_nulls` (a bit a row; may be nullptr) are those of the tile's
// column, by row. For map128 the results are places in the map. Nulls go to `null_room` where there are any.
template <typename Code>
inline StepValues load_input_tile(const AggregateInput &input, const Code *codes,
                                  const std::uint64_t *column_nulls, const std::uint16_t *positions,
                                  std::uint32_t count, std::int64_t *values, std::uint8_t *null_room) {
    StepValues result = {values, nullptr};
    const bool is_map = input.kind != AggregateInputKind::code;
    if (is_map && input.places == 0) {
        // A map without places means that no row has a code.
        std::memset(values, 0, count * sizeof(std::int64_t));
    } else {
        switch (input.kind) {
            case AggregateInputKind::code:
                for_tile_rows(positions, count, [&](std::uint32_t i, std::uint32_t row) {
                    values[i] = static_cast<std::int64_t>(codes[row] + input.offset);
                });
                break;
            case AggregateInputKind::map8:
                look_up_tile<std::uint8_t>(input, codes, positions, count, values);
                break;
            case AggregateInputKind::map32:
                look_up_tile<std::uint32_t>(input, codes, positions, count, values);
                break;
            case AggregateInputKind::map64:
                look_up_tile<std::int64_t>(input, codes, positions, count, values);
                break;
            case AggregateInputKind::map128:
                for_tile_rows(positions, count, [&](std::uint32_t i, std::uint32_t row) {
                    values[i] = static_cast<std::int64_t>(place_in_map(input, codes[row]));
                });
                break;
            case AggregateInputKind::ranges:
                look_up_ranges(input, codes, positions, count, values);
                break;
            case AggregateInputKind::bits:
                for_tile_rows(positions, count, [&](std::uint32_t i, std::uint32_t row) {
                    values[i] = bit_at(static_cast<const std::uint64_t *>(input.values),
                                       place_in_map(input, codes[row]));
                });
                break;
        }
        if (is_map && input.nulls != nullptr) {
            result.nulls = null_room;
            for_tile_rows(positions, count, [&](std::uint32_t i, std::uint32_t row) {
                null_room[i] = bit_at(input.nulls, place_of_null(input, codes[row])) ? 1 : 0;
            });
        }
    }
    return load_column_nulls(input, column_nulls, positions, count, result, null_room);
}

inline StepValues join_nulls(std::uint32_t count, const StepValues &left, const StepValues &right,
                             std::int64_t *values, std::uint8_t *null_room) {
    if (left.nulls == nullptr && right.nulls == nullptr) {
        return {values, nullptr};
    }
    for (std::uint32_t i = 0; i < count; i++) {
        null_room[i] = static_cast<std::uint8_t>((left.nulls != nullptr ? left.nulls[i] : 0) |
                                                 (right.nulls != nullptr ? right.nulls[i] : 0));
    }
    return {values, null_room};
}

template <AggregateOperation operation>
inline bool compute_integer_tile(std::uint8_t width, std::uint32_t count, const StepValues &left,
                                 const StepValues &right, const StepValues &result) {
    bool fails = false;
    for (std::uint32_t i = 0; i < count; i++) {
        std::int64_t value;
        const bool is_fine =
            compute_integer<operation>(left.values[i], right.values[i], &value) && fits_width(value, width);
        fails |= !is_fine && (result.nulls == nullptr || result.nulls[i] == 0);
        result.values[i] = value;
    }
    return !fails;
}

template <AggregateOperation operation>
inline void compare_tile(std::uint32_t count, const StepValues &left, const StepValues &right,
                         const StepValues &result) {
    for (std::uint32_t i = 0; i < count; i++) {
        result.values[i] = compare_integers<operation>(left.values[i], right.values[i]) ? 1 : 0;
    }
}

// Joins truth values by three-valued logic: an operand that is `decisive` decides, whatever the other one is.
inline StepValues join_truth_tile(std::uint32_t count, const StepValues &left, const StepValues &right,
                                  std::int64_t decisive, std::int64_t *values, std::uint8_t *null_room) {
    const bool any_null = left.nulls != nullptr || right.nulls != nullptr;
    for (std::uint32_t i = 0; i < count; i++) {
        const bool left_null = left.nulls != nullptr && left.nulls[i] != 0;
        const bool right_null = right.nulls != nullptr && right.nulls[i] != 0;
        const bool decided =
            (!left_null && left.values[i] == decisive) || (!right_null && right.values[i] == decisive);
        if (any_null) {
            null_room[i] = !decided && (left_null || right_null) ? 1 : 0;
        }
        values[i] = decided ? decisive : 1 - decisive;
    }
    return {values, any_null ? null_room : nullptr};
}

inline bool is_null_at(const StepValues &values, std::uint32_t i) {
    return values.nulls != nullptr && values.nulls[i] != 0;
}

inline void take_greater_tile(std::uint32_t count, const StepValues &left, const StepValues &right,
                              const StepValues &result) {
    for (std::uint32_t i = 0; i < count; i++) {
        result.values[i] = left.values[i] < right.values[i] ? right.values[i] : left.values[i];
    }
}

inline StepValues only_where_tile(std::uint32_t count, const StepValues &truth, const StepValues &chosen,
                                  std::int64_t *values, std::uint8_t *null_room) {
    for (std::uint32_t i = 0; i < count; i++) {
        values[i] = chosen.values[i];
        null_room[i] = truth.values[i] == 0 || is_null_at(truth, i) || is_null_at(chosen, i) ? 1 : 0;
    }
    return {values, null_room};
}

inline StepValues or_else_tile(std::uint32_t count, const StepValues &first, const StepValues &other,
                               std::int64_t *values, std::uint8_t *null_room) {
    if (first.nulls == nullptr) {
        std::memcpy(values, first.values, count * sizeof(std::int64_t));
        return {values, nullptr};
    }
    for (std::uint32_t i = 0; i < count; i++) {
        values[i] = first.nulls[i] != 0 ? other.values[i] : first.values[i];
    }
    if (other.nulls == nullptr) {
        return {values, nullptr};
    }
    for (std::uint32_t i = 0; i < count; i++) {
        null_room[i] = first.nulls[i] & other.nulls[i];
    }
    return {values, null_room};
}

inline StepValues compute_of_one_tile(AggregateOperation operation, std::uint32_t count,
                                      const StepValues &left, std::int64_t *values) {
    for (std::uint32_t i = 0; i < count; i++) {
        const bool is_null = is_null_at(left, i);
        values[i] = operation == AggregateOperation::is_null   ? is_null
                    : operation == AggregateOperation::is_true ? !is_null && left.values[i] != 0
                                                               : left.values[i] == 0;
    }
    return {values, operation == AggregateOperation::logical_not ? left.nulls : nullptr};
}

// Computes a step that is neither an input nor a place, for `count` rows. Its results go to `values` and,
// where there are NULLs, to `null_room` or an operand's. Returns false when it fails in a row.
inline bool compute_tile(const AggregateStep &step, std::uint32_t count, const StepValues &left,
                         const StepValues &right, std::int64_t *values, std::uint8_t *null_room,
                         StepValues *result) {
    using enum AggregateOperation;
    switch (step.operation) {
        case constant:
        case null:
            for (std::uint32_t i = 0; i < count; i++) {
                values[i] = step.operation == null ? 0 : step.constant;
            }
            *result = {values, step.operation == null ? null_room : nullptr};
            if (step.operation == null) {
                std::memset(null_room, 1, count);
            }
            return true;
        case logical_and:
        case logical_or:
            *result =
                join_truth_tile(count, left, right, step.operation == logical_or ? 1 : 0, values, null_room);
            return true;
        case only_where:
            *result = only_where_tile(count, left, right, values, null_room);
            return true;
        case or_else:
            *result = or_else_tile(count, left, right, values, null_room);
            return true;
        case logical_not:
        case is_null:
        case is_true:
            *result = compute_of_one_tile(step.operation, count, left, values);
            return true;
        default:
            *result = join_nulls(count, left, right, values, null_room);
    }
    switch (step.operation) {
        case add:
            return compute_integer_tile<add>(step.width, count, left, right, *result);
        case subtract:
            return compute_integer_tile<subtract>(step.width, count, left, right, *result);
        case multiply:
            return compute_integer_tile<multiply>(step.width, count, left, right, *result);
        case divide:
            return compute_integer_tile<divide>(step.width, count, left, right, *result);
        case modulo:
            return compute_integer_tile<modulo>(step.width, count, left, right, *result);
        case greater:
            take_greater_tile(count, left, right, *result);
            return true;
        case equal:
            compare_tile<equal>(count, left, right, *result);
            return true;
        case not_equal:
            compare_tile<not_equal>(count, left, right, *result);
            return true;
        case less:
            compare_tile<less>(count, left, right, *result);
            return true;
        default:
            compare_tile<less_or_equal>(count, left, right, *result);
            return true;
    }
}

}  // namespace gpu_engine
