// Bitmap scans: conditions are answered in bulk, and the TIDs of what matches handed over.
#include "compat.h"
#include "column/column.h"
#include "column/scan/mirror.h"
#include "subtransaction.h"
#include "request_kinds.h"

namespace pg_gpu::column {

namespace {

struct Scan {
    const Format *format;
    MemoryContext keys_context;  // lives as long as one scan
    client::Usage usage;
};

}  // namespace

IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count) {
    IndexScanDesc descriptor = RelationGetIndexScan(index, key_count, order_by_count);
    auto *scan = allocate_zeroed<Scan>(1);
    scan->format = make_format(index);
    scan->keys_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column scan", ALLOCSET_DEFAULT_SIZES);
    descriptor->opaque = scan;
    return descriptor;
}

void rescan(IndexScanDesc descriptor, ScanKey keys, int key_count, ScanKey, int) {
    if (keys != nullptr && key_count > 0)
        memmove(descriptor->keyData, keys, static_cast<size_t>(key_count) * sizeof(ScanKeyData));
}

void end_scan(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    MemoryContextDelete(scan->keys_context);
    pfree(scan);
    descriptor->opaque = nullptr;
}

client::Usage scan_usage(IndexScanDesc descriptor) {
    return static_cast<const Scan *>(descriptor->opaque)->usage;
}

// ---- operators that may raise errors ----------------------------------------------------------------------

static uint64 **copy_selected(ColumnView *view) {
    auto **copy = allocate<uint64 *>(view->run_count + 1);
    for (int i = 0; i < view->run_count; i++) {
        const uint64 words = groups_of(view->runs[i].run.entries);
        copy[i] = allocate<uint64>(words);
        memcpy(copy[i], view->selected[i], words * sizeof(uint64));
    }
    return copy;
}

// Applies the keys whose operators may raise errors. False when one did, or might beside parallel workers:
// the rows are as before then, and are to be rechecked.
static bool try_unsafe_keys(ColumnView *view, const Condition &condition) {
    if (is_all_safe(condition))
        return true;
    if (!may_try())
        return false;
    uint64 **selected = copy_selected(view);
    auto *loose = allocate<bool>(view->loose_count + 1);
    for (uint32 i = 0; i < view->loose_count; i++)
        loose[i] = view->loose[i].selected;

    ErrorData *error = try_in_subtransaction(CurrentMemoryContext,
                                             [&] { select_matching(view, condition, KeysToApply::Unsafe); });
    if (error == nullptr)
        return true;
    if (!is_about_values(error->sqlerrcode))
        ReThrowError(error);
    FreeErrorData(error);
    view->selected = selected;
    for (uint32 i = 0; i < view->loose_count; i++)
        view->loose[i].selected = loose[i];
    return false;
}

// ---- TIDs -------------------------------------------------------------------------------------------------

namespace {

struct BitmapSink {
    TIDBitmap *bitmap;
    bool recheck;
    int64 added;
};

}  // namespace

static void add_tids(void *context, const ItemPointerData *tids, uint64 count) {
    auto *sink = static_cast<BitmapSink *>(context);
    for (uint64 done = 0; done < count;) {
        constexpr uint64 kAtOnce = 4096;
        CHECK_FOR_INTERRUPTS();
        const int batch = static_cast<int>(Min(count - done, kAtOnce));
        tbm_add_tuples(sink->bitmap, const_cast<ItemPointerData *>(tids + done), batch, sink->recheck);
        done += static_cast<uint64>(batch);
    }
    sink->added += static_cast<int64>(count);
}

static int64 add_rows(ColumnView *view, TIDBitmap *bitmap, bool recheck) {
    BitmapSink sink = {bitmap, recheck, 0};
    for (int i = 0; i < view->run_count; i++)
        give_selected(view, i, add_tids, &sink);
    for (uint32 i = 0; i < view->loose_count; i++)
        if (view->loose[i].selected)
            add_tids(&sink, &view->loose[i].tid, 1);
    return sink.added;
}

int64 get_bitmap(IndexScanDesc descriptor, TIDBitmap *bitmap) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    Relation index = descriptor->indexRelation;
    count_index_search(descriptor);
    MemoryContextReset(scan->keys_context);
    MemoryContext caller = MemoryContextSwitchTo(scan->keys_context);
    Condition condition;
    make_condition(index, *scan->format, descriptor->keyData, descriptor->numberOfKeys, &condition);
    // The heap decides about an old view's TIDs, where it is looked at (rule "Old views").
    const bool always_recheck = bitmap_scan_skips_heap() || !IsMVCCSnapshot(descriptor->xs_snapshot);
    // A bitmap scan is not told its table, which the executor has locked.
    Relation heap = table_open(index->rd_index->indrelid, NoLock);
    storage::CachedRuns cached;
    storage::begin_cached(&cached);
    // TIDs that a request has added before it broke off do no harm: the bitmap's rows are rechecked or added
    // again.
    BitmapSink sink = {bitmap, always_recheck, 0};
    const client::Usage before = client::session_usage();
    bool done =
        match_on_server(heap, index, descriptor->xs_snapshot, scan->format, condition, add_tids, &sink);
    int64 added = sink.added;
    while (!done) {
        ColumnView *view = open_view(heap, index, descriptor->xs_snapshot, scan->format, condition, &cached);
        MemoryContextSwitchTo(view->context);
        uint32 position;
        if (recycled_run(view, &position) == nullptr) {
            select_matching(view, condition, KeysToApply::Safe);
            const bool exact = try_unsafe_keys(view, condition);
            // After a change of view the scan starts again: adding a TID twice does no harm.
            added = add_rows(view, bitmap, always_recheck || !exact);
        }
        MemoryContextSwitchTo(scan->keys_context);
        const storage::RunEntry *recycled = recycled_run(view, &position);
        done = recycled == nullptr;
        if (!done)
            storage::confirm_recycled(index, run_kind(), view->view, *recycled, position);
        else
            count_skipped_runs(*view);
        close_view(view);
    }
    storage::end_cached(&cached);
    client::add_usage_since(before, &scan->usage);
    client::note_request_done(index, client::RequestKind::MatchColumn);
    table_close(heap, NoLock);
    MemoryContextSwitchTo(caller);
    return added;
}

}  // namespace pg_gpu::column
