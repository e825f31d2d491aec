// The form that both engines give a request about groups before they answer it.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_engine/aggregate_sums.h"
#include "gpu_engine/both.h"
#include "gpu_engine/column.h"

namespace gpu_engine {

// A condition that a row must pass, and what it is computed from.
struct AggregateCondition {
    std::uint16_t step;
    std::vector<std::uint16_t> steps;
};

// Steps in the order in which they are computed. Steps that nothing needs are in neither list.
struct AggregateSteps {
    std::vector<std::uint16_t> filter;           // the steps that the program's filter needs, of all rows
    std::vector<AggregateCondition> conditions;  // the filter, condition by condition (list_conditions)
    // The steps that the first key needs, where it keeps rows out.
    std::vector<std::uint16_t> first;
    // The steps that keys and accumulators need, of rows that pass.
    std::vector<std::uint16_t> rest;
};

// A request's program and inputs, read once: the caller's memory may change meanwhile.
struct AggregatePlan {
    AggregateProgram program;
    AggregateSteps steps;
    // Inputs of all parts: those of part p begin at p * program.input_count.
    std::vector<AggregateInput> inputs;
    std::uint64_t rows = 0;  // rows of all parts, those of other engines too

    const AggregateInput *inputs_of(std::size_t part) const {
        return inputs.data() + part * program.input_count;
    }
    std::uint32_t record_words() const { return program.key_words + program.value_words; }
    // Returns how many bits the keys of one word have: 0 without keys, 64 when there are more words.
    std::uint32_t key_bits() const;
    // Returns how many codes a key has; UINT64_MAX also where there is one more.
    static std::uint64_t codes_of(const AggregateKey &key);
    // Returns the most groups there can be: the product of all keys' codes, or UINT64_MAX where that is
    // greater.
    std::uint64_t max_groups() const;
};

inline bool wants_only_counts(const AggregateTop &top) {
    return top.of_rows == top_only_counts && top.count == 0;
}
inline bool wants_only_counts(const AggregateRequest &request) {
    return wants_only_counts(request.top);
}

// Throws Failure (invalid_argument) where all groups are wanted, so that none may be left out.
void check_leaving(const AggregateProgram &program, const AggregateTop &top);

// Throws Failure (invalid_argument) where groups can't be in such an order.
void check_top(const AggregateProgram &program, const AggregateTop &top);

// Throws Failure (invalid_argument) for a request that can't be, and std::bad_alloc.
AggregatePlan plan_aggregate(const AggregateRequest &request);

// Returns the input in whose map a step's results are places; nullptr when they are numbers.
inline const AggregateInput *wide_input(const AggregateProgram &program, const AggregateInput *inputs,
                                        std::uint16_t step) {
    if (step == no_aggregate_step || program.step[step].operation != AggregateOperation::input ||
        inputs[program.step[step].left].kind != AggregateInputKind::map128) {
        return nullptr;
    }
    return &inputs[program.step[step].left];
}

GPU_ENGINE_BOTH std::uint64_t mix_key(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93;
    return hash ^ hash >> 32;
}

GPU_ENGINE_BOTH std::uint64_t encode_tid(const Tid &tid) {
    return (static_cast<std::uint64_t>(tid.block_high) << 16 | tid.block_low) << 16 | tid.offset;
}

}  // namespace gpu_engine
