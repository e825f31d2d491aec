// Index scans: views, phases, and the k-way merge of runs and tail in index order (R15).
#include "kary/scan.h"

#include <algorithm>

#include "compat.h"
#include "kary/mirror.h"
#include "keys/search.h"

namespace pg_gpu::kary {

// ---- views and phases
// ---------------------------------------------------------------------------------------

// Copies the tail's matches while it is locked.
template <typename Key>
static void visit_tail(const char *items, uint32 bytes, void *context) {
    auto *scan = static_cast<Scan<Key> *>(context);
    if (scan->tail == nullptr)
        scan->tail = allocate<SortEntry<Key>>(kTailItems<Key>);
    uint32 count = 0;
    for_each_tail_item<Key>(
        items, bytes, is_composite(scan->format), [&](Key key, NullMask nulls, const ItemPointerData &tid) {
            if (unlikely(nulls > scan->format.all_null))
                storage::report_corruption(scan->descriptor->indexRelation, storage::kTailBlock,
                                           "An item of the tail has NULLs in columns that are not there.");
            if (matches(scan->format, scan->condition, nulls, key))
                scan->tail[count++] = {key, ItemPointerGetBlockNumberNoCheck(&tid),
                                       ItemPointerGetOffsetNumberNoCheck(&tid), nulls};
        });
    scan->tail_count = count;
}

template <typename Key>
static void renew_view(Scan<Key> *scan) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    scan->tail_count = 0;
    storage::take_view(scan->descriptor->indexRelation, scan->kind, scan->descriptor->xs_snapshot,
                       &scan->view, visit_tail<Key>, scan);
    std::sort(scan->tail, scan->tail + scan->tail_count, entry_less<Key>);
    if (scan->resolve)
        renew_visibility(&scan->visibility);
    scan->view_number++;
    MemoryContextSwitchTo(caller);
}

// Adds a source to the phase, if the condition wants entries of its partition.
template <typename Key>
static void add_cursor(Scan<Key> *scan, const storage::RunEntry *run, const Partition &partition) {
    if (partition.entries == 0 || !wants(scan->condition, partition.nulls))
        return;
    if (scan->cursor_count == scan->cursor_room) {
        const int room = scan->cursor_room * 2 + 16;
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        auto *cursors = allocate_zeroed<Cursor<Key>>(room);
        if (scan->cursors != nullptr) {
            // Keep the batches' memory.
            memcpy(cursors, scan->cursors, scan->cursor_room * sizeof(Cursor<Key>));
            pfree(scan->cursors);
            pfree(scan->heap);
        }
        scan->cursors = cursors;
        scan->heap = allocate<Cursor<Key> *>(room);
        scan->cursor_room = room;
        MemoryContextSwitchTo(caller);
    }
    Cursor<Key> *cursor = &scan->cursors[scan->cursor_count++];
    cursor->run = run;
    cursor->partition = partition;
    cursor->ranges = ranges_in(scan->format, scan->condition, partition.nulls);
    cursor->leaf_begin = run != nullptr ? leaf_begin<Key>(partition) : 0;
    cursor->leaf_end = run != nullptr ? leaf_end<Key>(partition) : 1;
    choose_cursor_path(scan, cursor);
    cursor->count = cursor->at = 0;
    cursor->next_point = 0;
    scan->mixed = scan->mixed || partition.nulls != scan->cursors[0].partition.nulls;
}

// All partitions of a run; false: Restart.
template <typename Key>
static bool add_run_cursors(Scan<Key> *scan, const storage::RunEntry *run) {
    if (listed_partitions(*run) == 0) {
        add_cursor(scan, run, keyed_partition(*run));
        return true;
    }
    Partition *partitions;
    int count;
    uint32 position;
    const bool sound = read_partitions<Key>(scan->descriptor->indexRelation, scan->format, *run, &partitions,
                                            &count, &position);
    if (!sound)
        storage::confirm_recycled(scan->descriptor->indexRelation, scan->kind, scan->view, *run, position);
    for (int i = 0; sound && i < count; i++)
        add_cursor(scan, run, partitions[i]);
    pfree(partitions);
    return sound;
}

static bool is_in_phase(Phase phase, NullMask nulls) {
    return phase == Phase::All || (phase == Phase::Nulls) == (nulls != 0);
}

