// Groups on the device: where a row's group is found, and how rows are added to it. A group has a record: the
// words of its key, then words for which rows have been seen, a bit an accumulator, then each accumulator's.
#pragma once

#include "common/query/mix_key.h"
#include "common/query/sum_float.h"
#include "device/query/rows.cuh"

namespace gpu_engine::query::on_device {

using Word = unsigned long long;

// What became of an aggregation.
struct GroupFlags {
    std::uint32_t failed;
    std::uint32_t full;           // the table is too small
    std::uint32_t has_last;       // the group whose key is `free_key` has a row
    std::uint32_t out_of_window;  // a float has no place in the digits of its sum
    Word groups;
};

struct KeyView {
    Operand operand;
    std::uint32_t word;  // of the record
};

struct AccumulatorView {
    AccumulatorKind kind;
    ValueType type;        // of the argument
    bool is_ordered;       // takes a group's values in their order, in a pass of its own
    bool is_seen;          // every group has a row that counts
    bool is_shared;        // an accumulator before it gathers the same
    std::uint32_t part;    // of a sum of floats
    std::uint32_t bit;     // among those seen
    std::uint32_t word;    // behind the key
    std::uint32_t digits;  // of a sum of floats
    std::int32_t lowest_digit;
    Operand argument;  // source none: it has none
    Operand filter;
};

// A sum of floats is kept in digits of 28 bits, each in a word of its own with a sign, so that no addition
// carries. Digit 0 of all that there can be begins at 2^least_digit_exponent.
inline constexpr std::uint32_t digit_bits = 28;
inline constexpr std::int32_t least_digit_exponent = -39 * static_cast<std::int32_t>(digit_bits);
inline constexpr std::uint32_t max_digits = 76;

struct GroupsView {
    Word *records;
    std::uint32_t *states;  // by slot, of keys of several words
    std::uint64_t slots;    // a power of two; 0: there is one group, and no key
    std::uint32_t stride;
    std::uint32_t key_words;
    std::uint32_t max_probes;
    GroupFlags *flags;

