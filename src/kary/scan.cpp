// Index scans as the executor calls them: steps, bitmaps, and all entries of a view at once.
#include "kary/scan.h"

#include "compat.h"
#include "kary/dead_rows.h"
#include "kary/mirror.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

// Makes the condition of the scan keys.
template <typename Key>
static void read_keys(Scan<Key> *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    MemoryContextReset(scan->points_context);
    MemoryContext caller = MemoryContextSwitchTo(scan->points_context);
    ScanKeyData *keys = descriptor->keyData;
    const int count = descriptor->numberOfKeys;
    if (scan->format.lossy != 0)
        keys = detoast_arrays(scan->format, keys, count);
    make_condition(scan->format, keys, count, &scan->condition);
    const bool checks = scan->condition.recheck && IsMVCCSnapshot(descriptor->xs_snapshot) &&
                        !descriptor->xs_want_itup && has_long_arrays(scan->format, keys, count);
    scan->checked_keys = checks ? keys : nullptr;
    MemoryContextSwitchTo(caller);
}

// ---- tuples for index-only scans --------------------------------------------------------------------------

template <typename Key>
static void prepare_index_only(Scan<Key> *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    descriptor->xs_itupdesc = RelationGetDescr(descriptor->indexRelation);
    scan->index_only = true;
    scan->resolve = IsMVCCSnapshot(descriptor->xs_snapshot);
    if (scan->resolve) {
        open_visibility(&scan->visibility, descriptor->heapRelation);
        open_row_visibility(&scan->rows, descriptor->heapRelation, descriptor->xs_snapshot);
    }
    MemoryContextSwitchTo(caller);
}

// Returns the tuple for the entry last returned.
template <typename Key>
static IndexTuple tuple_of_last(Scan<Key> *scan) {
    IndexOnlyTuple *made = &scan->tuple;
    if (made->tuple == nullptr || made->nulls != scan->last.nulls) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        make_index_tuple(scan->format, scan->descriptor->xs_itupdesc, scan->last.nulls, made);
        MemoryContextSwitchTo(caller);
    }
    put_key(scan->format, made, scan->last.key);
    return made->tuple;
}

// ---- rows looked at by the scan itself --------------------------------------------------------------------

template <typename Key>
static void begin_checked(Scan<Key> *scan, Relation heap, CheckedRows *rows) {
    IndexScanDesc descriptor = scan->descriptor;
    MemoryContext caller = MemoryContextSwitchTo(scan->points_context);
    const client::Usage before = client::session_usage();
    begin_checked_rows(rows, heap, descriptor->indexRelation, descriptor->xs_snapshot, scan->format,
                       scan->condition, scan->checked_keys, descriptor->numberOfKeys);
    client::add_usage_since(before, &scan->usage);
    MemoryContextSwitchTo(caller);
}

template <typename Key>
static void end_checked(Scan<Key> *scan) {
    if (scan->checked != nullptr)
        end_checked_rows(&scan->checked->rows);
    scan->checked = nullptr;
}

template <typename Key>
static bool take_checked_step(Scan<Key> *scan, bool forward) {
    IndexScanDesc descriptor = scan->descriptor;
    if (scan->checked == nullptr) {
        auto *checked =
            static_cast<CheckedScan *>(MemoryContextAllocZero(scan->points_context, sizeof(CheckedScan)));
        checked->at = checked->marked = -1;
        begin_checked(scan, descriptor->heapRelation, &checked->rows);
        scan->checked = checked;
    }
    descriptor->xs_recheck = false;
    MemoryContext caller = MemoryContextSwitchTo(scan->points_context);
    const bool found = step_checked_scan(scan->checked, forward, &descriptor->xs_heaptid);
    MemoryContextSwitchTo(caller);
    return found;
}

template <typename Key>
static int64 add_checked_to_bitmap(Scan<Key> *scan, Relation heap, TIDBitmap *bitmap) {
    auto *checked = static_cast<CheckedRows *>(MemoryContextAlloc(scan->points_context, sizeof(CheckedRows)));
    begin_checked(scan, heap, checked);
    int64 added = 0;
    ItemPointerData tid;
    while (next_checked_entry(checked, &tid)) {
        tbm_add_tuples(bitmap, &tid, 1, false);
        added++;
    }
    end_checked_rows(checked);
    return added;
}

