// The words that are kept of a group: how rows are added, and how the words of two groups become one's. All
// paths add up with these functions.
#pragma once

#include <cstdint>

#include "gpu_engine/aggregate.h"
#include "gpu_engine/aggregate_steps.h"

namespace gpu_engine {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

GPU_ENGINE_BOTH UInt128 wide_of_words(std::uint64_t low, std::uint64_t high) {
    return UInt128{high} << 64 | low;
}
GPU_ENGINE_BOTH UInt128 wide_of_number(std::int64_t value) {
    return static_cast<UInt128>(Int128{value});
}
GPU_ENGINE_BOTH UInt128 wide_square(std::int64_t value) {
    return wide_of_number(value) * wide_of_number(value);
}

// The float whose number this is (AccumulatorKind) in units of what it can differ by with `exponent`. False:
// it isn't finite, isn't a multiple of that, or is too large.
GPU_ENGINE_BOTH bool fix_float(AccumulatorKind kind, std::int64_t number, std::uint32_t exponent,
                               UInt128 *fixed) {
    const bool is_single = kind == AccumulatorKind::sum_float32;
    const std::uint32_t fraction_bits = is_single ? 23 : 52;
    const std::uint32_t greatest_exponent = is_single ? 255 : 2047;
    // A double's widest fraction of 53 bits then stays below 2^127.
    constexpr std::uint32_t greatest_shift = 74;
    const auto ordered =
        is_single ? static_cast<std::int64_t>(static_cast<std::uint64_t>(number) - (std::uint64_t{1} << 31))
                  : number;
    const bool is_negative = ordered < 0;
    const auto magnitude = static_cast<std::uint64_t>(is_negative ? ~ordered : ordered);
    const auto biased = static_cast<std::uint32_t>(magnitude >> fraction_bits);
    const std::uint64_t below = magnitude & ((std::uint64_t{1} << fraction_bits) - 1);
    const std::uint64_t fraction = biased == 0 ? below : below | std::uint64_t{1} << fraction_bits;
    const std::uint32_t own = biased == 0 ? 1 : biased;
    if (biased >= greatest_exponent || own >= exponent + greatest_shift) {
        return false;
    }
    UInt128 result = fraction;
    if (own >= exponent) {
        result <<= own - exponent;
    } else {
        const std::uint32_t cut = exponent - own < 63 ? exponent - own : 63;
        result = fraction >> cut;
        if (result << cut != fraction) {
            return false;
        }
    }
    *fixed = is_negative ? 0 - result : result;
    return true;
}

// The first word of an accumulator to which no row was added; any others are 0.
GPU_ENGINE_BOTH std::uint64_t first_word(AccumulatorKind kind) {
    return kind == AccumulatorKind::least      ? static_cast<std::uint64_t>(INT64_MAX)
           : kind == AccumulatorKind::greatest ? static_cast<std::uint64_t>(INT64_MIN)
           : kind == AccumulatorKind::bits_and ? UINT64_MAX
                                               : 0;
}

// Makes one number of two, for kinds of one word that count nothing.
template <AccumulatorKind kind>
GPU_ENGINE_BOTH std::int64_t join_numbers(std::int64_t a, std::int64_t b) {
    if constexpr (kind == AccumulatorKind::least) {
        return b < a ? b : a;
    } else if constexpr (kind == AccumulatorKind::greatest) {
        return b > a ? b : a;
    } else if constexpr (kind == AccumulatorKind::bits_and) {
        return a & b;
    } else if constexpr (kind == AccumulatorKind::bits_or) {
        return a | b;
    } else {
        return a ^ b;
    }
}
GPU_ENGINE_BOTH std::uint64_t join_words(AccumulatorKind kind, std::uint64_t a, std::uint64_t b) {
    using enum AccumulatorKind;
    const auto left = static_cast<std::int64_t>(a);
    const auto right = static_cast<std::int64_t>(b);
    return static_cast<std::uint64_t>(kind == least      ? join_numbers<least>(left, right)
                                      : kind == greatest ? join_numbers<greatest>(left, right)
                                      : kind == bits_and ? join_numbers<bits_and>(left, right)
                                      : kind == bits_or  ? join_numbers<bits_or>(left, right)
                                                         : join_numbers<bits_xor>(left, right));
}

inline void add_wide(std::uint64_t *words, UInt128 value) {
    const UInt128 sum = wide_of_words(words[0], words[1]) + value;
    words[0] = static_cast<std::uint64_t>(sum);
    words[1] = static_cast<std::uint64_t>(sum >> 64);
}

// Makes an empty group of these words.
inline void begin_group(const AggregateProgram &program, std::uint64_t *words) {
    for (std::uint32_t i = 0; i < program.value_words; i++) {
        words[i] = 0;
    }
    for (std::uint32_t i = 0; i < program.accumulator_count; i++) {
        words[program.accumulator[i].word] = first_word(program.accumulator[i].kind);
    }
}

// Adds `others` to `words`: they are the words of another group, or of the same group in another table.
inline void merge_group(const AggregateProgram &program, std::uint64_t *words, const std::uint64_t *others) {
    for (std::uint32_t i = 0; i < program.accumulator_count; i++) {
        const Accumulator &accumulator = program.accumulator[i];
        std::uint64_t *word = words + accumulator.word;
        const std::uint64_t *other = others + accumulator.word;
        switch (accumulator.kind) {
            case AccumulatorKind::count:
                *word += *other;
                break;
            case AccumulatorKind::sum:
            case AccumulatorKind::sum_squares:
            case AccumulatorKind::sum_float32:
            case AccumulatorKind::sum_float64:
                add_wide(word, wide_of_words(other[0], other[1]));
                break;
            case AccumulatorKind::least:
            case AccumulatorKind::greatest:
            case AccumulatorKind::bits_and:
            case AccumulatorKind::bits_or:
            case AccumulatorKind::bits_xor:
                *word = join_words(accumulator.kind, *word, *other);
                break;
        }
    }
}

// ---- a tile -----------------------------------------------------------------------------------------------

// The places where the groups of a tile's rows lie.
struct TileGroups {
    std::uint64_t *values;         // values of group 0
    std::uint64_t stride;          // words from a group to the next
    const std::uint32_t *numbers;  // by row: its group; nullptr: all are of group 0
};

// An accumulator's argument and filter, computed.
struct AccumulatorTile {
    const StepValues *argument;  // nullptr: none
    const StepValues *filter;    // nullptr: all rows
    const std::uint64_t *map;    // map of an argument of kind map128, else nullptr
};

inline bool is_true_at(const StepValues &truth, std::uint32_t i) {
    return truth.values[i] != 0 && (truth.nulls == nullptr || truth.nulls[i] == 0);
}

// Says which rows an accumulator takes: a byte a row in `room`, which is returned; nullptr means all rows.
inline const std::uint8_t *find_counted(const AccumulatorTile &tile, std::uint32_t count,
                                        std::uint8_t *room) {
    const std::uint8_t *nulls = tile.argument == nullptr ? nullptr : tile.argument->nulls;
    if (nulls == nullptr && tile.filter == nullptr) {
        return nullptr;
    }
    for (std::uint32_t i = 0; i < count; i++) {
        room[i] =
            (nulls == nullptr || nulls[i] == 0) && (tile.filter == nullptr || is_true_at(*tile.filter, i));
    }
    return room;
}

// Calls add(words, i) for the rows that count, with the place of the accumulator's words.
template <typename Add>
inline void add_by_group(const TileGroups &groups, std::uint32_t word, std::uint32_t count,
                         const std::uint8_t *counted, Add add) {
    // A compiler must assume that an addition changes `groups`, so its pointer is read once.
    std::uint64_t *values = groups.values + word;
    const std::uint32_t *numbers = groups.numbers;
    const std::uint64_t stride = groups.stride;
    if (counted == nullptr) {
        for (std::uint32_t i = 0; i < count; i++) {
            add(values + numbers[i] * stride, i);
        }
        return;
    }
    for (std::uint32_t i = 0; i < count; i++) {
        if (counted[i] != 0) {
            add(values + numbers[i] * stride, i);
        }
    }
}

// Joins the numbers of the rows that count to `first`, which stays in a register all the while.
// `number_of(i)` is what row i adds, and `join` makes one number of two.
template <typename Number, typename NumberOf, typename Join>
inline Number join_all(Number first, std::uint32_t count, const std::uint8_t *counted, NumberOf number_of,
                       Join join) {
    if (counted == nullptr) {
        for (std::uint32_t i = 0; i < count; i++) {
            first = join(first, number_of(i));
        }
        return first;
    }
    for (std::uint32_t i = 0; i < count; i++) {
        first = counted[i] != 0 ? join(first, number_of(i)) : first;
    }
    return first;
}

template <typename NumberOf>
inline void add_wide_tile(const TileGroups &groups, std::uint32_t word, std::uint32_t count,
                          const std::uint8_t *counted, NumberOf number_of) {
    if (groups.numbers == nullptr) {
        add_wide(groups.values + word,
                 join_all(UInt128{0}, count, counted, number_of, [](UInt128 a, UInt128 b) { return a + b; }));
        return;
    }
    add_by_group(groups, word, count, counted,
                 [&](std::uint64_t *words, std::uint32_t i) { add_wide(words, number_of(i)); });
}

template <AccumulatorKind kind>
inline void join_tile(const TileGroups &groups, std::uint32_t word, std::uint32_t count,
                      const std::uint8_t *counted, const std::int64_t *values) {
    if (groups.numbers == nullptr) {
        std::uint64_t *words = groups.values + word;
        words[0] = static_cast<std::uint64_t>(join_all(
            static_cast<std::int64_t>(words[0]), count, counted,
            [values](std::uint32_t i) { return values[i]; },
            [](std::int64_t a, std::int64_t b) { return join_numbers<kind>(a, b); }));
        return;
    }
    add_by_group(groups, word, count, counted, [values](std::uint64_t *words, std::uint32_t i) {
        words[0] =
            static_cast<std::uint64_t>(join_numbers<kind>(static_cast<std::int64_t>(words[0]), values[i]));
    });
}

// Adds a tile's rows to an accumulator of their groups. `room` has a byte a row. False when a float has no
// place in a sum.
inline bool accumulate_tile(const Accumulator &accumulator, const AccumulatorTile &tile, std::uint32_t count,
                            const TileGroups &groups, std::uint8_t *room) {
    const std::uint8_t *counted = find_counted(tile, count, room);
    const std::int64_t *values = tile.argument == nullptr ? nullptr : tile.argument->values;
    const std::uint32_t word = accumulator.word;
    switch (accumulator.kind) {
        case AccumulatorKind::count:
            if (groups.numbers == nullptr) {
                groups.values[word] += join_all(
                    std::uint64_t{0}, count, counted, [](std::uint32_t) { return std::uint64_t{1}; },
                    [](std::uint64_t a, std::uint64_t b) { return a + b; });
            } else {
                add_by_group(groups, word, count, counted,
                             [](std::uint64_t *words, std::uint32_t) { words[0]++; });
            }
            return true;
        case AccumulatorKind::sum:
            if (tile.map != nullptr) {
                const std::uint64_t *map = tile.map;
                add_wide_tile(groups, word, count, counted, [values, map](std::uint32_t i) {
                    const std::uint64_t *number = map + 2 * static_cast<std::uint64_t>(values[i]);
                    return wide_of_words(number[0], number[1]);
                });
                return true;
            }
            add_wide_tile(groups, word, count, counted,
                          [values](std::uint32_t i) { return wide_of_number(values[i]); });
            return true;
        case AccumulatorKind::sum_squares:
            add_wide_tile(groups, word, count, counted,
                          [values](std::uint32_t i) { return wide_square(values[i]); });
            return true;
        case AccumulatorKind::least:
            join_tile<AccumulatorKind::least>(groups, word, count, counted, values);
            return true;
        case AccumulatorKind::greatest:
            join_tile<AccumulatorKind::greatest>(groups, word, count, counted, values);
            return true;
        case AccumulatorKind::bits_and:
            join_tile<AccumulatorKind::bits_and>(groups, word, count, counted, values);
            return true;
        case AccumulatorKind::bits_or:
            join_tile<AccumulatorKind::bits_or>(groups, word, count, counted, values);
            return true;
        case AccumulatorKind::bits_xor:
            join_tile<AccumulatorKind::bits_xor>(groups, word, count, counted, values);
            return true;
        case AccumulatorKind::sum_float32:
        case AccumulatorKind::sum_float64: {
            bool is_fixed = true;
            add_wide_tile(groups, word, count, counted, [&, values](std::uint32_t i) {
                UInt128 fixed = 0;
                is_fixed &= fix_float(accumulator.kind, values[i], accumulator.exponent, &fixed);
                return fixed;
            });
            return is_fixed;
        }
    }
    return true;
}

// ---- keys -------------------------------------------------------------------------------------------------

GPU_ENGINE_BOTH std::uint64_t key_code(const AggregateKey &key, std::int64_t value, bool is_null) {
    if (is_null || key.bits == 0) {
        return 0;
    }
    const std::uint64_t code =
        static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(key.least) + (key.may_be_null ? 1 : 0);
    return code & UINT64_MAX >> (64 - key.bits);
}

// Returns a number's code as a part of the key, shifted to its place within the word.
GPU_ENGINE_BOTH std::uint64_t key_part(const AggregateKey &key, std::int64_t value, bool is_null) {
    return key.bits == 0 ? 0 : key_code(key, value, is_null) << key.shift;
}

// Adds a key's part to the words that hold it, by row. The words could be those of the key, for all that a
// compiler knows, so it has a copy.
inline void add_key_tile(const AggregateKey &key, const StepValues &step, std::uint32_t count,
                         std::uint64_t *words) {
    if (key.bits == 0) {
        return;
    }
    const AggregateKey copy = key;
    const std::int64_t *values = step.values;
    if (step.nulls == nullptr) {
        for (std::uint32_t i = 0; i < count; i++) {
            words[i] |= key_code(copy, values[i], false) << copy.shift;
        }
        return;
    }
    for (std::uint32_t i = 0; i < count; i++) {
        words[i] |= key_part(copy, values[i], step.nulls[i] != 0);
    }
}

}  // namespace gpu_engine
