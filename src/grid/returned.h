// This remembers what an unordered scan has returned. When a merge recycles a run that the scan reads, it
// starts again in a new view and leaves these entries out.
#pragma once

#include "table/table.h"

namespace pg_gpu::grid {

using namespace table;

struct ReturnedRows {
    MemoryContext context;
    uint64 *places;  // heap block << 16 | offset
    uint64 count;
    uint64 room;
    BufFile *file;  // earlier ones
    uint64 in_file;
    uint64 *skipped;  // all that was returned before the last restart, sorted
    uint64 skipped_count;
};

void begin_returned(ReturnedRows *returned, MemoryContext context);
void forget_returned(ReturnedRows *returned);
void note_more_returned(ReturnedRows *returned);

inline void note_returned(ReturnedRows *returned, const ItemPointerData &tid) {
    if (unlikely(returned->count == returned->room))
        note_more_returned(returned);
    returned->places[returned->count++] = encode_tid(tid);
}

// After begin_skipping, was_returned knows all rows that were noted before.
void begin_skipping(ReturnedRows *returned, Relation index);
bool was_returned(const ReturnedRows &returned, const ItemPointerData &tid);

}  // namespace pg_gpu::grid
