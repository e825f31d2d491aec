// Adding rows to groups: the kernel, and what it does for groups of each kind.
#pragma once

#include "device/column/aggregate/table.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {

// The places where rows are added.
enum class Way {
    one,          // one group: a warp adds its rows up first
    few,          // groups in shared memory
    present,      // a bit each in shared memory, where only matters whether a group has a row
    dense,        // in device memory, by number
    hashed,       // by a key of one word
    hashed_wide,  // by a key of several words
    list,         // each row is listed by itself
};

inline constexpr unsigned max_threads = 256;

// The groups that a block has in shared memory: word w of group g is at (g * words + w) * copies + copy. Of
// Way::present they have bits, of which `groups` is the number of words.
struct BlockTable {
    std::uint32_t groups;
    std::uint32_t copies;
    // A sum whose numbers have magnitudes below 2^half_bits fits 32 bits with its sign in any block.
    std::int32_t half_bits;
    // In shared memory the place of rows that wait: those that have passed the filter's first condition, if
    // that is tested first, or that are selected, if few may be.
    std::uint32_t waiting;
    bool tests_first;
    bool gathers_selected;

    __device__ bool is_half(const AccumulatorView &accumulator) const {
        return accumulator.is_narrow && accumulator.exponent <= half_bits;
    }
};

// The list of unresolved rows: records of key, values and TID.
struct ListView {
    Word *records;
    std::uint64_t capacity;
    std::uint32_t stride;
};

struct RowsView {
    const std::uint64_t *selected;
    std::uint64_t words;
};

// ---- one group --------------------------------------------------------------------------------------------

__device__ inline UInt128 shuffle_down(UInt128 number, int distance) {
    const Word low = __shfl_down_sync(UINT32_MAX, static_cast<Word>(number), distance);
    const Word high = __shfl_down_sync(UINT32_MAX, static_cast<Word>(number >> 64), distance);
    return wide_of_words(low, high);
}

// All lanes of a warp call it. `words` are the warp's own, and lie `copies` apart.
__device__ inline void add_to_one(RowComputer &rows, const AccumulatorView &accumulator, Word *words,
                                  std::uint32_t copies) {
    const RowComputer::Argument argument = rows.argument(accumulator);
    const bool is_first = threadIdx.x % 32 == 0;
    Word *word = words + static_cast<std::size_t>(accumulator.word) * copies;
    switch (accumulator.kind) {
        case AccumulatorKind::count: {
            const std::uint32_t count = sum_of_warp(__popc(argument.counted));
            if (is_first) {
                *word += count;
            }
            return;
        }
        case AccumulatorKind::sum:
        case AccumulatorKind::sum_squares:
        case AccumulatorKind::sum_float32:
        case AccumulatorKind::sum_float64: {
            if (accumulator.is_narrow) {
                Word narrow = 0;
#pragma unroll
                for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                    if ((argument.counted >> i & 1) != 0) {
                        narrow +=
                            static_cast<Word>(RowComputer::narrow_number(accumulator, argument.number[i]));
                    }
                }
                narrow = join_warp(narrow, [](Word a, Word b) { return a + b; });
                if (is_first) {
                    *word += narrow;
                }
                return;
            }
            UInt128 sum = 0;
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                if ((argument.counted >> i & 1) != 0) {
                    sum += rows.wide_number(accumulator, argument.number[i]);
                }
            }
            for (int distance = 16; distance > 0; distance /= 2) {
                sum += shuffle_down(sum, distance);
            }
            if (is_first) {
                sum += wide_of_words(word[0], word[copies]);
                word[0] = static_cast<Word>(sum);
                word[copies] = static_cast<Word>(sum >> 64);
            }
            return;
        }
        default: {
            const AccumulatorKind kind = accumulator.kind;
            Word joined = first_word(kind);
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                if ((argument.counted >> i & 1) != 0) {
                    joined = join_words(kind, joined, static_cast<Word>(argument.number[i]));
                }
            }
            joined = join_warp(joined, [kind](Word a, Word b) { return join_words(kind, a, b); });
            if (is_first) {
                *word = join_words(kind, *word, joined);
            }
        }
    }
}

// ---- groups in shared memory ------------------------------------------------------------------------------

