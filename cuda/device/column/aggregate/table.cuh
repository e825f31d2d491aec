// Groups on the device: where a row's group is found, and how rows are added to it. All rows of a request
// are added to one table, in any order; the thread whose row comes first makes the group.
#pragma once

#include "device/column/aggregate/rows.cuh"

namespace gpu_engine::device {

using Word = unsigned long long;

// Joins the words of a warp's lanes; the first lane gets the result.
template <typename Join>
__device__ Word join_warp(Word word, Join join) {
    for (int distance = 16; distance > 0; distance /= 2) {
        word = join(word, __shfl_down_sync(UINT32_MAX, word, distance));
    }
    return word;
}

// ---- words that several threads add to --------------------------------------------------------------------

// Adds to a number of 128 bits in device memory. The result is exact though the halves are added one by one:
// the thread that makes the lower half overflow adds the carry to the upper half.
__device__ inline void add_wide_in_memory(Word *low, Word *high, UInt128 number) {
    const auto low_part = static_cast<Word>(number);
    Word high_part = static_cast<Word>(number >> 64);
    if (low_part != 0) {
        const Word before = atomicAdd(low, low_part);
        high_part += before + low_part < before ? 1 : 0;
    }
    if (high_part != 0) {
        atomicAdd(high, high_part);
    }
}

// Does the same in shared memory, where only additions of 32 bits are fast. Returns the carry.
__device__ inline std::uint32_t add_piece(std::uint32_t *piece, std::uint32_t part, std::uint32_t carry) {
    const std::uint64_t sum = static_cast<std::uint64_t>(part) + carry;
    const auto added = static_cast<std::uint32_t>(sum);
    auto carried = static_cast<std::uint32_t>(sum >> 32);
    if (added != 0) {
        const std::uint32_t before = atomicAdd(piece, added);
        carried += before + added < before ? 1 : 0;
    }
    return carried;
}
__device__ inline void add_wide_in_block(Word *low, Word *high, UInt128 number) {
    auto *low_pieces = reinterpret_cast<std::uint32_t *>(low);
    auto *high_pieces = reinterpret_cast<std::uint32_t *>(high);
    std::uint32_t carry = add_piece(low_pieces, static_cast<std::uint32_t>(number), 0);
    carry = add_piece(low_pieces + 1, static_cast<std::uint32_t>(number >> 32), carry);
    carry = add_piece(high_pieces, static_cast<std::uint32_t>(number >> 64), carry);
    add_piece(high_pieces + 1, static_cast<std::uint32_t>(number >> 96), carry);
}

__device__ inline void add_narrow_in_block(Word *word, long long number) {
    auto *pieces = reinterpret_cast<std::uint32_t *>(word);
    const auto bits = static_cast<Word>(number);
    const std::uint32_t carry = add_piece(pieces, static_cast<std::uint32_t>(bits), 0);
    add_piece(pieces + 1, static_cast<std::uint32_t>(bits >> 32), carry);
}

// The upper half of a number of 128 bits whose lower half is known, and that has a sign.
__device__ inline Word sign_of(Word low) {
    return static_cast<long long>(low) < 0 ? UINT64_MAX : 0;
}

// A least or greatest number soon changes no more, so most rows only look at it.
__device__ inline void join_least(Word *word, long long number) {
    if (number < *reinterpret_cast<volatile long long *>(word)) {
        atomicMin(reinterpret_cast<long long *>(word), number);
    }
}
__device__ inline void join_greatest(Word *word, long long number) {
    if (number > *reinterpret_cast<volatile long long *>(word)) {
        atomicMax(reinterpret_cast<long long *>(word), number);
    }
}

// Joins bits to a word in shared or in device memory.
__device__ inline void join_bits(AccumulatorKind kind, Word *word, Word bits) {
    if (kind == AccumulatorKind::bits_and) {
        atomicAnd(word, bits);
    } else if (kind == AccumulatorKind::bits_or) {
        atomicOr(word, bits);
    } else {
        atomicXor(word, bits);
    }
}

// Adds the sum of one row or more to a group in device memory.
__device__ inline void add_to_group(AccumulatorKind kind, Word *word, Word low, Word high) {
    switch (kind) {
        case AccumulatorKind::count:
            atomicAdd(word, low);
            break;
        case AccumulatorKind::sum:
        case AccumulatorKind::sum_squares:
        case AccumulatorKind::sum_float32:
        case AccumulatorKind::sum_float64:
            add_wide_in_memory(word, word + 1, wide_of_words(low, high));
            break;
        case AccumulatorKind::least:
            join_least(word, static_cast<long long>(low));
            break;
        case AccumulatorKind::greatest:
            join_greatest(word, static_cast<long long>(low));
            break;
        case AccumulatorKind::bits_and:
        case AccumulatorKind::bits_or:
        case AccumulatorKind::bits_xor:
            join_bits(kind, word, low);
            break;
    }
}

// ---- finding groups ---------------------------------------------------------------------------------------

// The outcome of a request.
struct AggregateFlags {
    std::uint32_t failed;    // a step did
    std::uint32_t full;      // the table is too small
    std::uint32_t has_last;  // the group whose key is `free_key` has a row
    std::uint32_t reserved;
    Word unresolved;  // rows that came
};

// Records of `stride` words. Without `key_words` groups are dense: their numbers are made of their keys, and
// there are no words of keys.
struct TableView {
    Word *records;
    std::uint32_t *states;   // by slot; of keys of several words
    std::uint32_t *present;  // a bit a slot, of groups of which only matters whether they have a row
    std::uint64_t slots;     // where groups aren't dense: a power of two
    std::uint32_t stride;
    std::uint32_t key_words;
    AggregateFlags *flags;

