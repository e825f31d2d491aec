// Index scans. They have no order, but for ORDER BY column <-> point (nearest.cpp).
#include "grid/scan.h"

#include "compat.h"
#include "grid/grid.h"
#include "grid/mirror.h"
#include "request_kinds.h"

namespace pg_gpu::grid {

static void prepare_index_only(Scan *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    descriptor->xs_itupdesc = RelationGetDescr(descriptor->indexRelation);
    scan->index_only = true;
    scan->batch.rows = static_cast<uint64 *>(MemoryContextAlloc(
        scan->context, size_t{kMaxOnPage} * static_cast<size_t>(scan->format->row_words) * sizeof(uint64)));
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    open_visibility(&scan->resolver.visibility, descriptor->heapRelation);
    open_row_visibility(&scan->resolver.rows, descriptor->heapRelation, descriptor->xs_snapshot);
    open_heap_probe(&scan->resolver.probe, descriptor->heapRelation, descriptor->xs_snapshot);
    MemoryContextSwitchTo(caller);
    scan->resolves = IsMVCCSnapshot(descriptor->xs_snapshot);
}

static void read_keys(Scan *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    MemoryContextReset(scan->keys_context);
    MemoryContext caller = MemoryContextSwitchTo(scan->keys_context);
    make_condition(*scan->format, descriptor->keyData, descriptor->numberOfKeys, &scan->condition);
    MemoryContextSwitchTo(caller);
}

static void take_new_view(Scan *scan) {
    renew_view(&scan->reader);
    if (scan->resolves)
        renew_visibility(&scan->resolver.visibility);
}

static void begin_reading(Scan *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    if (descriptor->xs_want_itup && !scan->index_only)
        prepare_index_only(scan);
    read_keys(scan);
    end_view_reader(&scan->reader);
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    if (scan->reader.format == nullptr)
        begin_view_reader(&scan->reader, descriptor->heapRelation, descriptor->indexRelation, scan->format,
                          descriptor->xs_snapshot, &scan->condition);
    scan->reader.heap = descriptor->heapRelation;
    scan->reader.snapshot = descriptor->xs_snapshot;
    count_index_search(descriptor);
    if (descriptor->numberOfOrderBys > 0)
        scan->nearest = begin_nearest(scan);
    take_new_view(scan);
    MemoryContextSwitchTo(caller);
    scan->batch.count = scan->at = 0;
    scan->started = true;
}

// Leaves out what has been returned from older views.
static void drop_returned(Scan *scan) {
    Batch *batch = &scan->batch;
    keep_entries(*scan->format, batch,
                 [&](uint32 i) { return !was_returned(scan->returned, batch->tids[i]); });
}

// Fills the next batch that has something in it; returns false at the end.
static bool fill_batch(Scan *scan) {
    scan->at = 0;
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        Step step = next_batch(&scan->reader, &scan->batch);
        if (step == Step::Entry && scan->returned.skipped != nullptr)
            drop_returned(scan);
        if (step == Step::Entry && scan->batch.count > 0 && scan->resolves &&
            !resolve_batch(&scan->resolver, scan->reader, &scan->batch))
            step = Step::Recycled;
        if (step == Step::Recycled) {
            begin_skipping(&scan->returned, scan->descriptor->indexRelation);
            take_new_view(scan);
            continue;
        }
        if (step == Step::End || scan->batch.count > 0) {
            storage::got_on(&scan->reader.cached);
            return step == Step::Entry;
        }
    }
}

// ---- callbacks --------------------------------------------------------------------------------------------

// A recheck is needed by the rule "Other snapshots", or because the condition says less than the keys.
static bool must_recheck(const Scan &scan) {
    return scan.condition.is_rough || !IsMVCCSnapshot(scan.descriptor->xs_snapshot);
}

static bool get_nearest(Scan *scan) {
    IndexScanDesc descriptor = scan->descriptor;
    ItemPointerData tid;
    uint64 row[1 + kMaxLanes];
    double distance;
    bool is_null;
    for (;;) {
        const Step step = next_nearest(scan->nearest, &tid, row, &distance, &is_null);
        if (step == Step::Recycled) {
            begin_skipping(&scan->returned, scan->descriptor->indexRelation);
            take_new_view(scan);
            restart_nearest(scan->nearest);
            continue;
        }
        if (step == Step::End || !was_returned(scan->returned, tid)) {
            storage::got_on(&scan->reader.cached);
            if (step == Step::End)
                return false;
            break;
        }
    }
    descriptor->xs_heaptid = tid;
    descriptor->xs_recheck = must_recheck(*scan);
    descriptor->xs_recheckorderby = gives_bounds(*scan->nearest);
    descriptor->xs_orderbyvals[0] = Float8GetDatum(distance);
    descriptor->xs_orderbynulls[0] = is_null;
    // The further distances are left to PostgreSQL, because the scan doesn't compute them.
    for (int i = 1; descriptor->xs_recheckorderby && i < descriptor->numberOfOrderBys; i++) {
        descriptor->xs_orderbyvals[i] = Float8GetDatum(-get_float8_infinity());
        descriptor->xs_orderbynulls[i] = false;
    }
    if (descriptor->xs_want_itup)
        descriptor->xs_itup = make_index_tuple(scan, row);
    note_returned(&scan->returned, tid);
    return true;
}

