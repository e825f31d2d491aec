// The first rows in the order of a program's keys. A row's key is made of words of 64 bits, which compare as
// the rows do: the first word decides, then the next, and the least comes first. All paths find the first
// rows by these functions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "gpu_engine/aggregate.h"
#include "gpu_engine/aggregate_steps.h"
#include "gpu_engine/aggregate_top.h"
#include "gpu_engine/both.h"

namespace gpu_engine {

// ---- keys -------------------------------------------------------------------------------------------------

// Bits of AggregateKey::order. This one inverts the code's bits, so that the greatest numbers come first, and
// a NULL at the other end.
inline constexpr std::uint16_t key_descends = 1;
// The code of a NULL has all bits set and follows those of all numbers; otherwise it is 0 and precedes them.
inline constexpr std::uint16_t key_null_is_greatest = 2;

GPU_ENGINE_BOTH std::uint64_t mask_of_key(const AggregateKey &key) {
    return key.bits == 0 ? 0 : UINT64_MAX >> (64 - key.bits);
}
// Returns by how much codes are above the numbers less the least one.
GPU_ENGINE_BOTH std::uint64_t offset_of_codes(const AggregateKey &key) {
    return key.may_be_null && (key.order & key_null_is_greatest) == 0 ? 1 : 0;
}

// Returns a number's code as a part of a row's key, shifted to its place within the word.
GPU_ENGINE_BOTH std::uint64_t order_part(const AggregateKey &key, std::int64_t value, bool is_null) {
    const std::uint64_t mask = mask_of_key(key);
    std::uint64_t code =
        static_cast<std::uint64_t>(value) - static_cast<std::uint64_t>(key.least) + offset_of_codes(key);
    if (is_null) {
        code = (key.order & key_null_is_greatest) != 0 ? mask : 0;
    }
    code = ((key.order & key_descends) != 0 ? ~code : code) & mask;
    // A key without bits may lie behind the last one.
    return key.bits == 0 ? 0 : code << key.shift;
}

inline void add_order_tile(const AggregateKey &key, const StepValues &step, std::uint32_t count,
                           std::uint64_t *words) {
    for (std::uint32_t i = 0; i < count; i++) {
        words[i] |= order_part(key, step.values[i], step.nulls != nullptr && step.nulls[i] != 0);
    }
}

// The least, or the greatest, first key that a row may have to be among the first ones.
struct FirstKeyBound {
    bool is_set;
    bool descends;
    bool nulls_pass;
    std::int64_t number;
};

// Returns the bound that the last wanted row's first word is.
inline FirstKeyBound first_key_bound(const AggregateKey &key, std::uint64_t word) noexcept {
    const std::uint64_t mask = mask_of_key(key);
    const bool descends = (key.order & key_descends) != 0;
    const bool null_is_greatest = (key.order & key_null_is_greatest) != 0;
    if (key.bits == 0 || key.word != 0) {
        return {};
    }
    const std::uint64_t code = (descends ? ~(word >> key.shift) : word >> key.shift) & mask;
    const bool is_null = key.may_be_null && code == (null_is_greatest ? mask : 0);
    return {!is_null, descends, null_is_greatest == descends,
            static_cast<std::int64_t>(code + static_cast<std::uint64_t>(key.least) - offset_of_codes(key))};
}

// Calls take(i) for the rows that may be among the first ones, by their first keys.
template <typename Take>
inline void for_rows_within(const FirstKeyBound &bound, const StepValues &step, std::uint32_t count,
                            Take take) {
    for (std::uint32_t i = 0; i < count; i++) {
        const bool is_null = step.nulls != nullptr && step.nulls[i] != 0;
        const bool within = bound.descends ? step.values[i] >= bound.number : step.values[i] <= bound.number;
        take(i, is_null ? bound.nulls_pass : within);
    }
}

// ---- rows -------------------------------------------------------------------------------------------------

// The rows that are the first ones so far, and others that have come since. A record is the words of the
// row's key and its place. The caller gives memory.
struct TopRows {
    std::uint32_t key_words;
    bool with_ties;
    std::uint64_t wanted;
    // Rows whose keys are greater are none of the first; nor are those that are equal, if `bound_is_enough`.
    bool has_bound;
    bool bound_is_enough;
    std::uint64_t bound[max_aggregate_keys];
    std::uint64_t *records;
    std::uint32_t *order;
    std::uint64_t capacity;
    std::uint64_t count;