    __device__ Word *record(std::uint64_t slot) const { return records + slot * stride; }
};

// ---- words that several threads add to --------------------------------------------------------------------

// In shared memory only additions of 32 bits are fast. Returns the carry.
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
__device__ inline std::uint32_t add_pieces(Word *word, Word number, std::uint32_t carry) {
    auto *pieces = reinterpret_cast<std::uint32_t *>(word);
    carry = add_piece(pieces, static_cast<std::uint32_t>(number), carry);
    return add_piece(pieces + 1, static_cast<std::uint32_t>(number >> 32), carry);
}
__device__ inline Word add_word(Word *word, Word number, Word carry) {
    const Word added = number + carry;
    Word carried = added < carry ? 1 : 0;
    if (added != 0) {
        const Word before = atomicAdd(word, added);
        carried += before + added < before ? 1 : 0;
    }
    return carried;
}

// What one row or more add to an accumulator: a count, a number of three words, or a value as it is joined.
struct Part {
    Word low;
    Word high;
    Word top;
};

// Where words lie that a row is added to: in the block's shared memory, where they are a thread's own or
// several threads', or in device memory.
enum class Room { own, block, device };

// The result is exact though words are added one by one: the thread that makes one overflow adds the carry to
// the next. In a block's memory the third word has 32 bits.
template <Room room>
__device__ void add_number(Word *words, std::uint32_t stride, const Part &part, bool has_top) {
    if constexpr (room == Room::own) {
        const Word low = words[0] + part.low;
        const Word high = words[stride] + part.high;
        const Word carry = low < part.low ? 1 : 0;
        words[0] = low;
        words[stride] = high + carry;
        if (has_top) {
            const std::uint32_t carried = (high < part.high ? 1 : 0) + (high + carry < carry ? 1 : 0);
            *reinterpret_cast<std::uint32_t *>(words + 2 * stride) +=
                static_cast<std::uint32_t>(part.top) + carried;
        }
    } else if constexpr (room == Room::block) {
        std::uint32_t carry = add_pieces(words, part.low, 0);
        carry = add_pieces(words + stride, part.high, carry);
        const std::uint32_t top = static_cast<std::uint32_t>(part.top) + carry;
        if (has_top && top != 0) {
            atomicAdd(reinterpret_cast<std::uint32_t *>(words + 2 * stride), top);
        }
    } else {
        Word carry = add_word(words, part.low, 0);
        carry = add_word(words + stride, part.high, carry);
        const Word top = part.top + carry;
        if (has_top && top != 0) {
            atomicAdd(words + 2 * stride, top);
        }
    }
}

__device__ inline bool is_below(const Part &one, const Part &other) {
    return one.high != other.high ? static_cast<long long>(one.high) < static_cast<long long>(other.high)
                                  : one.low < other.low;
}

// Joins a value of two words, one thread after the other: the third word is a lock.
__device__ inline void join_wide(bool is_least, Word *words, std::uint32_t stride, const Part &part) {
    // Whoever has seen a better upper word needn't wait.
    const auto seen = static_cast<long long>(*reinterpret_cast<volatile Word *>(words + stride));
    const auto high = static_cast<long long>(part.high);
    if (is_least ? seen < high : seen > high) {
        return;
    }
    auto *lock = reinterpret_cast<unsigned int *>(words + 2 * stride);
    for (bool is_done = false; !is_done;) {
        if (atomicCAS(lock, 0U, 1U) == 0) {
            __threadfence();
            const Part there = {*reinterpret_cast<volatile Word *>(words),
                                *reinterpret_cast<volatile Word *>(words + stride), 0};
            if (is_least ? is_below(part, there) : is_below(there, part)) {
                *reinterpret_cast<volatile Word *>(words) = part.low;
                *reinterpret_cast<volatile Word *>(words + stride) = part.high;
            }
            __threadfence();
            atomicExch(lock, 0U);
            is_done = true;
        }
    }
}

// Such a number soon changes no more, so most rows only look at it.
__device__ inline void join_least(Word *word, Word number) {
    const auto value = static_cast<long long>(number);
    if (value < *reinterpret_cast<volatile long long *>(word)) {
        atomicMin(reinterpret_cast<long long *>(word), value);
    }
}
__device__ inline void join_greatest(Word *word, Word number) {
    const auto value = static_cast<long long>(number);
    if (value > *reinterpret_cast<volatile long long *>(word)) {
        atomicMax(reinterpret_cast<long long *>(word), value);
    }
}

// Returns whether it was the first.
__device__ inline bool mark_seen(Word *seen, std::uint32_t stride, std::uint32_t bit) {
    Word *word = seen + bit / 64 * stride;
    const Word mask = Word(1) << (bit % 64);
    return (*reinterpret_cast<volatile Word *>(word) & mask) == 0 && (atomicOr(word, mask) & mask) == 0;
}

// Integers that compare as values of a type do, and back.
GPU_ENGINE_BOTH Word joined_of(ValueType type, Word low) {
    return type == ValueType::float64 ? order_of_float(float_of_bits(low)) ^ Word(1) << 63 : low;
}
GPU_ENGINE_BOTH Word value_of_joined(ValueType type, Word joined) {
    if (type != ValueType::float64) {
        return joined;
    }
    const Word order = joined ^ Word(1) << 63;
    return (order >> 63) != 0 ? order ^ Word(1) << 63 : ~order;
}

__device__ inline Part part_of(const AccumulatorView &accumulator, Word low, Word high) {
    switch (accumulator.kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
            return {1, 0, 0};
        case AccumulatorKind::sum: {
            const Word upper = accumulator.type == ValueType::int128
                                   ? high
                                   : static_cast<Word>(static_cast<long long>(low) >> 63);
            return {low, upper, static_cast<Word>(static_cast<long long>(upper) >> 63)};
        }
        case AccumulatorKind::least:
        case AccumulatorKind::greatest:
            return {joined_of(accumulator.type, low), high, 0};
        default:
            return {low, high, 0};
    }
}

// Adds to an accumulator's words that are no sum of floats and no value of any row.
template <Room room>
__device__ void add_part(const AccumulatorView &accumulator, Word *words, std::uint32_t stride,
                         const Part &part) {
    switch (accumulator.kind) {
        case AccumulatorKind::count_rows:
        case AccumulatorKind::count:
            // A block has fewer than 2^32 rows.
            if constexpr (room == Room::own) {
                *reinterpret_cast<std::uint32_t *>(words) += static_cast<std::uint32_t>(part.low);
            } else if constexpr (room == Room::block) {
                atomicAdd(reinterpret_cast<std::uint32_t *>(words), static_cast<std::uint32_t>(part.low));
            } else {
                atomicAdd(words, part.low);
            }
            break;
        case AccumulatorKind::sum:
            add_number<room>(words, stride, part, accumulator.type == ValueType::int128);
            break;
        case AccumulatorKind::least:
        case AccumulatorKind::greatest: {
            const bool is_least = accumulator.kind == AccumulatorKind::least;
            if (accumulator.type == ValueType::int128) {
                join_wide(is_least, words, stride, part);
            } else if (is_least) {
                join_least(words, part.low);
            } else {
                join_greatest(words, part.low);
            }
            break;
        }
        case AccumulatorKind::bit_and:
            atomicAnd(words, part.low);
            break;
        case AccumulatorKind::bit_or:
            atomicOr(words, part.low);
            break;
        case AccumulatorKind::bit_xor:
            atomicXor(words, part.low);
            break;
        default:
            break;
    }
}

// ---- floats -----------------------------------------------------------------------------------------------

// A float in digits: `first` is its lowest one among the accumulator's. A number that isn't finite has flags.
struct FloatDigits {
    std::uint64_t flags;
    std::int32_t first;
    long long piece[3];
};
// Returns false where the accumulator has no such digits.
__device__ inline bool find_digits(const AccumulatorView &accumulator, double value, FloatDigits *digits) {
    *digits = {sum_flags(value), 0, {0, 0, 0}};
    const FloatParts parts = split_float(value);
    if (digits->flags != 0 || parts.mantissa == 0) {
        return true;
    }
    const std::int32_t place = parts.exponent - least_digit_exponent;
    digits->first = place / static_cast<std::int32_t>(digit_bits) - accumulator.lowest_digit;
    if (digits->first < 0 || digits->first + 2 >= static_cast<std::int32_t>(accumulator.digits)) {
        return false;
    }
    const UInt128 number = static_cast<UInt128>(magnitude(parts.mantissa)) << (place % digit_bits);
    constexpr std::uint64_t mask = (std::uint64_t(1) << digit_bits) - 1;
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        const auto piece =
            static_cast<long long>(static_cast<std::uint64_t>(number >> (i * digit_bits)) & mask);
        digits->piece[i] = parts.mantissa < 0 ? -piece : piece;
    }
    return true;
}

