// Groups that a block has in front of all groups, and what the kernel that adds rows to them takes.
#pragma once

#include "device/query/groups.cuh"

namespace gpu_engine::query::on_device {

// What a pass over the rows is for.
enum class Pass : std::uint32_t {
    add,    // to their groups
    spans,  // find the places of floats
    list,   // the values of an ordered accumulator, with the slots of their groups
};

// Groups that a block has in its shared memory, in front of all groups: word w of the state of slot s is at
// (s * state_words + w) * copies + copy. Rows whose key has no place there go to all groups.
struct FrontView {
    std::uint32_t slots;  // a power of two; 0: none
    std::uint32_t copies;
    std::uint32_t at;  // bytes of shared memory before it
};

// The lowest and the highest digit that a float of an accumulator has.
struct DigitSpan {
    int low;
    int high;
};

struct ListedValues {
    std::uint32_t accumulator;
    Word *slots;
    Word *low;   // words that compare as the values do
    Word *high;  // of int128 only
    Word *count;
};

struct AggregateView {
    ProgramView program;
    SourceView source;
    GroupsView groups;
    FrontView front;
    Pass pass;
    const KeyView *keys;
    std::uint32_t key_count;
    std::uint32_t key_slot;  // the first of the slots that take the words of a row's key
    bool has_null_word;      // the key's first word has a bit for each NULL
    const AccumulatorView *accumulators;
    std::uint32_t accumulator_count;
    std::uint32_t state_words;
    const Word *initial;  // the state of a group without rows
    Word *counts;         // by accumulator: how many values an ordered one has
    DigitSpan *spans;
    ListedValues listed;
    std::uint64_t *scratch;  // slots in device memory; null: in shared memory
};

// ---- groups in front --------------------------------------------------------------------------------------

struct Front {
    std::uint32_t *states;
    Word *keys;
    Word *words;

    __device__ Front(const AggregateView &view, std::uint64_t *shared) {
        auto *at = reinterpret_cast<char *>(shared) + view.front.at;
        words = reinterpret_cast<Word *>(at);
        keys = words + static_cast<std::size_t>(view.front.slots) * view.state_words * view.front.copies;
        states = reinterpret_cast<std::uint32_t *>(keys + static_cast<std::size_t>(view.front.slots) *
                                                              view.groups.key_words);
    }
    __device__ Word *state(const AggregateView &view, std::uint32_t slot, std::uint32_t copy) const {
        return words + static_cast<std::size_t>(slot) * view.state_words * view.front.copies + copy;
    }
};
inline std::size_t front_bytes(std::uint32_t slots, std::uint32_t copies, std::uint32_t state_words,
                               std::uint32_t key_words) {
    return static_cast<std::size_t>(slots) *
           ((static_cast<std::size_t>(state_words) * copies + key_words) * sizeof(Word) +
            sizeof(std::uint32_t));
}

// All threads of a block call it.
__device__ inline void begin_front(const AggregateView &view, const Front &front) {
    const std::uint32_t words = view.front.slots * view.state_words * view.front.copies;
    for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x) {
        front.words[i] = view.initial[i / view.front.copies % view.state_words];
    }
    for (std::uint32_t i = threadIdx.x; i < view.front.slots; i += blockDim.x) {
        front.states[i] = slot_is_free;
    }
    __syncthreads();
}

inline constexpr std::uint32_t front_probes = 8;
inline constexpr std::uint32_t no_slot = UINT32_MAX;

template <typename KeyAt>
__device__ std::uint32_t find_in_front(const AggregateView &view, const Front &front, std::uint64_t hash,
                                       KeyAt key_at) {
    const std::uint32_t wanted = state_of_hash(hash);
    const std::uint32_t words = view.groups.key_words;
    std::uint32_t slot = static_cast<std::uint32_t>(hash) & (view.front.slots - 1);
    for (std::uint32_t probe = 0; probe < front_probes;) {
        volatile Word *key = front.keys + static_cast<std::size_t>(slot) * words;
        std::uint32_t state = *static_cast<volatile std::uint32_t *>(front.states + slot);
        if (state == slot_is_free) {
            state = atomicCAS(front.states + slot, slot_is_free, slot_is_taken);
            if (state == slot_is_free) {
                for (std::uint32_t word = 0; word < words; ++word) {
                    key[word] = key_at(word);
                }
                __threadfence_block();
                atomicExch(front.states + slot, wanted);
                return slot;
            }
        }
        if (state == slot_is_taken) {
            continue;
        }
        if (state == wanted) {
            __threadfence_block();
            bool is_equal = true;
            for (std::uint32_t word = 0; word < words; ++word) {
                is_equal &= key[word] == key_at(word);
            }
            if (is_equal) {
                return slot;
            }
        }
        slot = (slot + 1) & (view.front.slots - 1);
        ++probe;
    }
    return no_slot;
}