    std::uint32_t words() const noexcept { return key_words + 1; }
    const std::uint64_t *record(std::uint64_t i) const noexcept { return records + i * words(); }
    bool has_room(std::uint64_t rows) const noexcept { return capacity - count >= rows; }
};

inline TopRows begin_top_rows(const AggregateProgram &program, const AggregateTop &top) noexcept {
    TopRows rows = {};
    rows.key_words = program.key_words;
    rows.wanted = top.count;
    rows.with_ties = (top.of_rows & top_with_ties) != 0;
    return rows;
}

// -1, 0 or 1, as the first key's row comes before the other's.
GPU_ENGINE_BOTH int compare_keys(const std::uint64_t *one, const std::uint64_t *other, std::uint32_t words) {
    for (std::uint32_t word = 0; word < words; word++) {
        if (one[word] != other[word]) {
            return one[word] < other[word] ? -1 : 1;
        }
    }
    return 0;
}

inline bool is_within_bound(const TopRows &rows, const std::uint64_t *key) noexcept {
    if (!rows.has_bound) {
        return true;
    }
    const int compared = compare_keys(key, rows.bound, rows.key_words);
    return compared < 0 || (compared == 0 && !rows.bound_is_enough);
}

// Adds a row, for which there must be room, if it is within the bound.
inline void add_top_row(TopRows *rows, const std::uint64_t *key, std::uint64_t place) noexcept {
    if (!is_within_bound(*rows, key)) {
        return;
    }
    std::uint64_t *record = rows->records + rows->count++ * rows->words();
    std::copy_n(key, rows->key_words, record);
    record[rows->key_words] = place;
}

// Leaves out rows that aren't among the first ones.
inline void leave_top_rows(TopRows *rows) {
    if (rows->count <= rows->wanted || rows->wanted == 0) {
        rows->count = rows->wanted == 0 ? 0 : rows->count;
        return;
    }
    std::uint32_t *last = rows->order + rows->wanted - 1;
    std::iota(rows->order, rows->order + rows->count, 0U);
    std::nth_element(rows->order, last, rows->order + rows->count, [rows](std::uint32_t a, std::uint32_t b) {
        return compare_keys(rows->record(a), rows->record(b), rows->key_words) < 0;
    });
    std::copy_n(rows->record(*last), rows->key_words, rows->bound);
    rows->has_bound = true;
    rows->bound_is_enough = !rows->with_ties;
    // The number of rows equal to the last one that are wanted.
    std::uint64_t equal_wanted = rows->wanted;
    for (const std::uint32_t *i = rows->order; i <= last; i++) {
        equal_wanted -= compare_keys(rows->record(*i), rows->bound, rows->key_words) < 0 ? 1 : 0;
    }
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < rows->count; i++) {
        const int compared = compare_keys(rows->record(i), rows->bound, rows->key_words);
        if (compared > 0 || (compared == 0 && !rows->with_ties && equal_wanted == 0)) {
            continue;
        }
        equal_wanted -= compared == 0 && equal_wanted > 0 ? 1 : 0;
        std::copy_n(rows->record(i), rows->words(), rows->records + kept++ * rows->words());
    }
    rows->count = kept;
}

// Returns the room that is needed for `more` rows to be added beside the wanted ones, without looking for
// these too often. It is at least twice as much as there is.
inline std::uint64_t larger_capacity(const TopRows &rows, std::uint64_t more) noexcept {
    constexpr std::uint64_t least = 256;
    return std::max({2 * rows.capacity, 2 * rows.count + 2 * more, least});
}

// Sorts `order`, so that row i is record order[i]. Rows with equal keys come in the order of their places.
inline void sort_top_rows(TopRows *rows) {
    std::iota(rows->order, rows->order + rows->count, 0U);
    std::sort(rows->order, rows->order + rows->count, [rows](std::uint32_t a, std::uint32_t b) {
        return compare_keys(rows->record(a), rows->record(b), rows->words()) < 0;
    });
}

}  // namespace gpu_engine