// ---- callbacks --------------------------------------------------------------------------------------------

// The rule "Other snapshots" applies, except to the planner's look for a column's end, which gives up at an
// entry that asks for a recheck. Another row under the entry's TID can spoil no more than an estimate there.
static bool may_meet_other_rows(const SnapshotData *snapshot) {
    return !IsMVCCSnapshot(snapshot) && !is_planners_look(snapshot);
}

// Notes that the row of the entry last returned is dead to everybody.
template <typename Key>
[[gnu::noinline]] static void note_dead(const Scan<Key> *scan) {
    if (scan->skips_dead && scan->last.valid && scan->checked == nullptr)
        note_dead_row(scan->descriptor->indexRelation, scan->view.vacuum_seq, scan->last.tid);
}

// Takes any step; leaves the scan streaming where the next ones only need the fields that follow_stream sets.
template <typename Key>
[[gnu::noinline]] static bool take_step(Scan<Key> *scan, bool forward) {
    IndexScanDesc descriptor = scan->descriptor;
    scan->streaming = false;
    if (descriptor->xs_want_itup && !scan->index_only)
        prepare_index_only(scan);
    if (!scan->started && scan->checked == nullptr) {
        read_keys(scan);
        scan->skips_dead = descriptor->ignore_killed_tuples && is_heap_table(descriptor->heapRelation);
    }
    if (scan->checked_keys != nullptr)
        return take_checked_step(scan, forward);
    if (!next_entry(scan, forward))
        return false;
    descriptor->xs_heaptid = scan->last.tid;
    descriptor->xs_recheck = scan->condition.recheck || may_meet_other_rows(descriptor->xs_snapshot);
    if (descriptor->xs_want_itup)
        descriptor->xs_itup = tuple_of_last(scan);
    scan->streaming = forward && scan->heap_count == 0;
    return true;
}

// Goes on where one source is left and its batch holds more: nothing has to be compared. False when the batch
// is used up.
template <typename Key>
static inline bool follow_stream(Scan<Key> *scan) {
    Source<Key> *source = scan->current;
    if (source->at == source->count)
        return false;
    const uint32 at = source->at++;
    scan->last.key = source->keys[at];
    scan->last.tid = source->tids[at];
    scan->descriptor->xs_heaptid = scan->last.tid;
    if (scan->descriptor->xs_want_itup)
        put_key(scan->format, &scan->tuple, scan->last.key);
    return true;
}

template <typename Key>
static inline bool get_tuple_of(IndexScanDesc descriptor, bool forward) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    if (unlikely(descriptor->kill_prior_tuple))
        note_dead(scan);
    if (likely(scan->streaming && forward) && likely(follow_stream(scan)))
        return true;
    return take_step(scan, forward);
}

template <typename Key>
bool drain_cursors(Scan<Key> *scan, const EntrySink<Key> &sink) {
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        for (;;) {
            const Step step = ensure_forward(scan, cursor);
            if (step == Step::Restart)
                return false;
            if (step == Step::End)
                break;
            sink.add(sink.context, cursor->keys, cursor->tids, cursor->count);
            cursor->at = cursor->count;
        }
    }
    return true;
}

// Gives all matches of one phase to the sink, in no particular order; false: Restart.
template <typename Key>
static bool drain_phase(Scan<Key> *scan, int phase, const EntrySink<Key> &sink) {
    return enter_phase(scan, phase, true) && (scan->remote.run_count == 0 || drain_remote(scan, sink)) &&
           drain_cursors(scan, sink);
}

template <typename Key>
static void drain(Scan<Key> *scan, const EntrySink<Key> &sink) {
    for (int phase = 0; phase < scan->phase_count;) {
        if (drain_phase(scan, phase, sink)) {
            phase++;
        } else {
            renew_view(scan);
            sink.reset(sink.context);
            phase = 0;
        }
    }
    storage::got_on(&scan->cached);
}

