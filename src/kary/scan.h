// State of an index scan.
#pragma once

#include "cost/usage.h"
#include "kary/request.h"
#include "kary/checked_rows.h"
#include "kary/index_tuple.h"
#include "kary/remote_source.h"
#include "keys/keys.h"
#include "storage/storage.h"

namespace pg_gpu::kary {

// Is it the planner's look for a column's least or greatest value? For that PostgreSQL 18 takes the first
// ordered index there is; before, btree's alone.
inline bool is_planners_look(const SnapshotData *snapshot) {
    return snapshot->snapshot_type == SNAPSHOT_NON_VACUUMABLE;
}

// A scan of an index of one column goes through at most two phases in index order: keyed entries and NULLs.
// With several columns, all partitions are merged in one phase.
enum class Phase : int { Keys, Nulls, All };

// The source of a partition of a run, or of the tail, which is read from pages: it holds the matching entries
// of one leaf page.
template <typename Key>
struct Cursor : Source<Key> {
    const storage::RunEntry *run;  // nullptr: the tail, whose matches are one batch
    Partition partition;           // in the tail: places among its matches
    Ranges<Key> ranges;
    int64 leaf_begin;  // the partition's leaf pages
    int64 leaf_end;
    int64 leaf;     // leaf of the batch; leaf_begin - 1 before the first, leaf_end behind the last
    Key first_key;  // on the leaf, matching or not
    Key last_key;
    uint32 next_point;  // scans for points: the first point above last_key
};

// The entry that was returned last. After a change of view the scan goes on behind it.
template <typename Key>
struct Position {
    bool valid;
    Phase phase;
    NullMask nulls;
    Key key;
    ItemPointerData tid;
};

template <typename Key>
struct Scan {
    int width;  // first, so that callbacks find the key's width without knowing it
    IndexScanDesc descriptor;
    const storage::RunKind *kind;
    BlockNumber heap_blocks;  // length of the table as last looked at
    KeyFormat format;
    MemoryContext context;  // everything below; lives as long as the scan
    MemoryContext points_context;
    Condition<Key> condition;
    storage::View view;
    storage::CachedRuns cached;
    uint64 view_number;
    bool started;

    Phase phases[2];
    int phase_count;
    int phase;  // index into phases

    Cursor<Key> *cursors;  // runs in directory order, the tail last; only partitions with entries
    int cursor_count;
    int cursor_room;
    RemoteSource<Key> remote;
    bool mixed;          // entries of the phase differ in which columns are NULL
    Source<Key> **heap;  // sources with an entry in the heap's direction; `current` waits behind the last
    int heap_count;
    int heap_room;
    bool heap_built;
    bool forward;          // direction of the last step
    bool streaming;        // `current` is the only source left and the scan goes forward
    Source<Key> *current;  // gave the last entry; its gap is on the entry's far side
    Position<Key> last;

    SortEntry<Key> *tail;  // matches of the view's tail, sorted
    uint32 tail_count;
    storage::Items *whole_tail;  // set where a copy of the tail is wanted; or nullptr

    bool timed;  // a search long enough to be counted in gpu.stat
    instr_time search_began;
    instr_time search_time;          // time spent on pages
    bool may_travel;                 // the server may be asked
    const client::Request *request;  // sent in place of a request for the condition's matches; or nullptr
    client::Usage usage;             // usage of all rescans

    // The scan keys, where their recheck would take long for a row, else nullptr. A plain scan then checks
    // rows.
    ScanKeyData *checked_keys;
    CheckedScan *checked;  // the plain scan that does so

    bool counts_only;  // set where only the sizes of batches are wanted
    bool skips_dead;   // entries whose rows the session knows to be dead are left out
    bool resolve;      // index-only scan under an MVCC snapshot: return visible entries only
    VisibilityMap visibility;
    RowVisibility rows;
    bool index_only;  // the above is set up
    IndexOnlyTuple tuple;

    // The position that the scan was marked at (scan_mark.cpp).
    Position<Key> marked;
    uint64 marked_view;
    int marked_phase;
    int marked_cursors;
    int64 *marked_leaves;
    int marked_room;
    uint64 marked_remote;  // the result of sum_of_remote_ids() then; with the remote source's items
    uint32 marked_begin;
    uint32 marked_end;
};

// ---- scan.cpp: scans that no executor has begun -----------------------------------------------------------

template <typename Key>
Scan<Key> *open_scan(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition);
template <typename Key>
void close_scan(Scan<Key> *scan);

// Gives the matches of the present phase that are read from pages to the sink, in no particular order.
// false: Restart.
template <typename Key>
bool drain_cursors(Scan<Key> *scan, const EntrySink<Key> &sink);

// ---- scan_phases.cpp: what a scan goes through ------------------------------------------------------------

// Takes a new view of the index, and of the visibility map where the scan looks at it.
template <typename Key>
void renew_view(Scan<Key> *scan);

// Plans the phases the condition asks for and takes the first view.
template <typename Key>
void begin_phases(Scan<Key> *scan);

// Aims cursors at one phase of the current view, before its start or behind its end. false: Restart.
template <typename Key>
bool enter_phase(Scan<Key> *scan, int phase, bool at_start);

// ---- scan_merge.cpp: in index order -----------------------------------------------------------------------

// Moves on to the next entry, which becomes scan->last; returns false at the end.
template <typename Key>
bool next_entry(Scan<Key> *scan, bool forward);

// Takes a new view and aims every cursor right behind (or, backward, right before) the entry last returned.
// false: Restart.
template <typename Key>
bool go_on_in_new_view(Scan<Key> *scan, bool forward);

// ---- scan_mark.cpp: mark and restore ----------------------------------------------------------------------

// The next step starts from the beginning; nothing of the old place may be continued.
template <typename Key>
void forget_place(Scan<Key> *scan);

template <typename Key>
void mark_place(Scan<Key> *scan);
template <typename Key>
void restore_place(Scan<Key> *scan);

// ---- cursor.cpp: moving through one source ----------------------------------------------------------------

// Makes the batch hold an entry after (before) the gap. Restart: the view has gone stale, nothing has moved.
template <typename Key>
Step ensure_forward(Scan<Key> *scan, Cursor<Key> *cursor);
template <typename Key>
Step ensure_backward(Scan<Key> *scan, Cursor<Key> *cursor);

// Fills the batch with the matches on one leaf. false: Restart.
template <typename Key>
bool load_leaf(Scan<Key> *scan, Cursor<Key> *cursor, int64 leaf);

// Puts the gap right after (`after`) or right before the place of `position` in index order. false: Restart.
template <typename Key>
bool seek_position(Scan<Key> *scan, Cursor<Key> *cursor, const Position<Key> &position, bool after);

// Places the gap within the loaded batch.
template <typename Key>
void place_in_batch(const Scan<Key> *scan, Source<Key> *source, const Position<Key> &position, bool after);

// Drops entries of the batch whose rows the session knows to be dead.
template <typename Key>
void drop_known_dead(const Scan<Key> *scan, Source<Key> *source);

// Keeps of the batch what the snapshot sees, for index-only scans. Returns false for Restart.
template <typename Key>
bool resolve_batch(Scan<Key> *scan, Source<Key> *source);

}  // namespace pg_gpu::kary
