// State of an index scan.
#pragma once

#include "cost/usage.h"
#include "grid/page_reader.h"
#include "grid/returned.h"
#include "keys/keys.h"
#include "table/table.h"

namespace pg_gpu::grid {

using namespace table;

struct NearestSearch;

// A ViewReader reads one view of an index source by source: the tail's matches, then the runs'.
struct ViewReader {
    Relation heap;
    Relation index;
    const Format *format;
    Snapshot snapshot;
    const Condition *condition;
    MemoryContext context;
    storage::View view;
    storage::CachedRuns cached;
    uint64 *tail;  // matching rows
    uint32 tail_count;
    uint32 tail_room;
    BlockNumber heap_blocks;
    int source;  // number of the run being read; -1: the tail
    bool run_begun;
    RunScan run;
};

void begin_view_reader(ViewReader *reader, Relation heap, Relation index, const Format *format,
                       Snapshot snapshot, const Condition *condition);
// Takes a new view; the next batch is its first.
void renew_view(ViewReader *reader);
void end_view_reader(ViewReader *reader);

// Reads the matches of those of the view's runs that are chosen as if they lay in the tail, and takes these
// runs off the view. false when a page was recycled, and a new view must be taken.
bool read_into_tail(ViewReader *reader, const bool *chosen);

// Reads the next batch of live entries that match. Recycled says that a page was, and that a new view must be
// taken.
Step next_batch(ViewReader *reader, Batch *batch);

// Is called after a page turned out to be recycled, and raises an error if that is damage.
void confirm_recycled(const ViewReader &reader, const storage::RunEntry &run, uint32 position);

// ERROR for TIDs that cannot be in the table.
void check_tid(ViewReader *reader, const ItemPointerData &tid);
void check_tids(ViewReader *reader, const Batch &batch);

// Returns a scan of each of some runs of the reader's view, in turn.
RunScan *begin_run_scans(const ViewReader &reader, const storage::RunEntry *runs, int count);
void end_run_scans(RunScan *scans, int count);

// Receives batches; `reset` is called when all starts again in a new view.
struct BatchSink {
    void *context;
    void (*reset)(void *context);
    void (*add)(void *context, Batch *batch);
};

// Both pass all live entries of one view that match to the sink: drain takes a view, drain_view begins with
// the one taken last.
void drain(ViewReader *reader, const BatchSink &sink);
void drain_view(ViewReader *reader, const BatchSink &sink);

// Index-only scans look entries up that the visibility map doesn't vouch for.
struct Resolver {
    VisibilityMap visibility;
    RowVisibility rows;
    HeapProbe probe;  // for values that entries don't tell
};

// Keeps what the snapshot sees; false when the view has become too old for that.
bool resolve_batch(Resolver *resolver, const ViewReader &reader, Batch *batch);

struct Scan {
    IndexScanDesc descriptor;
    const Format *format;
    MemoryContext context;
    MemoryContext keys_context;
    Condition condition;
    bool started;
    ViewReader reader;
    Batch batch;
    uint32 at;
    ReturnedRows returned;
    bool resolves;
    Resolver resolver;
    bool index_only;
    IndexTupleTemplate tuple;
    NearestSearch *nearest;
    client::Usage usage;  // usage by bitmap scans; other scans send no requests
};

// Returns the tuple of a row that the snapshot sees; valid until the next one's.
IndexTuple make_index_tuple(Scan *scan, const uint64 *row);

// ---- nearest.cpp: ORDER BY column <-> point ---------------------------------------------------------------

NearestSearch *begin_nearest(Scan *scan);
// Forgets everything and starts again in a new view.
void restart_nearest(NearestSearch *search);
void end_nearest(NearestSearch *search);
// Are the distances lower bounds, in no order where they are the same?
bool gives_bounds(const NearestSearch &search);
// Finds the next entry in order of distance, with its row.
Step next_nearest(NearestSearch *search, ItemPointerData *tid, uint64 *row, double *distance, bool *is_null);

}  // namespace pg_gpu::grid