// The tail's matches, sorted, begin a partition with each change of NULLs.
template <typename Key>
static void add_tail_cursors(Scan<Key> *scan, Phase phase) {
    uint32 begin = 0;
    while (begin < scan->tail_count) {
        const NullMask nulls = scan->tail[begin].nulls;
        uint32 end = begin + 1;
        while (end < scan->tail_count && scan->tail[end].nulls == nulls)
            end++;
        if (is_in_phase(phase, nulls))
            add_cursor(scan, nullptr,
                       Partition{nulls, nulls == scan->format.all_null, 0, begin, end - begin});
        begin = end;
    }
}

// Aims cursors at one phase of the current view, before its start or behind its end. false: Restart.
template <typename Key>
static bool enter_phase(Scan<Key> *scan, int phase, bool at_start) {
    const Phase what = scan->phases[phase];
    scan->phase = phase;
    scan->current = nullptr;
    scan->heap_built = false;
    scan->heap_count = 0;
    scan->cursor_count = 0;
    scan->mixed = false;
    for (int i = 0; i < scan->view.run_count; i++) {
        const storage::RunEntry *run = &scan->view.runs[i];
        if (what == Phase::Keys)
            add_cursor(scan, run, keyed_partition(*run));
        else if (what == Phase::Nulls)
            add_cursor(scan, run, null_partition(*run));
        else if (!add_run_cursors(scan, run))
            return false;
    }
    add_tail_cursors(scan, what);
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        cursor->leaf = at_start ? cursor->leaf_begin - 1 : cursor->leaf_end;
    }
    return true;
}

// Plans the phases the condition asks for and takes the first view.
template <typename Key>
static void begin_phases(Scan<Key> *scan) {
    scan->phase_count = 0;
    if (is_composite(scan->format)) {
        if (!scan->condition.nothing)
            scan->phases[scan->phase_count++] = Phase::All;
    } else {
        const bool nulls_first = scan->format.columns[0].nulls_first;
        const bool wants_nulls = wants(scan->condition, 1);
        if (wants_nulls && nulls_first)
            scan->phases[scan->phase_count++] = Phase::Nulls;
        if (wants(scan->condition, 0))
            scan->phases[scan->phase_count++] = Phase::Keys;
        if (wants_nulls && !nulls_first)
            scan->phases[scan->phase_count++] = Phase::Nulls;
    }

    pgstat_count_index_scan(scan->descriptor->indexRelation);
    scan->last.valid = false;
    scan->started = true;
    scan->chunk_ends = nullptr;
    scan->may_travel = may_travel(scan->condition);
    scan->timed = is_worth_counting(scan->condition);
    INSTR_TIME_SET_ZERO(scan->search_time);
    INSTR_TIME_SET_CURRENT(scan->search_began);
    if (scan->phase_count > 0)
        renew_view(scan);
}

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

// ---- the merge
// ----------------------------------------------------------------------------------------------

// Heap order, the standard library's way: the top is the entry that no other comes before, forward or
// backward.
template <typename Key>
struct HeapOrder {
    const KeyFormat *format;  // nullptr: all entries have the same columns NULL
    bool forward;

    bool operator()(const Cursor<Key> *a, const Cursor<Key> *b) const {
        return forward ? compare(a, a->at, b, b->at) > 0 : compare(a, a->at - 1, b, b->at - 1) < 0;
    }

  private:
    int compare(const Cursor<Key> *a, uint32 at_a, const Cursor<Key> *b, uint32 at_b) const {
        const Key &key_a = a->keys[at_a];
        const Key &key_b = b->keys[at_b];
        const int order = format != nullptr ? compare_in_index_order(*format, a->partition.nulls, key_a,
                                                                     b->partition.nulls, key_b)
                                            : (key_a < key_b ? -1 : key_a > key_b);
        return order != 0 ? order : ItemPointerCompare(&a->tids[at_a], &b->tids[at_b]);
    }
};

template <typename Key>
static HeapOrder<Key> heap_order(const Scan<Key> *scan, bool forward) {
    return {scan->mixed ? &scan->format : nullptr, forward};
}

template <typename Key>
static Step ensure(Scan<Key> *scan, Cursor<Key> *cursor, bool forward) {
    return forward ? ensure_forward(scan, cursor) : ensure_backward(scan, cursor);
}

template <typename Key>
static bool build_heap(Scan<Key> *scan, bool forward) {
    scan->heap_count = 0;
    for (int i = 0; i < scan->cursor_count; i++) {
        const Step step = ensure(scan, &scan->cursors[i], forward);
        if (step == Step::Restart)
            return false;
        if (step == Step::Entry)
            scan->heap[scan->heap_count++] = &scan->cursors[i];
    }
    std::make_heap(scan->heap, scan->heap + scan->heap_count, heap_order(scan, forward));
    scan->heap_built = true;
    scan->current = nullptr;
    return true;
}

