// Groups that come first are chosen by their ranks: those are counted in slots between the least one and the
// greatest, and the groups of the slots that hold enough of the greatest ones are listed. The others, which
// can be millions, are only looked at.
#include "device/column/aggregate/groups.cuh"

#include <algorithm>

namespace gpu_engine::device {
namespace {

constexpr std::uint32_t rank_slots = 4096;
constexpr int slot_threads = 1024;

// A survey finds this out about the groups of a table before they are listed.
struct Survey {
    Word groups;
    Word listed;
    long long least;  // ranks
    long long greatest;
    long long last;  // groups of lower ranks don't come first
    Word kept;       // groups that are left
    std::uint32_t slots[rank_slots];
};

// A rank's slot. The difference is at most 2^64 - 1.
struct RankScale {
    std::uint32_t shift;

    __device__ explicit RankScale(const Survey &survey) {
        const Word range = static_cast<Word>(survey.greatest) - static_cast<Word>(survey.least);
        const int bits = 64 - __clzll(static_cast<long long>(range));
        shift = bits > 12 ? bits - 12 : 0;
    }
    __device__ std::uint32_t slot(const Survey &survey, long long rank) const {
        return static_cast<std::uint32_t>((static_cast<Word>(rank) - static_cast<Word>(survey.least)) >>
                                          shift);
    }
};
static_assert(rank_slots == 1 << 12);

// The rank by a word that isn't the key's.
struct Ranker {
    AggregateTop top;
    std::uint32_t word;  // place of the word in the table's record
    bool is_narrow;      // has an upper half, but not in the table

    __device__ long long operator()(const FilledTable &filled, std::uint64_t slot) const {
        const Word *record = filled.table.record(slot) + word;
        const Word high = top.is_wide == 0 ? 0 : is_narrow ? sign_of(record[0]) : record[1];
        return rank_in_order(top, record[0], high);
    }
};

// Adds what each thread has counted.
__device__ void add_to_count(Word count, Survey *survey) {
    count = join_warp(count, [](Word a, Word b) { return a + b; });
    if (threadIdx.x % 32 == 0 && count != 0) {
        atomicAdd(&survey->groups, count);
    }
}

__global__ void count_kernel(FilledTable filled, Survey *survey) {
    Word count = 0;
    for_groups(filled, [&](std::uint64_t) { ++count; });
    add_to_count(count, survey);
}

struct KeysView {
    GroupKey key[max_aggregate_keys];
    std::uint32_t count;
};

// Counts the groups as well. `marks` has max_aggregate_keys * key_mark_words * 2 words of 32 bits, those of
// KeyMarks.
__global__ void mark_kernel(FilledTable filled, const __grid_constant__ KeysView keys, std::uint32_t *marks,
                            Survey *survey) {
    constexpr std::uint32_t words_a_key = 2 * key_mark_words;
    __shared__ std::uint32_t own[max_aggregate_keys * words_a_key];
    for (std::uint32_t i = threadIdx.x; i < keys.count * words_a_key; i += blockDim.x) {
        own[i] = 0;
    }
    __syncthreads();
    Word count = 0;
    for_groups(filled, [&](std::uint64_t slot) {
        ++count;
        for (std::uint32_t k = 0; k < keys.count; ++k) {
            const std::uint32_t span = span_of_group(filled, keys.key[k], slot);
            std::uint32_t *word = own + k * words_a_key + span / 32;
            const std::uint32_t bit = 1U << span % 32;
            // Most spans have been marked by an earlier group.
            if ((*static_cast<volatile std::uint32_t *>(word) & bit) == 0) {
                atomicOr(word, bit);
            }
        }
    });
    add_to_count(count, survey);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < keys.count * words_a_key; i += blockDim.x) {
        if ((own[i] & ~*static_cast<volatile std::uint32_t *>(marks + i)) != 0) {
            atomicOr(marks + i, own[i]);
        }
    }
}

__global__ void begin_ranks_kernel(Survey *survey) {
    survey->least = INT64_MAX;
    survey->greatest = INT64_MIN;
}

__global__ void find_bounds_kernel(FilledTable filled, Ranker ranker, Survey *survey) {
    Word count = 0;
    auto least = static_cast<Word>(INT64_MAX);
    auto greatest = static_cast<Word>(INT64_MIN);
    for_groups(filled, [&](std::uint64_t slot) {
        const auto rank = static_cast<Word>(ranker(filled, slot));
        ++count;
        least = join_words(AccumulatorKind::least, least, rank);
        greatest = join_words(AccumulatorKind::greatest, greatest, rank);
    });
    add_to_count(count, survey);
    least = join_warp(least, [](Word a, Word b) { return join_words(AccumulatorKind::least, a, b); });
    greatest =
        join_warp(greatest, [](Word a, Word b) { return join_words(AccumulatorKind::greatest, a, b); });
    if (threadIdx.x % 32 == 0) {
        atomicMin(&survey->least, static_cast<long long>(least));
        atomicMax(&survey->greatest, static_cast<long long>(greatest));
    }
}

__global__ void count_ranks_kernel(FilledTable filled, Ranker ranker, Survey *survey) {
    __shared__ std::uint32_t counts[rank_slots];
    for (std::uint32_t i = threadIdx.x; i < rank_slots; i += blockDim.x) {
        counts[i] = 0;
    }
    __syncthreads();
    const RankScale scale(*survey);
    for_groups(filled, [&](std::uint64_t slot) {
        atomicAdd(&counts[scale.slot(*survey, ranker(filled, slot))], 1U);
    });
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < rank_slots; i += blockDim.x) {
        if (counts[i] != 0) {
            atomicAdd(&survey->slots[i], counts[i]);
        }
    }
}

