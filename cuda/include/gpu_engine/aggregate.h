// Aggregates by group over runs of columns: what is computed of each row, and what of each group.
//
// Whoever asks evaluates everything that depends on one column only, once for each of the codes that a run
// has for the column, and hands the results over as *inputs*: maps from a code to a number. A short *program*
// computes with these numbers, row by row. Its steps say which rows count, which group a row belongs to, and
// what is added up. The engine therefore knows no types, no collations and no functions of SQL.
//
// Codes are those of one run; inputs give numbers that mean the same in all of them. A *part* is a run, or a
// piece of one, with the inputs that fit its codes. Groups of several parts can be merged.
//
// Rows whose visibility only the caller can tell belong to no group of the table: an engine gives each of
// them back as a group of its own with the row's TID, in the same layout, and the caller merges those it
// sees.
//
// Everything is exact. Numbers are signed integers of 64 bits, sums of them have 128 bits, so 2^63 rows can't
// overflow a sum. Numbers of 128 bits exist only as inputs that are added up: who makes the maps sees to it
// that rows times the greatest magnitude stays below 2^127. Groups come in no certain order.
#pragma once

#include <cstdint>

#include "gpu_engine/both.h"

namespace gpu_engine {

// ---- inputs -----------------------------------------------------------------------------------------------

enum class AggregateInputKind : std::uint8_t {
    code = 1,  // (code + offset) modulo 2^64, taken as a signed number: of integers without a dictionary
    map8,      // values[code], unsigned bytes: truth values (0 or 1), or codes of few groups
    map32,     // values[code], unsigned numbers of 32 bits
    map64,     // values[code], signed numbers of 64 bits
    map128,    // two words a code, the lower one first: a signed number of 128 bits, for sums only
    ranges,    // first `places` codes, ascending: where ranges start. Behind them a signed number of 64 bits
               // for each range. A code that is below all starts belongs to the first range
    bits,      // a bit a code, in words: truth values
};

// A number that depends on one column, in one part.
struct AggregateInput {
    AggregateInputKind kind;
    bool column_null_is_null;  // NULL where the column is NULL; otherwise it is `of_column_null` there
    std::uint16_t reserved;
    std::uint32_t column;  // number of the run's column
    std::uint64_t offset;  // kind code
    std::uint64_t places;  // maps: so many codes have a value. A row whose code is greater is damage: any
                           // number may be taken for it, but nothing behind the map is read. Of ranges their
                           // number
    const void *values;    // maps, by code
    const std::uint64_t *nulls;  // a bit a code or range, 1 where the number is NULL; nullptr where none is
    std::int64_t of_column_null;
};

// Returns the bytes of values that maps and ranges have; 0 of kind code.
GPU_ENGINE_BOTH constexpr std::uint64_t bytes_of_map(const AggregateInput &input) noexcept {
    switch (input.kind) {
        case AggregateInputKind::map8:
            return input.places;
        case AggregateInputKind::map32:
            return input.places * sizeof(std::uint32_t);
        case AggregateInputKind::map64:
            return input.places * sizeof(std::uint64_t);
        case AggregateInputKind::map128:
        case AggregateInputKind::ranges:
            return 2 * input.places * sizeof(std::uint64_t);
        case AggregateInputKind::bits:
            return (input.places + 63) / 64 * sizeof(std::uint64_t);
        default:
            return 0;
    }
}

// ---- the program ------------------------------------------------------------------------------------------

inline constexpr std::uint32_t max_aggregate_inputs = 64;
inline constexpr std::uint32_t max_aggregate_steps = 192;
inline constexpr std::uint32_t max_aggregate_keys = 8;
inline constexpr std::uint32_t max_aggregate_accumulators = 64;
inline constexpr std::uint16_t no_aggregate_step = UINT16_MAX;

// Results are numbers or NULL. A truth value is 0 or 1. With a NULL operand the result is NULL, unless said
// otherwise.
enum class AggregateOperation : std::uint8_t {
    input = 1,  // the input with the number `left`
    constant,   // `constant`
    null,       // NULL
    place,      // the row's TID: heap block << 16 | offset number
    // Integers of `width` bytes (2, 4, 8). A result that doesn't fit them, and a divisor of 0, make the whole
    // request fail (AggregateOutcome::failed). Division cuts toward 0, and a remainder has the dividend's
    // sign.
    add,
    subtract,
    multiply,
    divide,
    modulo,
    greater,  // the greater of two numbers
    // Truth values.
    equal,
    not_equal,
    less,
    less_or_equal,
    logical_and,  // three-valued: false when one operand is false, whatever the other one is
    logical_or,
    // Choices.
    only_where,  // `right` where `left` is true, and NULL elsewhere
    or_else,     // `left`, and `right` where that is NULL
    logical_not,
    is_null,  // never NULL
    is_true,  // never NULL: NULL is not true
};

// A step's operands are results of earlier steps, by their numbers.
struct AggregateStep {
    AggregateOperation operation;
    std::uint8_t width;
    std::uint16_t left;
    std::uint16_t right;
    std::uint16_t reserved;
    std::int64_t constant;
};

// A part of the group's key: `bits` bits of one of its words, from bit `shift` on. Its code is the number
// less `least`, and one more where `may_be_null` has NULLs told from numbers. The code of a NULL is 0. There
// are `codes` codes, or as many as the bits can distinguish where that is 0. A code that isn't one of them is
// damage: its lowest bits are taken, or it becomes one that is.
struct AggregateKey {
    std::uint16_t step;
    std::uint8_t bits;   // 0 to 64
    std::uint8_t shift;  // shift + bits <= 64
    std::uint8_t word;
    bool may_be_null;
    // Flags for rows in an order: key_descends and key_null_is_greatest (top_rows.h); else 0.
    std::uint16_t order;
    std::int64_t least;
    std::uint64_t codes;
};

enum class AccumulatorKind : std::uint8_t {
    count = 1,    // one word: rows of which the step isn't NULL; all rows without a step
    sum,          // two words, the lower one first: a signed number of 128 bits
    sum_squares,  // the same; who asks sees to it that rows times the greatest square stays below 2^127
    least,        // one word: the least number, INT64_MAX without any
    greatest,     // one word: the greatest number, INT64_MIN without any
    // Two words: the exact sum of floats, as a multiple of the least number that an IEEE float of 32 or 64
    // bits with the biased exponent `exponent` can differ by from another. A float that isn't such a
    // multiple, or isn't finite, makes the whole request fail, and so may one with an exponent greater by 74
    // or more. The numbers are the floats' bits: as they are of positive ones, the complement of the
    // magnitude's of negative ones; 2^31 more of floats of 32 bits.
    sum_float32,
    sum_float64,
    // These have one word, in which all numbers are joined bit by bit. Without any number all bits are 1 for
    // bits_and, and 0 for the others.
    bits_and,
    bits_or,
    bits_xor,
};

GPU_ENGINE_BOTH constexpr bool is_sum_of_floats(AccumulatorKind kind) noexcept {
    return kind == AccumulatorKind::sum_float32 || kind == AccumulatorKind::sum_float64;
}
GPU_ENGINE_BOTH constexpr bool is_wide_sum(AccumulatorKind kind) noexcept {
    return kind == AccumulatorKind::sum || kind == AccumulatorKind::sum_squares || is_sum_of_floats(kind);
}
GPU_ENGINE_BOTH constexpr std::uint32_t accumulator_words(AccumulatorKind kind) noexcept {
    return is_wide_sum(kind) ? 2 : 1;
}

// A value that is kept of each group. NULLs are passed over; a count of the same step says whether there was
// any number.
struct Accumulator {
    AccumulatorKind kind;
    std::uint8_t word;     // its first place among the group's words
    std::uint16_t step;    // its argument; no_aggregate_step only for counts
    std::uint16_t filter;  // a truth value: only rows of which it is true; no_aggregate_step: all rows
    // Sums of floats have 1 to 2046, or 254. In other sums all that is added has a magnitude below
    // 2^exponent, or it is 0 and nothing is known of that. A greater magnitude is damage, with which a sum
    // may become any number.
    std::uint16_t exponent;
};

struct AggregateProgram {
    std::uint32_t input_count;
    std::uint32_t step_count;
    std::uint32_t key_count;  // 0: one group, which exists even without a row
    std::uint32_t accumulator_count;
    std::uint32_t key_words;    // words of a group's key; all bits that no key has are 0
    std::uint32_t value_words;  // words of all of a group's accumulators
    std::uint16_t filter;       // a truth value: rows count of which it is true; no_aggregate_step: all
    std::uint16_t reserved[3];
    AggregateStep step[max_aggregate_steps];
    AggregateKey key[max_aggregate_keys];
    Accumulator accumulator[max_aggregate_accumulators];
};

// ---- groups -----------------------------------------------------------------------------------------------

// Word w of group g is at keys[w * key_word_stride + g * key_group_stride], and likewise among the values: an
// engine lays them out as it likes. Without keys there is one group.
struct GroupTable {
    std::uint64_t groups;
    std::uint32_t key_words;
    std::uint32_t value_words;
    std::uint64_t key_word_stride;
    std::uint64_t key_group_stride;
    std::uint64_t value_word_stride;
    std::uint64_t value_group_stride;
    const std::uint64_t *keys;
    const std::uint64_t *values;

    std::uint64_t key(std::uint64_t group, std::uint32_t word) const noexcept {
        return keys[word * key_word_stride + group * key_group_stride];
    }
    std::uint64_t value(std::uint64_t group, std::uint32_t word) const noexcept {
        return values[word * value_word_stride + group * value_group_stride];
    }
};

// The outcome of a request. The groups mean nothing unless it is `answered`.
enum class AggregateOutcome : std::uint8_t {
    answered = 1,
    failed,  // a step overflowed or divided by zero, in a row that counts or that a filter of an
             // accumulator keeps out, or a float has no place in a sum: SQL may still have a result, which
             // the caller must find otherwise
    too_many_groups,  // more than the caller has room for
};

}  // namespace gpu_engine
