// Strings of columns as numbers that the server process gives them: those of a code space, whose members are
// dictionaries of runs (gpu_engine/strings.h). So the session needn't read any dictionary.
//
// A query's columns say by RunColumn::space that their values are such numbers, and the session numbers the
// strings that it has itself before it asks the query.
#pragma once

#include "column/query/query_request.h"

namespace pg_gpu::column {

// The columns of this table's runs may be members of code spaces.
struct SpaceTable {
    QueryTable table;
    uint32 column_count;  // of each run
};

struct StringSpace {
    uint32 number;  // a member's RunColumn::space is one more
    const SpaceTable *tables;
    uint32 table_count;
    // number_strings sets these: the number of the space's entry n is (n << shift) + base.
    uint64 entries;
    uint64 base;
    uint32 shift;
};

// Numbers strings, which may be entries or not: all numbers have the order of bytes. Returns false where the
// server doesn't number them, because it lacks the strings of a run, or doesn't answer.
bool number_strings(StringSpace *space, const Bytes *strings, uint64 count, uint64 *numbers);

// Calls take(context, i, bytes) with the entry that numbers[i] is of. Returns false without an answer.
using TakeString = void (*)(void *context, uint64 i, const Bytes &bytes);
bool read_strings(const StringSpace &space, const uint64 *numbers, uint64 count, TakeString take,
                  void *context);

}  // namespace pg_gpu::column