__device__ inline void add_to_few(RowComputer &rows, const ProgramView &program, Word *table,
                                  const BlockTable &block) {
    const std::uint32_t copies = block.copies;
    std::uint32_t groups[rows_a_thread];
    rows.group_number(groups);
    // Places are those of words in shared memory.
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        groups[i] = groups[i] * program.value_words * copies + threadIdx.x % copies;
    }
    for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
        const AccumulatorView &accumulator = program.accumulators[a];
        const RowComputer::Argument argument = rows.argument(accumulator);
        Word *words = table + accumulator.word * copies;
        const auto for_counted = [&](auto add) {
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                if ((argument.counted >> i & 1) != 0) {
                    add(words + groups[i], argument.number[i]);
                }
            }
        };
        switch (accumulator.kind) {
            case AccumulatorKind::count:
                // 32 bits are enough, because a block has fewer than 2^32 rows.
                if (accumulator.is_presence) {
                    for_counted(
                        [](Word *word, long long) { *reinterpret_cast<volatile std::uint32_t *>(word) = 1; });
                } else {
                    for_counted([](Word *word, long long) {
                        atomicAdd(reinterpret_cast<std::uint32_t *>(word), 1U);
                    });
                }
                break;
            case AccumulatorKind::least:
                for_counted([](Word *word, long long number) {
                    atomicMin(reinterpret_cast<long long *>(word), number);
                });
                break;
            case AccumulatorKind::greatest:
                for_counted([](Word *word, long long number) {
                    atomicMax(reinterpret_cast<long long *>(word), number);
                });
                break;
            case AccumulatorKind::bits_and:
            case AccumulatorKind::bits_or:
            case AccumulatorKind::bits_xor:
                for_counted([&](Word *word, long long number) {
                    join_bits(accumulator.kind, word, static_cast<Word>(number));
                });
                break;
            default:
                if (!accumulator.is_narrow) {
                    for_counted([&](Word *word, long long number) {
                        add_wide_in_block(word, word + copies, rows.wide_number(accumulator, number));
                    });
                } else if (block.is_half(accumulator)) {
                    for_counted([&](Word *word, long long number) {
                        atomicAdd(
                            reinterpret_cast<std::uint32_t *>(word),
                            static_cast<std::uint32_t>(RowComputer::narrow_number(accumulator, number)));
                    });
                } else {
                    for_counted([&](Word *word, long long number) {
                        add_narrow_in_block(word, RowComputer::narrow_number(accumulator, number));
                    });
                }
        }
    }
}

// All threads of a block call these two functions.
__device__ inline void begin_block_table(const ProgramView &program, const BlockTable &block, Word *table) {
    const std::uint32_t places = block.groups * program.value_words * block.copies;
    for (std::uint32_t i = threadIdx.x; i < places; i += blockDim.x) {
        table[i] = 0;
    }
    __syncthreads();
    for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
        const Word first = first_word(program.accumulators[a].kind);
        for (std::uint32_t i = threadIdx.x; first != 0 && i < block.groups * block.copies; i += blockDim.x) {
            const std::uint32_t group = i / block.copies;
            table[(group * program.value_words + program.accumulators[a].word) * block.copies +
                  i % block.copies] = first;
        }
    }
    __syncthreads();
}

// Returns the value that a copy has of a sum or a count.
__device__ inline UInt128 sum_of_copy(const AccumulatorView &accumulator, const BlockTable &block,
                                      const Word *word) {
    if (!is_wide_sum(accumulator.kind)) {
        return *word;
    }
    if (!accumulator.is_narrow) {
        return wide_of_words(word[0], word[block.copies]);
    }
    const auto number =
        block.is_half(accumulator) ? static_cast<std::int32_t>(*word) : static_cast<long long>(*word);
    return wide_of_number(number);
}

// Adds the block's groups to the table. If there is one group its record becomes the result, so that sums in
// it are wide.
__device__ inline void finish_block_table(const ProgramView &program, const BlockTable &block,
                                          const Word *table, const TableView &groups) {
    __syncthreads();
    const std::uint32_t pairs = block.groups * program.accumulator_count;
    for (std::uint32_t i = threadIdx.x; i < pairs; i += blockDim.x) {
        const std::uint32_t group = i / program.accumulator_count;
        const AccumulatorView &accumulator = program.accumulators[i % program.accumulator_count];
        const Word *word = table + (group * program.value_words + accumulator.word) * block.copies;
        const bool is_joined = !is_wide_sum(accumulator.kind) && accumulator.kind != AccumulatorKind::count;
        UInt128 sum = 0;
        Word joined = first_word(accumulator.kind);
        for (std::uint32_t copy = 0; copy < block.copies; ++copy) {
            if (is_joined) {
                joined = join_words(accumulator.kind, joined, word[copy]);
            } else {
                sum += sum_of_copy(accumulator, block, word + copy);
            }
        }
        Word *to = groups.record(group) + accumulator.word;
        if (is_joined) {
            add_to_group(accumulator.kind, to, joined, 0);
        } else if (sum != 0 && accumulator.is_narrow && block.groups > 1) {
            atomicAdd(to, static_cast<Word>(sum));
        } else if (sum != 0) {
            add_to_group(accumulator.kind, to, static_cast<Word>(sum), static_cast<Word>(sum >> 64));
        }
    }
}