// Finds the slot from which on there are at least `wanted` groups. One block; each thread has four slots.
__global__ void __launch_bounds__(slot_threads) choose_last_kernel(Word wanted, Survey *survey) {
    constexpr std::uint32_t own = rank_slots / slot_threads;
    __shared__ Word sums[slot_threads];
    // The first thread has the greatest slots.
    const std::uint32_t end = rank_slots - threadIdx.x * own;
    Word sum = 0;
    for (std::uint32_t i = 0; i < own; ++i) {
        sum += survey->slots[end - 1 - i];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (std::uint32_t distance = 1; distance < slot_threads; distance *= 2) {
        const Word before = threadIdx.x >= distance ? sums[threadIdx.x - distance] : 0;
        __syncthreads();
        sums[threadIdx.x] += before;
        __syncthreads();
    }
    Word kept = sums[threadIdx.x] - sum;
    if (kept >= wanted || sums[threadIdx.x] < wanted) {
        return;
    }
    std::uint32_t slot = end;
    while (kept < wanted) {
        kept += survey->slots[--slot];
    }
    const RankScale scale(*survey);
    survey->last =
        static_cast<long long>(static_cast<Word>(survey->least) + (static_cast<Word>(slot) << scale.shift));
    survey->kept = kept;
}

// Writes the words of the key of a dense group.
__device__ void write_key(const ProgramView &program, std::uint64_t number, Word *words) {
    for (std::uint32_t k = 0; k < program.key_count; ++k) {
        const KeyView &view = program.keys[k];
        const std::uint64_t code = number / view.factor % view.codes;
        if (view.key.bits > 0) {
            words[view.key.word] |= code << view.key.shift;
        }
    }
}

__device__ void write_group(const FilledTable &filled, const ProgramView &program, std::uint64_t slot,
                            Word *group) {
    const Word *record = filled.table.record(slot);
    if (filled.table.key_words == 0) {
        for (std::uint32_t word = 0; word < filled.key_words; ++word) {
            group[word] = 0;
        }
        write_key(program, slot, group);
    } else {
        for (std::uint32_t word = 0; word < filled.key_words; ++word) {
            group[word] = record[word];
        }
        record += filled.key_words;
    }
    group += filled.key_words;
    for (std::uint32_t word = 0; word < filled.words - filled.key_words; ++word) {
        group[word] = record[word];
    }
    for (std::uint32_t a = 0; a < program.accumulator_count; ++a) {
        if (program.accumulators[a].is_narrow) {
            const std::uint32_t word = program.accumulators[a].word;
            group[word + 1] = sign_of(record[word]);
        }
    }
}

// Lists the groups for which wanted(slot) holds, one behind the other, `room` at most. A block takes places
// for all that it finds in a step at once, since there is one number by which places are given out.
template <typename Wanted>
__device__ void list_wanted(const FilledTable &filled, const ProgramView &program, Survey *survey,
                            Word *groups, Word room, Wanted wanted) {
    // There are numbers of this step and of the last one, which some warps may still be reading.
    __shared__ std::uint32_t found[2][warps_a_block];
    __shared__ Word first;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint64_t step = static_cast<std::uint64_t>(gridDim.x) * threads_a_block;
    std::uint32_t turn = 0;
    // A block's threads go on together, since they wait for each other.
    for (std::uint64_t begin = static_cast<std::uint64_t>(blockIdx.x) * threads_a_block;
         begin < filled.records; begin += step) {
        turn ^= 1;
        const std::uint64_t slot = begin + threadIdx.x;
        const bool is_one = slot < filled.records && is_group(filled, slot) && wanted(slot);
        const std::uint32_t ones = __ballot_sync(UINT32_MAX, is_one);
        if (lane == 0) {
            found[turn][warp] = __popc(ones);
        }
        const int all = __syncthreads_count(is_one);
        if (all == 0) {
            continue;
        }
        if (threadIdx.x == 0) {
            first = atomicAdd(&survey->listed, static_cast<Word>(all));
        }
        __syncthreads();
        Word place = first + __popc(ones & ((1U << lane) - 1));
        for (std::uint32_t before = 0; before < warp; ++before) {
            place += found[turn][before];
        }
        if (is_one && place < room) {
            write_group(filled, program, slot, groups + place * filled.words);
        }
    }
}

__global__ void list_kernel(FilledTable filled, const __grid_constant__ ProgramView program, Survey *survey,
                            Word *groups, Word room) {
    list_wanted(filled, program, survey, groups, room, [](std::uint64_t) { return true; });
}
__global__ void list_first_kernel(FilledTable filled, const __grid_constant__ ProgramView program,
                                  Ranker ranker, Survey *survey, Word *groups, Word room) {
    const long long last = survey->last;
    list_wanted(filled, program, survey, groups, room,
                [&](std::uint64_t slot) { return ranker(filled, slot) >= last; });
}

unsigned blocks_of(const Call &call, const FilledTable &filled) {
    const std::uint64_t most = static_cast<std::uint64_t>(call.engine().multiprocessors()) * 16;
    return static_cast<unsigned>(
        std::max<std::uint64_t>(1, std::min(most, (filled.records + threads_a_block - 1) / threads_a_block)));
}

Buffer<Survey> begin_survey(const Call &call) {
    Buffer<Survey> survey = call.buffer<Survey>(1);
    call.fill(survey.data(), 0, sizeof(Survey));
    return survey;
}

// Lists groups, of which there is room for so many.
Buffer<std::uint64_t> list_all(const Call &call, const FilledTable &filled, const ProgramView &program,
                               std::uint64_t room, const Buffer<Survey> &survey) {
    Buffer<std::uint64_t> listed =
        call.buffer<std::uint64_t>(std::max<std::uint64_t>(1, room * filled.words));
    list_kernel<<<blocks_of(call, filled), threads_a_block, 0, call.stream()>>>(
        filled, program, survey.data(), reinterpret_cast<Word *>(listed.data()), room);
    check_launch("list_kernel");
    return listed;
}

// Reads numbers of the survey. Waits.
std::uint64_t read_number(const Call &call, const Word *number) {
    call.copy(const_cast<std::uint64_t *>(call.result()), reinterpret_cast<const std::uint64_t *>(number), 1);
    call.wait();
    return *call.result();
}

}  // namespace