    __device__ Word *record(std::uint64_t slot) const { return records + slot * stride; }
};

// In tables with keys of one word this key says that a slot is free. The group that has this very key lies
// behind all slots.
inline constexpr Word free_key = UINT64_MAX;
// In tables with keys of several words a slot has a state. All other states say that the key is there, and
// have bits of the key's hash, by which most keys are distinguished.
inline constexpr std::uint32_t slot_is_free = 0;
inline constexpr std::uint32_t slot_is_taken = 1;
inline constexpr std::uint32_t slot_has_key = 2;
// A key that isn't found within so many slots makes the table count as full.
inline constexpr std::uint32_t max_probes = 512;

__device__ inline Word *find_record(const TableView &table, Word key) {
    if (key == free_key) {
        table.flags->has_last = 1;
        return table.record(table.slots);
    }
    std::uint64_t slot = mix_key(0, key) & (table.slots - 1);
    for (std::uint32_t probe = 0; probe < max_probes; ++probe) {
        Word *record = table.record(slot);
        Word seen = __ldcg(record);
        if (seen == free_key) {
            seen = atomicCAS(record, free_key, key);
        }
        if (seen == key || seen == free_key) {
            return record;
        }
        slot = (slot + 1) & (table.slots - 1);
    }
    table.flags->full = 1;
    return nullptr;
}

// `key_at(word)` is a word of the key. The thread that takes a slot writes the key at once, without waiting
// for others, so those that wait for the key don't wait long.
template <typename KeyAt>
__device__ Word *find_record(const TableView &table, std::uint64_t hash, KeyAt key_at) {
    const std::uint32_t wanted = static_cast<std::uint32_t>(hash >> 32) | slot_has_key;
    std::uint64_t slot = hash & (table.slots - 1);
    for (std::uint32_t probe = 0; probe < max_probes;) {
        Word *record = table.record(slot);
        std::uint32_t state = *reinterpret_cast<volatile std::uint32_t *>(table.states + slot);
        if (state == slot_is_free) {
            state = atomicCAS(table.states + slot, slot_is_free, slot_is_taken);
            if (state == slot_is_free) {
                for (std::uint32_t word = 0; word < table.key_words; ++word) {
                    __stcg(record + word, key_at(word));
                }
                __threadfence();
                atomicExch(table.states + slot, wanted);
                return record;
            }
        }
        if (state == slot_is_taken) {
            continue;
        }
        if (state == wanted) {
            __threadfence();
            bool is_equal = true;
            for (std::uint32_t word = 0; word < table.key_words; ++word) {
                is_equal &= __ldcg(record + word) == key_at(word);
            }
            if (is_equal) {
                return record;
            }
        }
        slot = (slot + 1) & (table.slots - 1);
        ++probe;
    }
    table.flags->full = 1;
    return nullptr;
}

}  // namespace gpu_engine::device
