// The content of one view of an index, and the rows that a query is about: runs with a bit a row, and the
// tail's rows one by one.
#pragma once

#include "column/column.h"
#include "column/scan/condition.h"
#include "column/format/format.h"
#include "table/table.h"

namespace pg_gpu::column {

struct LooseRow {
    ItemPointerData tid;
    bool selected;
    TupleValue *values;
};

// A row whose visibility the table must tell. run_count: a loose row.
struct UnresolvedRow {
    uint32 run;
    uint32 ordinal;
};

// The server's counts of one run's column: visible rows by code, and those with NULL.
struct RemoteCounts {
    uint64 *by_code;
    uint64 codes;
    uint64 nulls;
};

struct ColumnView {
    MemoryContext context;  // has everything below; ends with the view
    Relation heap;
    Relation index;
    Snapshot snapshot;
    const Format *format;
    BlockNumber heap_blocks;
    storage::View view;
    RunReader *runs;
    uint64 **selected;  // by run; nullptr where the server selects rows (is_remote)
    int run_count;
    RemoteCounts *counted;  // by run, where the server has counted a column's
    LooseRow *loose;
    uint32 loose_count;
    uint32 loose_room;
    const storage::RunEntry *recycled;  // a sealed tail that could not be read
    uint64 heap_fetches;
    uint64 skipped_runs;  // number of runs of which no row can match; they aren't among the others
};

// Opens a view in which all rows are selected that VACUUM has not removed. With `remote` the
// server is to select the runs' rows, and this session selects only the loose ones and those of runs that it
// reads locally. Runs are left out of which no row can match the condition. `cached` belongs to the caller,
// who opens another view when this one's pages are recycled.
ColumnView *open_view(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                      const Condition &condition, storage::CachedRuns *cached, bool remote = false);
// Selects a run's rows in this session: all that VACUUM has not removed.
void read_local_runs(ColumnView *view, int run);
inline bool is_remote(const ColumnView *view, int run) {
    return view->selected[run] == nullptr;
}
void close_view(ColumnView *view);
// Adds to what EXPLAIN (ANALYZE) shows the skipped runs of a view that has answered.
void count_skipped_runs(const ColumnView &view);
// Returns the run of which a page was recycled meanwhile; nullptr when none was.
const storage::RunEntry *recycled_run(const ColumnView *view, uint32 *position);

inline bool is_stale(const ColumnView *view) {
    uint32 position;
    return recycled_run(view, &position) != nullptr;
}

// Takes away the rows that the snapshot doesn't see. False when a VACUUM ended meanwhile (rule "Trust"): the
// view is worth nothing then.
bool select_visible(ColumnView *view);

uint64 count_selected(const ColumnView *view);

// The TIDs of a run's selected rows, in heap order, some at a time.
using TidSink = void (*)(void *context, const ItemPointerData *tids, uint64 count);
void give_selected(ColumnView *view, int run, TidSink sink, void *context);

inline bool is_selected(const uint64 *bits, uint64 ordinal) {
    return (bits[ordinal / 64] >> (ordinal % 64)) & 1;
}

// Packs sixty-four bytes of 0 or 1 into bits.
inline uint64 pack_bits(const uint8 *hits) {
    uint64 bits = 0;
    for (uint32 i = 0; i < 8; i++) {
        uint64 eight;
        memcpy(&eight, hits + i * 8, sizeof(eight));
        bits |= (eight * UINT64CONST(0x0102040810204080) >> 56) << (i * 8);
    }
    return bits;
}

// Is any of `count` rows from `first` on selected? There are at most as many as a heap block has.
inline bool any_selected(const uint64 *bits, uint64 first, uint32 count) {
    const uint64 last = first + count - 1;
    if (first / 64 == last / 64)
        return (bits[first / 64] >> (first % 64) & low_bits(count)) != 0;
    if (bits[first / 64] >> (first % 64) != 0 || (bits[last / 64] & low_bits(last % 64 + 1)) != 0)
        return true;
    for (uint64 word = first / 64 + 1; word < last / 64; word++)
        if (bits[word] != 0)
            return true;
    return false;
}

}  // namespace pg_gpu::column