// Puts the cursor that gave the last entry back in its place, after it has moved on.
template <typename Key>
static bool settle_current(Scan<Key> *scan, bool forward) {
    const Step step = ensure(scan, scan->current, forward);
    scan->current = nullptr;
    if (step == Step::Restart)
        return false;
    if (step == Step::End)
        return true;
    scan->heap_count++;  // it waits behind the last
    std::push_heap(scan->heap, scan->heap + scan->heap_count, heap_order(scan, forward));
    return true;
}

// The next entry of the current phase. On Entry, scan->last is it.
template <typename Key>
static Step next_in_phase(Scan<Key> *scan, bool forward) {
    Cursor<Key> *current = scan->current;
    if (current != nullptr && scan->forward != forward) {
        // Turning round: step back over the entry last returned.
        current->at = forward ? current->at + 1 : current->at - 1;
        scan->heap_built = false;
    }
    scan->forward = forward;
    if (!scan->heap_built) {
        if (!build_heap(scan, forward))
            return Step::Restart;
    } else if (current != nullptr) {
        if (scan->heap_count == 0) {
            // The only source left: no heap to keep.
            const Step step = ensure(scan, current, forward);
            if (step != Step::Entry) {
                scan->current = nullptr;
                if (step == Step::Restart)
                    return step;
            } else {
                scan->heap[scan->heap_count++] = current;
            }
        } else if (!settle_current(scan, forward)) {
            return Step::Restart;
        }
    }
    if (scan->heap_count == 0) {
        scan->heap_built = false;
        scan->current = nullptr;
        return Step::End;
    }

    if (scan->heap_count > 1)
        std::pop_heap(scan->heap, scan->heap + scan->heap_count, heap_order(scan, forward));
    Cursor<Key> *top = scan->heap[--scan->heap_count];
    const uint32 at = forward ? top->at++ : --top->at;
    scan->current = top;
    scan->last.nulls = top->partition.nulls;
    scan->last.key = top->keys[at];
    scan->last.tid = top->tids[at];
    return Step::Entry;
}

// Takes a new view and aims every cursor right behind (or, backward, right before) the entry last returned.
template <typename Key>
static bool go_on_in_new_view(Scan<Key> *scan, bool forward) {
    renew_view(scan);
    if (!enter_phase(scan, scan->phase, forward))
        return false;
    if (!scan->last.valid || scan->last.phase != scan->phases[scan->phase])
        return true;
    for (int i = 0; i < scan->cursor_count; i++)
        if (!seek_position(scan, &scan->cursors[i], scan->last, forward))
            return false;
    return true;
}

template <typename Key>
static bool next_entry(Scan<Key> *scan, bool forward) {
    Relation index = scan->descriptor->indexRelation;
    bool stale = false;
    if (!scan->started) {
        begin_phases(scan);
        if (scan->phase_count > 0)
            stale = !enter_phase(scan, forward ? 0 : scan->phase_count - 1, forward);
    }
    if (scan->phase_count == 0)
        return false;

    storage::RestartGuard guard = {0, false};
    for (;;) {
        Step step = stale ? Step::Restart : next_in_phase(scan, forward);
        stale = false;
        while (step == Step::Restart) {
            storage::count_restart(index, &guard);
            if (go_on_in_new_view(scan, forward))
                step = next_in_phase(scan, forward);
        }
        if (step == Step::Entry) {
            scan->last.valid = true;
            scan->last.phase = scan->phases[scan->phase];
            storage::unlock_after_restarts(index, &guard);
            return true;
        }
        const int phase = forward ? scan->phase + 1 : scan->phase - 1;
        if (phase < 0 || phase >= scan->phase_count) {
            storage::unlock_after_restarts(index, &guard);
            // The scan stands at its end now, not on an entry: turning round in a new view starts from there.
            scan->last.valid = false;
            return false;
        }
        stale = !enter_phase(scan, phase, forward);
    }
}

// ---- tuples for index-only scans
// --------------------------------------------------------------------------------

template <typename Key>
static void prepare_index_only(Scan<Key> *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    descriptor->xs_itupdesc = RelationGetDescr(descriptor->indexRelation);
    scan->index_only = true;
    scan->resolve = IsMVCCSnapshot(descriptor->xs_snapshot);
    if (scan->resolve) {
        open_visibility(&scan->visibility, descriptor->heapRelation);
        open_heap_probe(&scan->probe, descriptor->heapRelation, descriptor->xs_snapshot);
    }
    MemoryContextSwitchTo(caller);
}

// The tuple for the entry last returned.
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

