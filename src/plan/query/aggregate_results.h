// From a group's words to SQL's values.
#pragma once

#include "plan/query/aggregate_inputs.h"

namespace pg_gpu::plan {

// What is kept of a query's answer once its view is closed.
struct AggregateOutput {
    gpu_engine::GroupTable groups;
    const CompiledAggregate *compiled;
    int key_count;
    int aggregate_count;
    // These are told of each input.
    const CommonValues *common;
    const uint8 *scale;
    const uint64 *centre;      // two words each
    uint32 passes;             // more than one: all groups are in the file
    Tuplestorestate *spilled;  // rows of keys and aggregates; nullptr: there can't be many groups
    uint64 found_groups;       // of which those that can't be among the first ones wanted were left out
    uint64 *rows;              // of rows in an order instead of groups: their places
    uint64 row_count;
    bool has_place;  // keys with variants are shown as the row at the group's place has them
};

// The place of a row of the group: heap block << 16 | offset number.
inline uint64 place_of_group(const AggregateOutput &output, uint64 group) {
    return output.groups.value(group, output.compiled->place);
}

// One key of all groups: group g's value goes to values[g * stride].
struct KeyColumn {
    size_t stride;
    Datum *values;
    bool *nulls;
    // Which of the key's common values each group has, or their number where it is NULL. nullptr: they aren't
    // wanted.
    uint32 *codes;
};
void read_key_column(const AggregateOutput &output, int key, const KeyColumn &column);

// The key's code in a group, less the one that stands for NULL: the number of a common value, or of a number
// above the least one. False: the key is NULL.
bool read_code(const AggregateOutput &output, uint64 group, const KeyResult &result, uint64 *code);

// How many values a key has that all parts have in common; 0: its values are numbers.
uint32 count_common_values(const AggregateOutput &output, int key);

// Fills in keys, then aggregates. What isn't passed by value lies in the answer's or the current memory
// context.
void read_group(const AggregateOutput &output, uint64 group, Datum *values, bool *nulls);

}  // namespace pg_gpu::plan