struct BitmapSink {
    TIDBitmap *bitmap;
    bool recheck;
    int64 added;
};

// Begins the bitmap again after a change of view: adding a TID twice does no harm.
static void reset_bitmap(void *context) {
    static_cast<BitmapSink *>(context)->added = 0;
}

template <typename Key>
static void add_to_bitmap(void *context, const Key *, ItemPointerData *tids, uint32 count) {
    auto *sink = static_cast<BitmapSink *>(context);
    tbm_add_tuples(sink->bitmap, tids, static_cast<int>(count), sink->recheck);
    sink->added += count;
}

template <typename Key>
static int64 get_bitmap_of(IndexScanDesc descriptor, TIDBitmap *bitmap) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    // A bitmap scan is not told its table, which the executor has locked; TIDs are checked against its
    // length.
    Relation heap = table_open(descriptor->indexRelation->rd_index->indrelid, NoLock);
    descriptor->heapRelation = heap;
    read_keys(scan);
    if (scan->checked_keys != nullptr) {
        const int64 added = add_checked_to_bitmap(scan, heap, bitmap);
        descriptor->heapRelation = nullptr;
        table_close(heap, NoLock);
        return added;
    }
    begin_phases(scan);
    // The heap decides about an old view's TIDs, where it is looked at (rule "Old views"). A recheck would
    // compare each row with each element of an array that isn't a constant.
    BitmapSink sink = {
        bitmap,
        scan->condition.recheck || bitmap_scan_skips_heap() || !IsMVCCSnapshot(descriptor->xs_snapshot), 0};
    drain(scan, EntrySink<Key>{&sink, reset_bitmap, add_to_bitmap<Key>});
    descriptor->heapRelation = nullptr;
    table_close(heap, NoLock);
    return sink.added;
}

// Counts for gpu.stat and EXPLAIN, when a scan ends, begins anew or is asked.
template <typename Key>
static void count_search(Scan<Key> *scan) {
    client::Attempt *attempt = &scan->remote.choice.attempt;
    const bool searched = scan->timed && !INSTR_TIME_IS_ZERO(scan->search_time);
    if (attempt->path == client::Path::Paged ? searched : scan->remote.microseconds > 0)
        client::note_taken(*attempt, attempt->path == client::Path::Paged
                                         ? static_cast<double>(INSTR_TIME_GET_MICROSEC(scan->search_time))
                                         : scan->remote.microseconds);
    attempt->index = InvalidOid;
    if (searched) {
        const client::Usage before = client::session_usage();
        client::count_paged(client::RequestKind::LookupKary, scan->condition.point_count, scan->search_time);
        client::add_usage_since(before, &scan->usage);
    }
    scan->timed = false;
}

template <typename Key>
static void begin_scan_of(IndexScanDesc descriptor) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_kary scan", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *scan = allocate_zeroed<Scan<Key>>(1);
    scan->width = kKeyBits<Key>;
    scan->descriptor = descriptor;
    scan->format = key_format(descriptor->indexRelation);
    scan->kind = run_kind_of<Key>(is_composite(scan->format));
    scan->context = context;
    scan->points_context = AllocSetContextCreate(context, "gpu_kary scan keys", ALLOCSET_SMALL_SIZES);
    storage::begin_cached(&scan->cached);
    scan->view.cached = &scan->cached;
    descriptor->opaque = scan;
    MemoryContextSwitchTo(caller);
}

template <typename Key>
static void end_scan_of(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    count_search(scan);
    end_checked(scan);
    storage::end_cached(&scan->cached);
    if (scan->resolve) {
        close_visibility(&scan->visibility);
        close_row_visibility(&scan->rows);
    }
    MemoryContextDelete(scan->context);
    descriptor->opaque = nullptr;
}

template <typename Key>
Scan<Key> *open_scan(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition) {
    IndexScanDesc descriptor = RelationGetIndexScan(index, 0, 0);
    descriptor->xs_snapshot = snapshot;
    descriptor->heapRelation = heap;
    begin_scan_of<Key>(descriptor);
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    scan->condition = condition;
    return scan;
}