// ---- groups of which only matters whether they have a row -------------------------------------------------

// All threads of a block call begin_bits and finish_bits.
__device__ inline void begin_bits(const BlockTable &block, std::uint32_t *bits) {
    for (std::uint32_t i = threadIdx.x; i < block.groups; i += blockDim.x) {
        bits[i] = 0;
    }
    __syncthreads();
}

// Soon most rows find their group's bit set, and only look at it.
__device__ inline void set_bits(const RowComputer &rows, std::uint32_t *bits) {
    std::uint32_t groups[rows_a_thread];
    rows.group_number(groups);
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        const std::uint32_t bit = 1U << groups[i] % 32;
        std::uint32_t *word = bits + groups[i] / 32;
        if ((rows.active() >> i & 1) != 0 && (*static_cast<volatile std::uint32_t *>(word) & bit) == 0) {
            atomicOr(word, bit);
        }
    }
}

__device__ inline void finish_bits(const BlockTable &block, const std::uint32_t *bits, std::uint32_t *all) {
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < block.groups; i += blockDim.x) {
        const std::uint32_t added = bits[i] & ~__ldcg(all + i);
        if (added != 0) {
            atomicOr(all + i, added);
        }
    }
}

// ---- groups in device memory ------------------------------------------------------------------------------

// `records` has the record of each active row; it is null where the table is full.
__device__ inline void add_to_records(RowComputer &rows, const ProgramView &program, const TableView &table,
                                      Word *const *records) {
    for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
        const AccumulatorView &accumulator = program.accumulators[a];
        const RowComputer::Argument argument = rows.argument(accumulator);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((argument.counted >> i & 1) == 0 || records[i] == nullptr) {
                continue;
            }
            Word *word = records[i] + table.key_words + accumulator.word;
            if (accumulator.is_presence) {
                *word = 1;
            } else if (accumulator.is_narrow) {
                atomicAdd(word,
                          static_cast<Word>(RowComputer::narrow_number(accumulator, argument.number[i])));
            } else if (accumulator.kind == AccumulatorKind::count && accumulator.is_short) {
                // The upper half stays 0.
                atomicAdd(reinterpret_cast<std::uint32_t *>(word), 1U);
            } else if (accumulator.kind == AccumulatorKind::count) {
                atomicAdd(word, Word(1));
            } else if (accumulator.kind == AccumulatorKind::least) {
                join_least(word, argument.number[i]);
            } else if (accumulator.kind == AccumulatorKind::greatest) {
                join_greatest(word, argument.number[i]);
            } else if (!is_wide_sum(accumulator.kind)) {
                join_bits(accumulator.kind, word, static_cast<Word>(argument.number[i]));
            } else {
                add_wide_in_memory(word, word + 1, rows.wide_number(accumulator, argument.number[i]));
            }
        }
    }
}

template <Way way>
__device__ void find_records(RowComputer &rows, const TableView &table, Word *key_room, Word **records) {
    [[maybe_unused]] std::uint64_t keys[rows_a_thread];
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        records[i] = nullptr;
    }
    if constexpr (way == Way::hashed_wide) {
        // A thread reads the words of its own rows only.
        std::uint64_t hashes[rows_a_thread] = {};
        for (std::uint32_t word = 0; word < table.key_words; ++word) {
            rows.key_word(word, keys);
#pragma unroll
            for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
                key_room[(word * rows_a_thread + i) * blockDim.x + threadIdx.x] = keys[i];
                hashes[i] = mix_key(hashes[i], keys[i]);
            }
        }
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((rows.active() >> i & 1) != 0) {
                records[i] = find_record(table, hashes[i], [&](std::uint32_t word) {
                    return key_room[(word * rows_a_thread + i) * blockDim.x + threadIdx.x];
                });
            }
        }
    } else if constexpr (way == Way::dense) {
        std::uint32_t groups[rows_a_thread];
        rows.group_number(groups);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((rows.active() >> i & 1) != 0) {
                records[i] = table.record(groups[i]);
            }
        }
    } else {
        rows.key_word(0, keys);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((rows.active() >> i & 1) != 0) {
                records[i] = find_record(table, keys[i]);
            }
        }
    }
}

