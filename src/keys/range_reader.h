// A RangeReader gives the bounds of many ranges or boxes, one after another.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::keys {

// `read` gives the scan keys of range i, at most two a column, and returns how many.
struct RangeReader {
    uint32 count;
    int (*read)(void *context, uint32 i, ScanKeyData *keys);
    void *context;
};

// Calls visit(i, keys, key_count) with the scan keys of one range after another, until a call returns false.
// Memory that a call allocates is freed after it. Returns whether all calls returned true.
template <typename Visit>
bool for_each_range(const RangeReader &reader, Visit &&visit) {
    MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "pg_gpu range", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    bool all = true;
    for (uint32 i = 0; all && i < reader.count; i++) {
        CHECK_FOR_INTERRUPTS();
        ScanKeyData keys[2 * INDEX_MAX_KEYS];
        const int key_count = reader.read(reader.context, i, keys);
        all = visit(i, keys, key_count);
        MemoryContextReset(context);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return all;
}

}  // namespace pg_gpu::keys
