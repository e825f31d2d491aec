// Reads one view of an index source by source.
#include "grid/scan.h"

namespace pg_gpu::grid {

void begin_view_reader(ViewReader *reader, Relation heap, Relation index, const Format *format,
                       Snapshot snapshot, const Condition *condition) {
    *reader = {};
    reader->heap = heap;
    reader->index = index;
    reader->format = format;
    reader->snapshot = snapshot;
    reader->condition = condition;
    reader->context = CurrentMemoryContext;
    storage::begin_cached(&reader->cached);
    reader->view.cached = &reader->cached;
}

static void end_run(ViewReader *reader) {
    if (reader->run_begun)
        end_run_scan(&reader->run);
    reader->run_begun = false;
}

void end_view_reader(ViewReader *reader) {
    end_run(reader);
    storage::end_cached(&reader->cached);
}

static void make_tail_room(ViewReader *reader, uint32 rows) {
    if (reader->tail_room >= rows)
        return;
    const auto words = static_cast<size_t>(reader->format->row_words);
    reader->tail_room = Max(rows, reader->tail_room * 2);
    reader->tail = reader->tail == nullptr ? allocate<uint64>(reader->tail_room * words)
                                           : reallocate(reader->tail, reader->tail_room * words);
}

// Copies the tail's matches while it is locked.
static void visit_tail(const char *tail_tuples, uint32 bytes, void *context) {
    if (bytes == 0)
        return;
    auto *reader = static_cast<ViewReader *>(context);
    const Format &format = *reader->format;
    const auto words = static_cast<size_t>(format.row_words);
    make_tail_room(reader, static_cast<uint32>(format.tail_capacity / format.tail_tuple_bytes));
    for (uint32 at = 0; at < bytes; at += format.tail_tuple_bytes) {
        uint64 *row = reader->tail + reader->tail_count * words;
        read_tail_tuple(format, tail_tuples + at, row);
        if (unlikely((place_nulls(row[0]) & ~format.all_null) != 0))
            storage::report_corruption(reader->index, storage::kTailBlock,
                                       "A tuple of the tail has NULLs in columns that are not there.");
        // Tests on points may raise errors; the tail's lock is released as any other then.
        reader->tail_count += matches(format, *reader->condition, row) ? 1 : 0;
    }
}

void renew_view(ViewReader *reader) {
    MemoryContext caller = MemoryContextSwitchTo(reader->context);
    end_run(reader);
    reader->tail_count = 0;
    storage::take_view(reader->index, reader->format, reader->snapshot, &reader->view, visit_tail, reader);
    reader->source = -1;
    MemoryContextSwitchTo(caller);
}

void confirm_recycled(const ViewReader &reader, const storage::RunEntry &run, uint32 position) {
    storage::confirm_recycled(reader.index, reader.format, reader.view, run, position);
}

void check_tid(ViewReader *reader, const ItemPointerData &tid) {
    if (unlikely(!is_possible_tid(reader->heap, &reader->heap_blocks, tid)))
        storage::report_corruption(reader->index, storage::kMetaBlock,
                                   "An entry's TID lies outside the table.");
}

void check_tids(ViewReader *reader, const Batch &batch) {
    const BlockNumber blocks = reader->heap_blocks;
    bool are_within = true;
    for (uint32 i = 0; i < batch.count; i++)
        are_within &= is_tid_within(batch.tids[i], blocks);
    if (likely(are_within))
        return;
    for (uint32 i = 0; i < batch.count; i++)
        check_tid(reader, batch.tids[i]);
}

RunScan *begin_run_scans(const ViewReader &reader, const storage::RunEntry *runs, int count) {
    auto *scans = allocate<RunScan>(static_cast<size_t>(count) + 1);
    for (int i = 0; i < count; i++)
        begin_run_scan(&scans[i], reader.index, reader.format, &runs[i]);
    return scans;
}

void end_run_scans(RunScan *scans, int count) {
    for (int i = 0; i < count; i++)
        end_run_scan(&scans[i]);
    pfree(scans);
}

// Takes the tail's matches alone, as the first batch; returns false when there are none.
static bool take_tail(ViewReader *reader, Batch *batch) {
    const auto words = static_cast<size_t>(reader->format->row_words);
    reader->source = 0;
    batch->count = reader->tail_count;
    for (uint32 i = 0; i < batch->count; i++)
        batch->tids[i] = place_tid(reader->tail[i * words]);
    if (batch->rows != nullptr && batch->count > 0)
        memcpy(batch->rows, reader->tail, batch->count * words * sizeof(uint64));
    check_tids(reader, *batch);
    return batch->count > 0;
}

static void add_to_tail(ViewReader *reader, const Batch &batch) {
    const auto words = static_cast<size_t>(reader->format->row_words);
    make_tail_room(reader, reader->tail_count + batch.count);
    memcpy(reader->tail + reader->tail_count * words, batch.rows, batch.count * words * sizeof(uint64));
    reader->tail_count += batch.count;
}

static bool read_run_into_tail(ViewReader *reader, const storage::RunEntry &run, Batch *batch) {
    RunScan scan;
    begin_run_scan(&scan, reader->index, reader->format, &run);
    Step step = Step::Entry;
    while ((step = next_batch(&scan, *reader->condition, batch)) == Step::Entry) {
        check_tids(reader, *batch);
        add_to_tail(reader, *batch);
    }
    if (step == Step::Recycled)
        confirm_recycled(*reader, run, recycled_position(scan));
    end_run_scan(&scan);
    return step == Step::End;
}

bool read_into_tail(ViewReader *reader, const bool *chosen) {
    MemoryContext caller = MemoryContextSwitchTo(reader->context);
    end_run(reader);
    auto *batch = allocate<Batch>(1);
    batch->rows = allocate<uint64>(size_t{kMaxOnPage} * static_cast<size_t>(reader->format->row_words));
    storage::View *view = &reader->view;
    bool valid = true;
    int cached = 0;
    for (int i = 0; i < view->run_count; i++) {
        const storage::RunEntry run = view->runs[i];
        if (chosen[i])
            valid = valid && read_run_into_tail(reader, run, batch);
        else
            view->runs[cached++] = run;
    }
    view->run_count = cached;
    pfree(batch->rows);
    pfree(batch);
    MemoryContextSwitchTo(caller);
    return valid;
}

Step next_batch(ViewReader *reader, Batch *batch) {
    batch->count = 0;
    if (reader->condition->nothing)
        return Step::End;
    if (reader->source < 0 && take_tail(reader, batch))
        return Step::Entry;
    while (reader->source < reader->view.run_count) {
        const storage::RunEntry &run = reader->view.runs[reader->source];
        MemoryContext caller = MemoryContextSwitchTo(reader->context);
        if (!reader->run_begun)
            begin_run_scan(&reader->run, reader->index, reader->format, &run);
        reader->run_begun = true;
        const Step step = next_batch(&reader->run, *reader->condition, batch);
        MemoryContextSwitchTo(caller);
        if (step == Step::Recycled)
            confirm_recycled(*reader, run, recycled_position(reader->run));
        if (step == Step::Entry) {
            check_tids(reader, *batch);
            storage::check_snapshot_of_view(reader->index, reader->format, reader->snapshot);
        }
        if (step != Step::End)
            return step;
        end_run(reader);
        reader->source++;
    }
    return Step::End;
}

void drain(ViewReader *reader, const BatchSink &sink) {
    renew_view(reader);
    drain_view(reader, sink);
}

void drain_view(ViewReader *reader, const BatchSink &sink) {
    auto *batch = allocate<Batch>(1);
    batch->rows = nullptr;
    for (;;) {
        const Step step = next_batch(reader, batch);
        if (step == Step::End)
            break;
        if (step == Step::Recycled) {
            renew_view(reader);
            sink.reset(sink.context);
        } else {
            sink.add(sink.context, batch);
        }
    }
    storage::got_on(&reader->cached);
    pfree(batch);
}

// Entries were read before the visibility map is, and vacuum_seq is read again after it: when it is what the
// view says, no VACUUM finished in between, so an all-visible block's live entries are visible to everyone
// (rules "Trust" and "Index-only scans"). The rest is looked up.
bool resolve_batch(Resolver *resolver, const ViewReader &reader, Batch *batch) {
    bool visible[kMaxOnPage];
    bool all_visible = true;
    for (uint32 i = 0; i < batch->count; i++) {
        visible[i] = is_all_visible(&resolver->visibility, ItemPointerGetBlockNumberNoCheck(&batch->tids[i]));
        all_visible = all_visible && visible[i];
    }
    if (storage::read_vacuum_seq(reader.index, reader.format) != reader.view.vacuum_seq)
        return false;
    if (all_visible)
        return true;
    // No heap page stays pinned while the cursor is idle, because VACUUM (FREEZE) would wait for it.
    find_visible(&resolver->rows, batch->tids, batch->count, visible);
    keep_entries(*reader.format, batch, [&](uint32 i) { return visible[i]; });
    return true;
}

}  // namespace pg_gpu::grid