template <Room room>
__device__ void add_digit(Word *word, long long piece) {
    if (piece == 0) {
        return;
    }
    if constexpr (room == Room::own) {
        *word += static_cast<Word>(piece);
    } else if constexpr (room == Room::block) {
        add_pieces(word, static_cast<Word>(piece), 0);
    } else {
        atomicAdd(word, static_cast<Word>(piece));
    }
}

template <Room room>
__device__ void add_float_row(const AccumulatorView &accumulator, Word *words, std::uint32_t stride,
                              double value, GroupFlags *flags) {
    FloatDigits digits;
    if (!find_digits(accumulator, value, &digits)) {
        flags->out_of_window = 1;
        return;
    }
    if (digits.flags != 0) {
        atomicOr(words, static_cast<Word>(digits.flags));
        return;
    }
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        add_digit<room>(words + (1 + digits.first + i) * stride, digits.piece[i]);
    }
}

// Adds a row of any kind. `state` are the words behind the key.
template <Room room>
__device__ __noinline__ void add_row(const AccumulatorView &accumulator, Word *state, std::uint32_t stride,
                                     Word low, Word high, GroupFlags *flags) {
    Word *words = state + accumulator.word * stride;
    const bool is_first = !accumulator.is_seen && mark_seen(state, stride, accumulator.bit);
    if (accumulator.kind == AccumulatorKind::any_value) {
        if (is_first) {
            words[0] = low;
            if (accumulator.type == ValueType::int128) {
                words[stride] = high;
            }
        }
    } else if (accumulator.kind == AccumulatorKind::sum_float) {
        add_float_row<room>(accumulator, words, stride, float_of_bits(low), flags);
    } else {
        add_part<room>(accumulator, words, stride, part_of(accumulator, low, high));
    }
}