// ---- rows by themselves -----------------------------------------------------------------------------------

// All lanes of a warp call it. Rows that find no room are counted all the same.
__device__ inline void list_rows(RowComputer &rows, const ProgramView &program, const TableView &table,
                                 const ListView &list) {
    const std::uint32_t lane = threadIdx.x % 32;
    std::uint32_t before = 0;
    std::uint32_t all = 0;
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        const std::uint32_t active = __ballot_sync(UINT32_MAX, (rows.active() >> i & 1) != 0);
        before += __popc(active & ((1U << lane) - 1));
        all += __popc(active);
    }
    Word first = 0;
    if (lane == 0 && all > 0) {
        first = atomicAdd(&table.flags->unresolved, Word(all));
    }
    first = __shfl_sync(UINT32_MAX, first, 0) + before;
    Word *records[rows_a_thread];
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        records[i] = nullptr;
        if ((rows.active() >> i & 1) != 0) {
            records[i] = first < list.capacity ? list.records + first * list.stride : nullptr;
            ++first;
        }
    }
    // Words that belong to no accumulator are 0.
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        for (std::uint32_t word = program.key_words; records[i] != nullptr && word < list.stride; ++word) {
            records[i][word] = 0;
        }
    }
    for (std::uint32_t word = 0; word < program.key_words; ++word) {
        std::uint64_t keys[rows_a_thread];
        rows.key_word(word, keys);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if (records[i] != nullptr) {
                records[i][word] = keys[i];
            }
        }
    }
    for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
        const AccumulatorView &accumulator = program.accumulators[a];
        const RowComputer::Argument argument = rows.argument(accumulator);
        const bool is_sum = is_wide_sum(accumulator.kind);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if (records[i] == nullptr) {
                continue;
            }
            const bool counts = (argument.counted >> i & 1) != 0;
            UInt128 number = first_word(accumulator.kind);
            if (counts) {
                number = accumulator.kind == AccumulatorKind::count ? UInt128(1)
                         : is_sum ? rows.wide_number(accumulator, argument.number[i])
                                  : wide_of_number(argument.number[i]);
            }
            Word *word = records[i] + program.key_words + accumulator.word;
            word[0] = static_cast<Word>(number);
            if (is_sum) {
                word[1] = static_cast<Word>(number >> 64);
            }
        }
    }
    // The TID is written last, because a count of all rows that was added to the program has the same place.
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        if (records[i] != nullptr) {
            records[i][list.stride - 1] = rows.place(i);
        }
    }
}

// ---- rows that are gathered -------------------------------------------------------------------------------

// A warp's rows that wait until there are enough of them for all of its threads. It has its part of the
// block's shared memory; all of its lanes call the same functions together.
class PendingRows {
  public:
    // Less than what a warp takes at a time wait before others are added.
    static constexpr std::uint32_t room = 2 * rows_a_warp;

    __device__ explicit PendingRows(std::uint32_t *rooms) : rows_(rooms + threadIdx.x / 32 * room) {}

    __device__ std::uint32_t count() const { return count_; }
    // Is the first condition to be asked by itself?
    __device__ bool are_wanted() {
        if (pause_ == 0) {
            return true;
        }
        --pause_;
        return false;
    }
    // Takes those of `before` that are still active. False: nearly all of them are, so that the warp goes on
    // with them at once, and doesn't ask for a while.
    __device__ bool take(const RowComputer &rows, std::uint64_t first, std::uint32_t before) {
        std::uint32_t all = 0;
        std::uint32_t passed[rows_a_thread];
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            all += __popc(__ballot_sync(UINT32_MAX, (before >> i & 1) != 0));
            passed[i] = __ballot_sync(UINT32_MAX, (rows.active() >> i & 1) != 0);
        }
        if (!are_few(passed, all)) {
            pause_ = pause;
            return false;
        }
        add(first, passed);
        return true;
    }
    // Takes a selection's rows. False: nearly all rows are selected.
    __device__ bool take_selected(std::uint64_t first, const std::uint32_t *bits) {
        if (!are_few(bits, rows_a_warp)) {
            return false;
        }
        add(first, bits);
        return true;
    }
    // Gives `rows` the last ones, as many as it can have.
    __device__ void give(RowComputer *rows) {
        const std::uint32_t given = count_ < rows_a_warp ? count_ : rows_a_warp;
        count_ -= given;
        __syncwarp();
        rows->take_listed(rows_ + count_, given);
        __syncwarp();
    }

  private:
    static constexpr std::uint32_t pause = 31;

    // Is it worth while to gather the rows of these words, of so many?
    __device__ static bool are_few(const std::uint32_t *bits, std::uint32_t all) {
        std::uint32_t rows = 0;
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            rows += __popc(bits[i]);
        }
        return 4 * rows <= 3 * all;
    }
    __device__ void add(std::uint64_t first, const std::uint32_t *bits) {
        const std::uint32_t lane = threadIdx.x % 32;
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            if ((bits[i] >> lane & 1) != 0) {
                rows_[count_ + __popc(bits[i] & ((1U << lane) - 1))] =
                    static_cast<std::uint32_t>(first + i * 32 + lane);
            }
            count_ += __popc(bits[i]);
        }
    }

    std::uint32_t *rows_;
    std::uint32_t count_ = 0;
    std::uint32_t pause_ = 0;
};