void count_groups_later(const Call &call, const FilledTable &filled, volatile std::uint64_t *number) {
    const Buffer<Survey> survey = begin_survey(call);
    count_kernel<<<blocks_of(call, filled), threads_a_block, 0, call.stream()>>>(filled, survey.data());
    check_launch("count_kernel");
    call.copy(const_cast<std::uint64_t *>(number),
              reinterpret_cast<const std::uint64_t *>(&survey.data()->groups), 1);
}

void mark_groups_later(const Call &call, const FilledTable &filled, const AggregateProgram &program,
                       KeyMarks *marks, volatile std::uint64_t *number) {
    const Buffer<Survey> survey = begin_survey(call);
    call.fill(marks, 0, sizeof(KeyMarks));
    KeysView keys = {};
    keys.count = program.key_count;
    for (std::uint32_t k = 0; k < program.key_count; ++k) {
        keys.key[k] = key_of(program, k);
    }
    mark_kernel<<<blocks_of(call, filled), threads_a_block, 0, call.stream()>>>(
        filled, keys, reinterpret_cast<std::uint32_t *>(marks), survey.data());
    check_launch("mark_kernel");
    call.copy(const_cast<std::uint64_t *>(number),
              reinterpret_cast<const std::uint64_t *>(&survey.data()->groups), 1);
}

