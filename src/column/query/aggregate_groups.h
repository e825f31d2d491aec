// The groups of an aggregate in the session: found by their keys, each with the words of its accumulators.
#pragma once

#include "gpu_engine/aggregate.h"
#include "memory.h"

namespace pg_gpu::column {

struct AggregateGroups {
    MemoryContext context;  // of what grows
    const gpu_engine::AggregateProgram *program;
    size_t memory;  // bytes that all groups may take
    uint32 key_words;
    uint32 value_words;
    uint64 *initial;  // an empty group's words
    // Dense: the key itself is the group's number, and all groups are there.
    bool is_dense;
    uint64 count;
    uint64 room;
    uint64 *keys;    // key_words a group; none of dense groups
    uint64 *values;  // value_words a group
    uint32 *slots;   // number + 1; 0: free
    uint64 mask;
    bool is_full;  // more groups than the memory has room for
    // Of several passes over all rows each takes a part of the keys; group 0 is that of all others then.
    uint32 passes;
    uint32 pass;
};

// Keys of at most so many bits may be dense, and are in a single pass if their groups take a small part of
// the memory, and aren't many more than rows.
inline constexpr uint32 kMaxDenseBits = 25;

// In the current memory context, for one of so many passes, from 0 on. `memory` bounds what groups take;
// about so many rows will be added at most.
AggregateGroups *begin_groups(const gpu_engine::AggregateProgram &program, size_t memory, uint64 rows,
                              uint32 passes, uint32 pass);

// numbers[i]: the group of the key whose words are keys[word][i]. False when there are too many groups.
bool find_groups(AggregateGroups *groups, const uint64 *const *keys, uint32 count, uint32 *numbers);

// Adds groups that were computed elsewhere by the same program: records one behind the other, `stride` words
// each, of which the first are the key's and the next the accumulators'. False when there are too many
// groups, or when a key can't be.
bool add_records(AggregateGroups *groups, const uint64 *records, uint64 count, uint32 stride);

// The same for groups as an engine gives them back.
bool add_table(AggregateGroups *groups, const gpu_engine::GroupTable &table);

// As the engines give groups back; dense ones without rows are left out. The program's first accumulator must
// count rows.
gpu_engine::GroupTable finish_groups(AggregateGroups *groups);

}  // namespace pg_gpu::column