// ---- finding groups ---------------------------------------------------------------------------------------

// For keys of one word: this key says that a slot is free. The group that has this very key lies behind all
// slots.
inline constexpr Word free_key = UINT64_MAX;
// For keys of several words, and in blocks: the state of a slot. All other states say that the key is there,
// and have bits of the key's hash, by which most keys are distinguished.
inline constexpr std::uint32_t slot_is_free = 0;
inline constexpr std::uint32_t slot_is_taken = 1;
inline constexpr std::uint32_t slot_has_key = 2;

GPU_ENGINE_BOTH std::uint32_t state_of_hash(std::uint64_t hash) {
    return static_cast<std::uint32_t>(hash >> 32) | slot_has_key;
}

// Finds or makes the record of a key of one word; null where the table is full.
__device__ inline Word *find_by_word(const GroupsView &groups, Word key, std::uint64_t hash) {
    if (key == free_key) {
        groups.flags->has_last = 1;
        return groups.record(groups.slots);
    }
    std::uint64_t slot = hash & (groups.slots - 1);
    for (std::uint32_t probe = 0; probe < groups.max_probes; ++probe) {
        Word *record = groups.record(slot);
        Word seen = __ldcg(record);
        if (seen == free_key) {
            seen = atomicCAS(record, free_key, key);
        }
        if (seen == key || seen == free_key) {
            return record;
        }
        slot = (slot + 1) & (groups.slots - 1);
    }
    groups.flags->full = 1;
    return nullptr;
}

// The same of a key of several words. `key_at(word)` is a word of the key. The thread that takes a slot
// writes the key at once, without waiting for others, so those that wait for the key don't wait long.
template <typename KeyAt>
__device__ Word *find_by_words(const GroupsView &groups, std::uint64_t hash, KeyAt key_at) {
    const std::uint32_t wanted = state_of_hash(hash);
    std::uint64_t slot = hash & (groups.slots - 1);
    for (std::uint32_t probe = 0; probe < groups.max_probes;) {
        Word *record = groups.record(slot);
        std::uint32_t state = *reinterpret_cast<volatile std::uint32_t *>(groups.states + slot);
        if (state == slot_is_free) {
            state = atomicCAS(groups.states + slot, slot_is_free, slot_is_taken);
            if (state == slot_is_free) {
                for (std::uint32_t word = 0; word < groups.key_words; ++word) {
                    __stcg(record + word, key_at(word));
                }
                __threadfence();
                atomicExch(groups.states + slot, wanted);
                return record;
            }
        }
        if (state == slot_is_taken) {
            continue;
        }
        if (state == wanted) {
            __threadfence();
            bool is_equal = true;
            for (std::uint32_t word = 0; word < groups.key_words; ++word) {
                is_equal &= __ldcg(record + word) == key_at(word);
            }
            if (is_equal) {
                return record;
            }
        }
        slot = (slot + 1) & (groups.slots - 1);
        ++probe;
    }
    groups.flags->full = 1;
    return nullptr;
}

template <typename KeyAt>
__device__ Word *find_record(const GroupsView &groups, std::uint64_t hash, KeyAt key_at) {
    return groups.key_words == 1 ? find_by_word(groups, key_at(0), hash)
                                 : find_by_words(groups, hash, key_at);
}

}  // namespace gpu_engine::query::on_device
