// gpu.verify: agreement of an index with its table (as amcheck's heapallindexed does it, with a Bloom filter
// of the index's entries that the table's rows are then looked up in).
#pragma once

#include "storage/storage.h"

namespace pg_gpu::table {

inline constexpr size_t kMaxFingerprint = 256;

struct TableCheck {
    Relation heap;
    Relation index;
    storage::ProblemReporter report;
    void *context;
    bool is_heap;  // otherwise only rows are looked up, not line pointers
    BlockNumber heap_blocks;
    bloom_filter *filter;  // nullptr without the heap check
    // TIDs of live entries, checked against the table's line pointers in heap order, a chunk at a time.
    ItemPointerData *tids;
    uint32 tid_count;
    uint32 tid_room;
};

// Is called after the view was taken that has `entries` entries: they are for rows that were there before.
void begin_table_check(TableCheck *check, Relation heap, Relation index, bool check_heap, uint64 entries,
                       uint64 seed, storage::ProblemReporter report, void *context);

// Reports a problem; `tid` may be nullptr.
inline void report_problem(const TableCheck *check, BlockNumber block, const ItemPointerData *tid,
                           const char *problem) {
    check->report(block, tid, problem, check->context);
}

// Notes a live entry: `fingerprint` distinguishes it from others of its TID, and `block` is where it lies.
void note_entry(TableCheck *check, BlockNumber block, const void *fingerprint, size_t bytes,
                const ItemPointerData &tid);

// Entries are distinguished by a hash of the row's values and the TID: note_row notes such an entry,
// put_row_fingerprint writes the fingerprint of a row.
void note_row(TableCheck *check, BlockNumber block, uint64 hash, const ItemPointerData &tid);
size_t put_row_fingerprint(uint64 hash, const ItemPointerData &tid, unsigned char *fingerprint);

// Checks that the line pointers of the entries noted so far are in use.
void check_noted_entries(TableCheck *check);
void forget_noted_entries(TableCheck *check);

// Writes the fingerprint that a row's entry has, at most kMaxFingerprint bytes; returns its length.
using FingerprintRow = size_t (*)(void *context, const Datum *values, const bool *nulls,
                                  const ItemPointerData &tid, unsigned char *fingerprint);

// Checks that all rows visible to `snapshot`, which was taken before the index was read, are in the filter.
// The index's expressions run as the table's owner. Frees the filter.
void finish_table_check(TableCheck *check, Snapshot snapshot, FingerprintRow fingerprint_row, void *context);

}  // namespace pg_gpu::table
