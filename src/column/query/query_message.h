// A query as it lies in the transfer buffer: arrays, one behind the other.
#pragma once

#include "column/query/engine_request.h"

namespace pg_gpu::column {

// Dictionaries that are members of a code space, of which a message names the runs. In the current memory
// context.
struct SpaceMembers {
    gpu_engine::protocol::SpaceMemberPlace *places;
    uint32 count;
};
// Returns those whose columns name the space. column_counts[i]: how many columns each run of a table has.
SpaceMembers members_of_space(const EngineTable *tables, const uint32 *column_counts, uint32 table_count,
                              uint32 space);

// How many tests of runs the message has.
uint64 count_tests(const EngineQuery &prepared);

uint64 bytes_of_query(const EngineQuery &prepared);
// Writes the query into the buffer, from `at` on, and where its parts are into the message.
void put_query(const EngineQuery &prepared, uint64 at, gpu_engine::protocol::RunQuery *message);

}  // namespace pg_gpu::column