// ---- rows looked at by the scan itself
// --------------------------------------------------------------------------

template <typename Key>
static void begin_checked(Scan<Key> *scan, Relation heap, CheckedRows *rows) {
    IndexScanDesc descriptor = scan->descriptor;
    MemoryContext caller = MemoryContextSwitchTo(scan->points_context);
    begin_checked_rows(rows, heap, descriptor->indexRelation, descriptor->xs_snapshot, scan->format,
                       scan->condition, scan->checked_keys, descriptor->numberOfKeys);
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

// ---- callbacks
// ----------------------------------------------------------------------------------------------

// Any step; leaves the scan streaming where the next ones only need the fields that follow_stream sets.
template <typename Key>
[[gnu::noinline]] static bool take_step(Scan<Key> *scan, bool forward) {
    IndexScanDesc descriptor = scan->descriptor;
    scan->streaming = false;
    if (descriptor->xs_want_itup && !scan->index_only)
        prepare_index_only(scan);
    if (!scan->started && scan->checked == nullptr)
        read_keys(scan);
    if (scan->checked_keys != nullptr)
        return take_checked_step(scan, forward);
    if (!next_entry(scan, forward))
        return false;
    descriptor->xs_heaptid = scan->last.tid;
    descriptor->xs_recheck = scan->condition.recheck || !IsMVCCSnapshot(descriptor->xs_snapshot);  // R7
    if (descriptor->xs_want_itup)
        descriptor->xs_itup = tuple_of_last(scan);
    scan->streaming = forward && scan->heap_count == 0;
    return true;
}

// Goes on where one source is left and its batch holds more: nothing has to be compared. False when the batch
// is used up.
template <typename Key>
static inline bool follow_stream(Scan<Key> *scan) {
    Cursor<Key> *cursor = scan->current;
    if (cursor->at == cursor->count)
        return false;
    const uint32 at = cursor->at++;
    scan->last.key = cursor->keys[at];
    scan->last.tid = cursor->tids[at];
    scan->descriptor->xs_heaptid = scan->last.tid;
    if (scan->descriptor->xs_want_itup)
        put_key(scan->format, &scan->tuple, scan->last.key);
    return true;
}

template <typename Key>
static inline bool get_tuple_of(IndexScanDesc descriptor, bool forward) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    if (likely(scan->streaming && forward) && likely(follow_stream(scan)))
        return true;
    return take_step(scan, forward);
}

// Gives all matches of one phase to the sink, in no particular order; false: Restart.
template <typename Key>
static bool drain_phase(Scan<Key> *scan, int phase, const EntrySink<Key> &sink) {
    if (!enter_phase(scan, phase, true))
        return false;
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

template <typename Key>
static void drain(Scan<Key> *scan, const EntrySink<Key> &sink) {
    storage::RestartGuard guard = {0, false};
    for (int phase = 0; phase < scan->phase_count;) {
        if (drain_phase(scan, phase, sink)) {
            phase++;
        } else {
            storage::count_restart(scan->descriptor->indexRelation, &guard);
            renew_view(scan);
            sink.reset(sink.context);
            phase = 0;
        }
    }
    storage::unlock_after_restarts(scan->descriptor->indexRelation, &guard);
}

struct BitmapSink {
    TIDBitmap *bitmap;
    bool recheck;
    int64 added;
};

// After a change of view the scan starts again: adding a TID twice does no harm.
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
    scan->drains = true;
    begin_phases(scan);
    // The heap decides about an old view's TIDs, where it is looked at (R6). A recheck would compare each row
    // with each element of an array that isn't a constant.
    BitmapSink sink = {
        bitmap,
        scan->condition.recheck || bitmap_scan_skips_heap() || !IsMVCCSnapshot(descriptor->xs_snapshot), 0};
    drain(scan, EntrySink<Key>{&sink, reset_bitmap, add_to_bitmap<Key>});
    descriptor->heapRelation = nullptr;
    table_close(heap, NoLock);
    return sink.added;
}

// For gpu.stat, when a scan ends or begins anew.
template <typename Key>
static void count_search(Scan<Key> *scan) {
    if (scan->timed && !INSTR_TIME_IS_ZERO(scan->search_time))
        client::count_paged(client::RequestKind::Lookup, scan->condition.point_count, scan->search_time);
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
    descriptor->opaque = scan;
    MemoryContextSwitchTo(caller);
}

template <typename Key>
static void end_scan_of(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    count_search(scan);
    end_checked(scan);
    if (scan->resolve) {
        close_visibility(&scan->visibility);
        close_heap_probe(&scan->probe);
    }
    MemoryContextDelete(scan->context);
    descriptor->opaque = nullptr;
}