bool get_tuple(IndexScanDesc descriptor, ScanDirection) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    if (unlikely(!scan->started))
        begin_reading(scan);
    if (scan->nearest != nullptr)
        return get_nearest(scan);
    if (scan->at == scan->batch.count && !fill_batch(scan))
        return false;
    const uint32 at = scan->at++;
    descriptor->xs_heaptid = scan->batch.tids[at];
    descriptor->xs_recheck = must_recheck(*scan);
    if (descriptor->xs_want_itup)
        descriptor->xs_itup =
            make_index_tuple(scan, scan->batch.rows + at * static_cast<size_t>(scan->format->row_words));
    note_returned(&scan->returned, descriptor->xs_heaptid);
    return true;
}

namespace {

struct BitmapSink {
    TIDBitmap *bitmap;
    bool recheck;
    int64 added;
};

}  // namespace

// Begins the bitmap again after a change of view: adding a TID twice does no harm.
static void reset_bitmap(void *context) {
    static_cast<BitmapSink *>(context)->added = 0;
}

static void add_to_bitmap(void *context, Batch *batch) {
    auto *sink = static_cast<BitmapSink *>(context);
    tbm_add_tuples(sink->bitmap, batch->tids, static_cast<int>(batch->count), sink->recheck);
    sink->added += batch->count;
}

int64 get_bitmap(IndexScanDesc descriptor, TIDBitmap *bitmap) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    // A bitmap scan is not told its table, which the executor has locked; TIDs are checked against its
    // length.
    Relation heap = table_open(descriptor->indexRelation->rd_index->indrelid, NoLock);
    read_keys(scan);
    count_index_search(descriptor);
    MemoryContext caller = MemoryContextSwitchTo(scan->keys_context);
    auto *reader = allocate<ViewReader>(1);
    begin_view_reader(reader, heap, descriptor->indexRelation, scan->format, descriptor->xs_snapshot,
                      &scan->condition);
    // The heap decides about an old view's TIDs, where it is looked at (rule "Old views").
    BitmapSink sink = {bitmap, bitmap_scan_skips_heap() || must_recheck(*scan), 0};
    const BatchSink batches = {&sink, reset_bitmap, add_to_bitmap};
    renew_view(reader);
    const client::Usage before = client::session_usage();
    const bool answered = search_on_server(reader, batches);
    client::add_usage_since(before, &scan->usage);
    if (!answered)
        drain_view(reader, batches);
    client::note_request_done(descriptor->indexRelation, client::RequestKind::SearchGrid);
    end_view_reader(reader);
    MemoryContextSwitchTo(caller);
    table_close(heap, NoLock);
    return sink.added;
}

IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count) {
    IndexScanDesc descriptor = RelationGetIndexScan(index, key_count, order_by_count);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_grid scan", ALLOCSET_SMALL_SIZES);
    auto *scan = static_cast<Scan *>(MemoryContextAllocZero(context, sizeof(Scan)));
    scan->descriptor = descriptor;
    scan->format = format_of(index);
    scan->context = context;
    scan->keys_context = AllocSetContextCreate(context, "gpu_grid scan keys", ALLOCSET_SMALL_SIZES);
    begin_returned(&scan->returned, context);
    if (order_by_count > 0) {
        const auto count = static_cast<size_t>(order_by_count);
        descriptor->xs_orderbyvals = static_cast<Datum *>(palloc0(count * sizeof(Datum)));
        descriptor->xs_orderbynulls = static_cast<bool *>(palloc(count * sizeof(bool)));
        memset(descriptor->xs_orderbynulls, true, count * sizeof(bool));
    }
    descriptor->opaque = scan;
    return descriptor;
}

static void end_nearest_of(Scan *scan) {
    if (scan->nearest != nullptr)
        end_nearest(scan->nearest);
    scan->nearest = nullptr;
}

void rescan(IndexScanDesc descriptor, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    if (keys != nullptr && key_count > 0)
        memmove(descriptor->keyData, keys, static_cast<size_t>(key_count) * sizeof(ScanKeyData));
    if (order_bys != nullptr && order_by_count > 0)
        memmove(descriptor->orderByData, order_bys,
                static_cast<size_t>(order_by_count) * sizeof(ScanKeyData));
    end_nearest_of(scan);
    forget_returned(&scan->returned);
    scan->started = false;
}

void end_scan(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    end_nearest_of(scan);
    end_view_reader(&scan->reader);
    forget_returned(&scan->returned);
    if (scan->index_only) {
        close_visibility(&scan->resolver.visibility);
        close_row_visibility(&scan->resolver.rows);
        close_heap_probe(&scan->resolver.probe);
    }
    MemoryContextDelete(scan->context);
    descriptor->opaque = nullptr;
}

client::Usage scan_usage(IndexScanDesc descriptor) {
    return static_cast<const Scan *>(descriptor->opaque)->usage;
}

}  // namespace pg_gpu::grid