template <typename Key>
void close_scan(Scan<Key> *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    end_scan_of<Key>(descriptor);
    IndexScanEnd(descriptor);
}

// Drains one view of the index into the sink.
template <typename Key>
static void drain_index(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition,
                        bool counts_only, const EntrySink<Key> &sink) {
    Scan<Key> *scan = open_scan(heap, index, snapshot, condition);
    scan->counts_only = counts_only;
    begin_phases(scan);
    drain(scan, sink);
    close_scan(scan);
}

template <typename Key>
void collect_entries(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition,
                     const EntrySink<Key> &sink) {
    drain_index(heap, index, snapshot, condition, false, sink);
}

static void reset_entry_count(void *context) {
    *static_cast<uint64 *>(context) = 0;
}

template <typename Key>
static void add_to_entry_count(void *context, const Key *, ItemPointerData *, uint32 count) {
    *static_cast<uint64 *>(context) += count;
}

template <typename Key>
uint64 count_entries(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition) {
    uint64 count = 0;
    drain_index(heap, index, snapshot, condition, true,
                EntrySink<Key>{&count, reset_entry_count, add_to_entry_count<Key>});
    return count;
}

#define INSTANTIATE(Key)                                                                 \
    template Scan<Key> *open_scan(Relation, Relation, Snapshot, const Condition<Key> &); \
    template void close_scan(Scan<Key> *);                                               \
    template bool drain_cursors(Scan<Key> *, const EntrySink<Key> &);                    \
    template void collect_entries(Relation, Relation, Snapshot, const Condition<Key> &,  \
                                  const EntrySink<Key> &);                               \
    template uint64 count_entries(Relation, Relation, Snapshot, const Condition<Key> &);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

static int width_of(IndexScanDesc descriptor) {
    return *static_cast<const int *>(descriptor->opaque);
}

IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count) {
    IndexScanDesc descriptor = RelationGetIndexScan(index, key_count, order_by_count);
    with_key_type(key_width(index), [descriptor](auto key) { begin_scan_of<decltype(key)>(descriptor); });
    return descriptor;
}

template <typename Key>
static void rescan_of(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    count_search(scan);
    end_checked(scan);
    scan->checked_keys = nullptr;
    forget_place(scan);
    scan->marked.valid = false;
}

void rescan(IndexScanDesc descriptor, ScanKey keys, int key_count, ScanKey, int) {
    if (keys != nullptr && key_count > 0)
        memmove(descriptor->keyData, keys, key_count * sizeof(ScanKeyData));
    with_key_type(width_of(descriptor), [descriptor](auto key) { rescan_of<decltype(key)>(descriptor); });
}

bool get_tuple(IndexScanDesc descriptor, ScanDirection direction) {
    const bool forward = ScanDirectionIsForward(direction);
    return with_key_type(width_of(descriptor), [descriptor, forward](auto key) {
        return get_tuple_of<decltype(key)>(descriptor, forward);
    });
}

int64 get_bitmap(IndexScanDesc descriptor, TIDBitmap *bitmap) {
    return with_key_type(width_of(descriptor), [descriptor, bitmap](auto key) {
        return get_bitmap_of<decltype(key)>(descriptor, bitmap);
    });
}

void end_scan(IndexScanDesc descriptor) {
    with_key_type(width_of(descriptor), [descriptor](auto key) { end_scan_of<decltype(key)>(descriptor); });
}

client::Usage scan_usage(IndexScanDesc descriptor) {
    return with_key_type(width_of(descriptor), [descriptor](auto key) {
        auto *scan = static_cast<Scan<decltype(key)> *>(descriptor->opaque);
        count_search(scan);
        return scan->usage;
    });
}

void mark_position(IndexScanDesc descriptor) {
    with_key_type(width_of(descriptor), [descriptor](auto key) {
        mark_place(static_cast<Scan<decltype(key)> *>(descriptor->opaque));
    });
}

void restore_position(IndexScanDesc descriptor) {
    with_key_type(width_of(descriptor), [descriptor](auto key) {
        restore_place(static_cast<Scan<decltype(key)> *>(descriptor->opaque));
    });
}

}  // namespace pg_gpu::kary