// Drains one view of the index into the sink.
template <typename Key>
static void drain_index(Relation heap, Relation index, Snapshot snapshot, const Condition<Key> &condition,
                        bool counts_only, const EntrySink<Key> &sink) {
    IndexScanDesc descriptor = RelationGetIndexScan(index, 0, 0);
    descriptor->xs_snapshot = snapshot;
    descriptor->heapRelation = heap;
    begin_scan_of<Key>(descriptor);
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    scan->condition = condition;
    scan->counts_only = counts_only;
    scan->drains = true;
    begin_phases(scan);
    drain(scan, sink);
    end_scan_of<Key>(descriptor);
    IndexScanEnd(descriptor);
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

#define INSTANTIATE(Key)                                                                \
    template void collect_entries(Relation, Relation, Snapshot, const Condition<Key> &, \
                                  const EntrySink<Key> &);                              \
    template uint64 count_entries(Relation, Relation, Snapshot, const Condition<Key> &);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)

// The next step starts from the beginning; nothing of the old place may be continued.
template <typename Key>
static void forget_place(Scan<Key> *scan) {
    scan->started = false;
    scan->current = nullptr;
    scan->heap_built = false;
    scan->streaming = false;
}

template <typename Key>
static void mark_position_of(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    if (scan->checked != nullptr) {
        scan->checked->marked = scan->checked->at;
        return;
    }
    scan->marked = scan->last;
    scan->marked_view = scan->view_number;
    scan->marked_phase = scan->phase;
    if (!scan->marked.valid)
        return;
    if (scan->marked_room < scan->cursor_room) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        scan->marked_leaves = scan->marked_leaves == nullptr
                                  ? allocate<int64>(scan->cursor_room)
                                  : reallocate(scan->marked_leaves, scan->cursor_room);
        scan->marked_room = scan->cursor_room;
        MemoryContextSwitchTo(caller);
    }
    for (int i = 0; i < scan->cursor_count; i++)
        scan->marked_leaves[i] = scan->cursors[i].leaf;
}

// In the view of the mark: reloads the leaves that have moved on. false: Restart.
template <typename Key>
static bool restore_leaves(Scan<Key> *scan) {
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        const int64 leaf = scan->marked_leaves[i];
        if (cursor->leaf != leaf) {
            cursor->count = cursor->at = 0;
            if (leaf >= cursor->leaf_begin && leaf < cursor->leaf_end) {
                if (!load_leaf(scan, cursor, leaf))
                    return false;
            } else {
                cursor->leaf = leaf;
            }
        }
        place_in_batch(scan, cursor, scan->marked, true);
    }
    return true;
}

template <typename Key>
static void restore_position_of(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan<Key> *>(descriptor->opaque);
    if (scan->checked != nullptr) {
        scan->checked->at = scan->checked->marked;
        return;
    }
    if (!scan->marked.valid) {
        forget_place(scan);
        return;
    }
    scan->last = scan->marked;
    bool restored = false;
    if (scan->marked_view == scan->view_number) {
        restored = (scan->phase == scan->marked_phase || enter_phase(scan, scan->marked_phase, true)) &&
                   restore_leaves(scan);
    } else {
        scan->phase = scan->marked_phase;
    }
    storage::RestartGuard guard = {0, false};
    while (!restored) {
        storage::count_restart(descriptor->indexRelation, &guard);
        restored = go_on_in_new_view(scan, true);
    }
    storage::unlock_after_restarts(descriptor->indexRelation, &guard);

    // The gap is behind the marked entry; whoever holds it must step over it if the scan turns round.
    scan->heap_built = false;
    scan->streaming = false;
    scan->forward = true;
    scan->current = nullptr;
    for (int i = 0; i < scan->cursor_count; i++) {
        Cursor<Key> *cursor = &scan->cursors[i];
        if (cursor->at > 0 && cursor->partition.nulls == scan->last.nulls &&
            cursor->keys[cursor->at - 1] == scan->last.key &&
            ItemPointerEquals(&cursor->tids[cursor->at - 1], &scan->last.tid))
            scan->current = cursor;
    }
}

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

void mark_position(IndexScanDesc descriptor) {
    with_key_type(width_of(descriptor),
                  [descriptor](auto key) { mark_position_of<decltype(key)>(descriptor); });
}

void restore_position(IndexScanDesc descriptor) {
    with_key_type(width_of(descriptor),
                  [descriptor](auto key) { restore_position_of<decltype(key)>(descriptor); });
}

}  // namespace pg_gpu::kary