// Adds an accumulator's words of a copy of a group in front, `from`, to another's.
template <Room room>
__device__ void join_states(const AggregateView &view, const AccumulatorView &accumulator, Word *state,
                            std::uint32_t state_stride, const Word *copy) {
    const std::uint32_t stride = view.front.copies;
    const Word *from = copy + accumulator.word * stride;
    Word *to = state + accumulator.word * state_stride;
    bool is_first = false;
    if (!accumulator.is_seen) {
        if ((copy[accumulator.bit / 64 * stride] >> (accumulator.bit % 64) & 1) == 0) {
            return;
        }
        is_first = mark_seen(state, state_stride, accumulator.bit);
    }
    switch (accumulator.kind) {
        case AccumulatorKind::any_value:
            if (is_first) {
                to[0] = from[0];
                if (accumulator.type == ValueType::int128) {
                    to[state_stride] = from[stride];
                }
            }
            break;
        case AccumulatorKind::sum_float:
            if (from[0] != 0) {
                atomicOr(to, from[0]);
            }
            for (std::uint32_t digit = 1; digit <= accumulator.digits; ++digit) {
                add_digit<room>(to + digit * state_stride, static_cast<long long>(from[digit * stride]));
            }
            break;
        default: {
            const bool is_wide = accumulator.type == ValueType::int128;
            const bool is_extreme =
                accumulator.kind == AccumulatorKind::least || accumulator.kind == AccumulatorKind::greatest;
            // A count has one word, whatever it counts.
            const bool has_high = accumulator.kind == AccumulatorKind::sum || (is_wide && is_extreme);
            Part part = {from[0], has_high ? from[stride] : 0, 0};
            if (is_wide && accumulator.kind == AccumulatorKind::sum) {
                part.top =
                    static_cast<Word>(static_cast<long long>(static_cast<std::int32_t>(from[2 * stride])));
            }
            add_part<room>(accumulator, to, state_stride, part);
        }
    }
}

// Calls visit(slot, accumulator, copy) for those that have something to be joined, the block's threads side
// by side.
template <typename Visit>
__device__ void for_states(const AggregateView &view, const Front &front, std::uint32_t copies, Visit visit) {
    const std::uint32_t parts = view.front.slots * view.accumulator_count * copies;
    for (std::uint32_t i = threadIdx.x; i < parts; i += blockDim.x) {
        const std::uint32_t slot = i / copies / view.accumulator_count;
        const AccumulatorView &accumulator = view.accumulators[i / copies % view.accumulator_count];
        const bool has_rows = view.groups.slots == 0 || front.states[slot] != slot_is_free;
        if (has_rows && !accumulator.is_ordered && !accumulator.is_shared) {
            visit(slot, accumulator, i % copies);
        }
    }
}

// Adds a block's groups to all groups. All threads of the block call it.
__device__ inline void finish_front(const AggregateView &view, const Front &front) {
    __syncthreads();
    const GroupsView &groups = view.groups;
    // The key of a group is replaced by the place of its record.
    for (std::uint32_t slot = threadIdx.x; groups.slots > 0 && slot < view.front.slots; slot += blockDim.x) {
        if (front.states[slot] != slot_is_free) {
            Word *key = front.keys + static_cast<std::size_t>(slot) * groups.key_words;
            std::uint64_t hash = 0;
            for (std::uint32_t word = 0; word < groups.key_words; ++word) {
                hash = mix_key(hash, key[word]);
            }
            const Word *record = find_record(groups, hash, [&](std::uint32_t word) { return key[word]; });
            key[0] = reinterpret_cast<Word>(record);
        }
    }
    // Copies are joined in pairs, and the last one with the record.
    for (std::uint32_t copies = view.front.copies / 2; copies > 0; copies /= 2) {
        __syncthreads();
        for_states(view, front, copies,
                   [&](std::uint32_t slot, const AccumulatorView &accumulator, std::uint32_t copy) {
                       join_states<Room::own>(view, accumulator, front.state(view, slot, copy),
                                              view.front.copies, front.state(view, slot, copy + copies));
                   });
    }
    __syncthreads();
    for_states(
        view, front, 1, [&](std::uint32_t slot, const AccumulatorView &accumulator, std::uint32_t copy) {
            Word *record =
                groups.slots == 0
                    ? groups.records
                    : reinterpret_cast<Word *>(front.keys[static_cast<std::size_t>(slot) * groups.key_words]);
            if (record != nullptr) {
                join_states<Room::device>(view, accumulator, record + groups.key_words, 1,
                                          front.state(view, slot, copy));
            }
        });
}

}  // namespace gpu_engine::query::on_device