GroupKey key_of(const AggregateProgram &program, std::uint32_t number) {
    // Groups that aren't dense use neither number, and there the numbers may not fit.
    std::uint64_t factor = 1;
    for (std::uint32_t k = 0; k < number; ++k) {
        factor *= AggregatePlan::codes_of(program.key[k]);
    }
    return {program.key[number], static_cast<std::uint32_t>(factor),
            static_cast<std::uint32_t>(AggregatePlan::codes_of(program.key[number]))};
}

std::uint64_t count_groups(const Call &call, const FilledTable &filled) {
    count_groups_later(call, filled, call.result());
    call.wait();
    return *call.result();
}

Buffer<std::uint64_t> list_groups(const Call &call, const FilledTable &filled, const ProgramView &program,
                                  std::uint64_t groups) {
    const Buffer<Survey> survey = begin_survey(call);
    return list_all(call, filled, program, groups, survey);
}

Buffer<std::uint64_t> list_small_table(const Call &call, const FilledTable &filled,
                                       const ProgramView &program, volatile std::uint64_t *number) {
    const Buffer<Survey> survey = begin_survey(call);
    Buffer<std::uint64_t> listed = list_all(call, filled, program, filled.records, survey);
    call.copy(const_cast<std::uint64_t *>(number),
              reinterpret_cast<const std::uint64_t *>(&survey.data()->listed), 1);
    return listed;
}

Buffer<std::uint64_t> list_first_groups(const Call &call, const FilledTable &filled,
                                        const ProgramView &program, const AggregateTop &top, bool is_narrow,
                                        std::uint64_t *groups) {
    if (top.word < filled.key_words) {
        *groups = count_groups(call, filled);
        return list_groups(call, filled, program, *groups);
    }
    const Ranker ranker = {top, top.word - filled.key_words + filled.table.key_words, is_narrow};
    const Buffer<Survey> survey = begin_survey(call);
    const unsigned blocks = blocks_of(call, filled);
    begin_ranks_kernel<<<1, 1, 0, call.stream()>>>(survey.data());
    check_launch("begin_ranks_kernel");
    find_bounds_kernel<<<blocks, threads_a_block, 0, call.stream()>>>(filled, ranker, survey.data());
    check_launch("find_bounds_kernel");
    count_ranks_kernel<<<blocks, threads_a_block, 0, call.stream()>>>(filled, ranker, survey.data());
    check_launch("count_ranks_kernel");
    choose_last_kernel<<<1, slot_threads, 0, call.stream()>>>(top.count, survey.data());
    check_launch("choose_last_kernel");
    const std::uint64_t kept = read_number(call, &survey.data()->kept);
    if (kept == 0) {
        // There are no more groups than are wanted.
        *groups = read_number(call, &survey.data()->groups);
        return list_groups(call, filled, program, *groups);
    }
    *groups = kept;
    Buffer<std::uint64_t> listed = call.buffer<std::uint64_t>(kept * filled.words);
    list_first_kernel<<<blocks, threads_a_block, 0, call.stream()>>>(
        filled, program, ranker, survey.data(), reinterpret_cast<Word *>(listed.data()), kept);
    check_launch("list_first_kernel");
    return listed;
}

}  // namespace gpu_engine::device
