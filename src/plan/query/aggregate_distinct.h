// count, sum and avg of distinct values. A second request's groups are *pairs* of a group's keys and one of
// the argument's values; each pair adds its value once to the words that its group has for the argument.
#pragma once

#include "plan/query/aggregate_layout.h"

namespace pg_gpu::plan {

// The program whose groups are the pairs: the compiled one's with the argument as a last key. Its keys but
// the last lie where the compiled program's lie. False: `problem` of the maker says why there is none.
bool make_pair_program(InputBuilder *builder, const CompiledAggregate &compiled,
                       const DistinctArgument &argument, gpu_engine::AggregateProgram *program);

// Groups with room for what distinct values add up to, found by their keys.
struct DistinctGroups {
    const CompiledAggregate *compiled;
    gpu_engine::GroupTable table;
    uint64 *words;  // of the values
    uint64 key_mask[gpu_engine::max_aggregate_keys];
    uint32 *slots;  // number + 1; 0: free
    uint64 mask;
};

// Allocates in the current memory context.
DistinctGroups begin_distinct(const CompiledAggregate &compiled, const gpu_engine::GroupTable &groups);

// The bytes that this takes for so many groups.
size_t bytes_of_distinct(const CompiledAggregate &compiled, uint64 groups);

// The numbers that values of an argument stand for in sums, by code; made once for all pairs of it.
struct DistinctNumbers {
    uint32 argument;
    const uint64 *wide;   // of numerics: two words each
    const uint8 *scales;  // of numerics
    uint64 count;
    uint8 shown;  // of numerics that are added up as they are: how many digits all of them show
};

// False: `problem` of the maker says why there can't be sums.
bool make_distinct_numbers(InputBuilder *builder, const CompiledAggregate &compiled, uint32 argument,
                           DistinctNumbers *numbers);

// Adds pairs up. Those of groups that aren't in the table are passed over, and so are NULLs.
void add_pairs(DistinctGroups *groups, const DistinctNumbers &numbers,
               const gpu_engine::AggregateProgram &program, const gpu_engine::GroupTable &pairs);

// Adds so many values of an argument that is only counted to the only group.
void add_counted(DistinctGroups *groups, uint32 argument, uint64 values);

// Forgets what an argument's pairs have added up to.
void clear_argument(DistinctGroups *groups, uint32 argument);

}  // namespace pg_gpu::plan
