// Adding codes up by slots, of which there are few: how often each comes, and sums and bounds of another
// column's codes. Processors add up so what needs no steps of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "gpu_engine/aggregate_sums.h"

namespace gpu_engine {

// Neighbours often belong to the same slot, and an addition would wait for the one before it. So there are
// several copies of what is added up, which are joined in the end.
inline constexpr std::uint32_t slot_copies = 4;

// Calls add(i, distance of the copy that row i is added to from the first one), where copies lie so far
// apart.
template <typename Add>
inline void for_copies(std::size_t count, std::size_t apart, Add add) {
    std::size_t i = 0;
    for (; i + slot_copies <= count; i += slot_copies) {
        add(i, 0);
        add(i + 1, apart);
        add(i + 2, 2 * apart);
        add(i + 3, 3 * apart);
    }
    for (; i < count; i++) {
        add(i, 0);
    }
}

// Is an accumulator of this kind one that codes are added up for?
constexpr bool is_of_codes(AccumulatorKind kind) noexcept {
    return kind == AccumulatorKind::sum || kind == AccumulatorKind::least ||
           kind == AccumulatorKind::greatest;
}

// Calls work with the kind, of those that codes are added up for, as a constant.
template <typename Work>
inline void with_kind_of_codes(AccumulatorKind kind, Work work) {
    if (kind == AccumulatorKind::sum) {
        work(std::integral_constant<AccumulatorKind, AccumulatorKind::sum>{});
    } else if (kind == AccumulatorKind::least) {
        work(std::integral_constant<AccumulatorKind, AccumulatorKind::least>{});
    } else {
        work(std::integral_constant<AccumulatorKind, AccumulatorKind::greatest>{});
    }
}

template <AccumulatorKind kind, typename Number>
inline Number join_codes(Number a, Number b) {
    if constexpr (kind == AccumulatorKind::sum) {
        return a + b;
    } else if constexpr (kind == AccumulatorKind::least) {
        return b < a ? b : a;
    } else {
        return b > a ? b : a;
    }
}

// Returns the codes of a slot without rows.
constexpr std::uint64_t no_codes(AccumulatorKind kind) noexcept {
    return kind == AccumulatorKind::least ? UINT64_MAX : 0;
}

inline void count_slots(const std::uint32_t *slots, std::size_t count, std::size_t apart,
                        std::uint32_t *counts) {
    for_copies(count, apart, [slots, counts](std::size_t i, std::size_t copy) { counts[copy + slots[i]]++; });
}

template <AccumulatorKind kind>
inline void add_codes_by_slot(const std::uint32_t *slots, const std::uint32_t *codes, std::size_t count,
                              std::size_t apart, std::uint64_t *by_slot) {
    for_copies(count, apart, [slots, codes, by_slot](std::size_t i, std::size_t copy) {
        std::uint64_t *place = by_slot + copy + slots[i];
        *place = join_codes<kind>(*place, std::uint64_t{codes[i]});
    });
}

// Joins the copies of the slots' numbers to the first one.
template <AccumulatorKind kind, typename Number>
inline void join_copies(std::size_t slots, std::size_t apart, Number *numbers) {
    for (std::uint32_t copy = 1; copy < slot_copies && apart > 0; copy++) {
        for (std::size_t slot = 0; slot < slots; slot++) {
            numbers[slot] = join_codes<kind>(numbers[slot], numbers[copy * apart + slot]);
        }
    }
}

// Are a column's numbers its codes and an offset, whatever code of so many bits a damaged page may have?
inline bool are_codes_with_offset(const AggregateInput &input, std::uint32_t bits) {
    const std::uint64_t greatest = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
    return input.kind == AggregateInputKind::code && input.nulls == nullptr &&
           Int128{static_cast<std::int64_t>(input.offset)} + greatest <= INT64_MAX;
}

// Adds what `count` rows with a sum of codes, or a bound of theirs, come to, to the accumulator's words of a
// group.
inline void add_codes_to_group(const Accumulator &accumulator, std::uint64_t count, UInt128 codes,
                               std::uint64_t offset, std::uint64_t *words) {
    words += accumulator.word;
    if (count == 0) {
        return;
    }
    if (accumulator.kind == AccumulatorKind::count) {
        words[0] += count;
    } else if (accumulator.kind == AccumulatorKind::sum) {
        add_wide(words, codes + wide_of_number(static_cast<std::int64_t>(offset)) * UInt128{count});
    } else {
        words[0] = join_words(accumulator.kind, words[0], static_cast<std::uint64_t>(codes) + offset);
    }
}

}  // namespace gpu_engine
