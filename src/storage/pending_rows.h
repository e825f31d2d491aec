// Rows that a statement has inserted and whose entries wait in the session's memory, to be written many at a
// time (rule "Pending rows" says why nobody misses them).
#pragma once

#include "storage/runs.h"

namespace pg_gpu::storage {

// The pending rows of one index. The access method's structure begins with it.
struct PendingRows {
    PendingRows *next;
    Oid index;
    const RunKind *kind;
    int nest_level;         // nest level of the subtransaction that inserted them
    MemoryContext context;  // lives as long as the pending rows
    size_t bytes;
    // Writes the rows' entries into the index, so that they count, but merges nothing.
    void (*write)(Relation index, PendingRows *rows);
};

// Installs the hooks and callbacks that have rows written in time, or forgotten.
void register_pending_rows();

// Returns whether rows that are inserted now may wait. Those that may be gone before their transaction ends
// may not.
bool may_defer_rows(const IndexInfo *index_info);

// Returns a zeroed structure of `size` bytes in a memory context of its own, which waits from now on.
PendingRows *begin_pending(Relation index, const RunKind *kind, size_t size,
                           void (*write)(Relation index, PendingRows *rows));

// Records how much memory the rows take now. When all that wait take more than they may, they are written.
void note_pending_bytes(PendingRows *rows, size_t bytes);

// Returns a number that changes whenever rows stop waiting: pointers to pending rows are good as long as it
// doesn't.
uint64 pending_epoch();

// Writes all rows that wait, and merges nothing. Whoever is about to read an index calls it first, with no
// content locks held.
void write_pending_rows();

}  // namespace pg_gpu::storage
