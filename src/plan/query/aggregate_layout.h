// Where a program's keys and accumulators lie in a group's words, once the inputs' numbers are known.
#pragma once

#include "plan/query/aggregate_inputs.h"

namespace pg_gpu::plan {

// Each argument of aggregates of distinct values has these words behind a group's own.
inline constexpr uint32 kDistinctCount = 0;
inline constexpr uint32 kDistinctSum = 1;    // two words, the lower one first
inline constexpr uint32 kDistinctScale = 3;  // of numerics: the greatest scale of what was added up
inline constexpr uint32 kDistinctWords = 4;

// Lays the keys out in words, each in as many bits as its numbers need. False: none is left to stand for
// NULL. Codes are in the order of their numbers, but for a key whose `least` isn't the least number: one that
// is any number of 64 bits, or NULL.
bool lay_out_keys(const InputBuilder &builder, gpu_engine::AggregateProgram *program);

// The key's code in a group's words.
inline uint64 code_of_key(const gpu_engine::GroupTable &groups, uint64 group,
                          const gpu_engine::AggregateKey &key) {
    return key.bits == 0 ? 0 : groups.key(group, key.word) >> key.shift & column::low_bits(key.bits);
}

// Lets rows pass only where this truth value holds, too; no_aggregate_step leaves the filter as it is. False:
// the program has too many steps.
bool add_filter(gpu_engine::AggregateProgram *program, uint16 filter);

// Do equal keys differ in their bytes?
bool has_variants(const InputBuilder &builder);

// Chooses what long numbers are less by where their squares are added up. False: they are too far apart for
// these to have room.
bool choose_centres(const InputBuilder &builder, gpu_engine::AggregateProgram *program);

// How the integers of aggregates of numerics are read. nullptr, or why not.
const char *lay_out_numerics(const InputBuilder &builder, int results, CompiledAggregate *compiled);

// What is counted by the integers that floats were cut to.
void lay_out_deviations(const InputBuilder &builder, int results, CompiledAggregate *compiled);

// Chooses the sums' exponents, so that the greatest floats, as often as there are rows, have room in them.
void choose_exponents(const InputBuilder &builder, gpu_engine::AggregateProgram *program);

// Leaves out accumulators that aren't needed: of places where equal keys have the same bytes, and counts of
// what is never NULL, which are the group's rows. Then words' places change.
void leave_out_accumulators(const InputBuilder &builder, bool has_place, int results,
                            CompiledAggregate *compiled);

}  // namespace pg_gpu::plan