// ---- the kernel -------------------------------------------------------------------------------------------

template <Way way>
__global__ void __launch_bounds__(max_threads)
    aggregate_kernel(const __grid_constant__ ProgramView program, const __grid_constant__ SpansView places,
                     RowsView selected, const __grid_constant__ TableView table, BlockTable block,
                     ListView list) {
    extern __shared__ long long shared[];
    // Behind the slots lie the block's groups, or the keys of its rows, and then rows that wait.
    auto *room =
        reinterpret_cast<Word *>(reinterpret_cast<char *>(shared) + static_cast<std::size_t>(program.slots) *
                                                                        blockDim.x * RowComputer::slot_bytes);
    RowComputer rows(program, places, shared);
    const std::uint32_t lane = threadIdx.x % 32;
    if constexpr (way == Way::one || way == Way::few) {
        begin_block_table(program, block, room);
    } else if constexpr (way == Way::present) {
        begin_bits(block, reinterpret_cast<std::uint32_t *>(room));
    }
    WarpWords words(selected.selected, selected.words, 1);
    PendingRows waiting(reinterpret_cast<std::uint32_t *>(reinterpret_cast<char *>(shared) + block.waiting));
    for (;;) {
        if constexpr (way == Way::hashed || way == Way::hashed_wide) {
            // A table that is too small will be thrown away, so nothing is added to it any more.
            if (__any_sync(UINT32_MAX, *static_cast<volatile std::uint32_t *>(&table.flags->full) != 0)) {
                break;
            }
        }
        std::uint64_t first = 0;
        std::uint32_t bits[words_a_warp];
        std::uint32_t active = 0;
        std::uint32_t stage = filter_stage;
        if (waiting.count() < rows_a_warp && words.next(&first, bits)) {
            if (block.gathers_selected && waiting.take_selected(first, bits)) {
                continue;
            }
            active = rows_of_lane(bits);
            rows.take(first + lane, active);
            stage = block.tests_first && waiting.are_wanted() ? first_stage : filter_stage;
        } else if (waiting.count() > 0) {
            waiting.give(&rows);
        } else {
            break;
        }
        bool wait = false;
#pragma unroll 1
        for (; stage < stages && !wait; ++stage) {
            rows.run(program.stage[stage]);
            if (stage == first_stage) {
                wait = waiting.take(rows, first, active);
            }
        }
        if (wait) {
            continue;
        }
        if constexpr (way == Way::one) {
            for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
                add_to_one(rows, program.accumulators[a], room + threadIdx.x / 32, block.copies);
            }
        } else if constexpr (way == Way::few) {
            add_to_few(rows, program, room, block);
        } else if constexpr (way == Way::present) {
            set_bits(rows, reinterpret_cast<std::uint32_t *>(room));
        } else if constexpr (way == Way::list) {
            list_rows(rows, program, table, list);
        } else {
            Word *records[rows_a_thread];
            find_records<way>(rows, table, room, records);
            add_to_records(rows, program, table, records);
        }
    }
    if (rows.has_failed()) {
        table.flags->failed = 1;
    }
    if constexpr (way == Way::one || way == Way::few) {
        finish_block_table(program, block, room, table);
    } else if constexpr (way == Way::present) {
        finish_bits(block, reinterpret_cast<const std::uint32_t *>(room), table.present);
    }
}

}  // namespace gpu_engine::device
