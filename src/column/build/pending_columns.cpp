// Rows of a statement that inserts many: few wait as tuples, for the tail; many are collected as in a build,
// and become a run.
#include "column/column.h"
#include "column/build/run_builder.h"
#include "storage/storage.h"

namespace pg_gpu::column {

struct PendingColumns {
    storage::PendingRows rows;
    Format format;
    char *tail_tuples;
    uint32 tail_tuple_bytes;
    uint32 tail_tuple_room;
    Chunk *chunk;  // nullptr while there are few
};

// The bytes of tuples, some hundred rows, from which on they are worth a run. Fewer fill some tails.
static constexpr uint32 kMaxTailTupleBytes = 65536;
static constexpr uint32 kFirstItemRoom = 1024;

// Rows come in the midst of other work, with all columns' tables out of the processor's caches. If almost all
// of a column's first integers differ, whether a dictionary pays is told faster when the run is written.
static constexpr uint32 kDistinctSample = 4096;

// ---- writing ----------------------------------------------------------------------------------------------

static void name_index(Chunk *chunk, Relation index) {
    chunk->index = index;
    for (int i = 0; i < chunk->columns; i++)
        chunk->column[i].integers.index = chunk->column[i].strings.index = index;
}

namespace {

struct FinishedRun {
    PageSink sink;
    storage::RunEntry entry;
};

}  // namespace

static void write_finished(storage::RunWriter *writer, storage::RunEntry *entry, void *context) {
    const auto *finished = static_cast<const FinishedRun *>(context);
    entry->entries = finished->entry.entries;
    memcpy(entry->sections, finished->entry.sections, sizeof(entry->sections));
    memcpy(entry->access_method_data, finished->entry.access_method_data, sizeof(entry->access_method_data));
    copy_pages(finished->sink, writer);
}

// The run is made in memory, so that the recent-runs lock is held only while its pages are copied: other
// sessions that insert may want it.
static void write_rows(Relation index, storage::PendingRows *rows) {
    auto *pending = reinterpret_cast<PendingColumns *>(rows);
    if (pending->chunk == nullptr) {
        storage::append_tail_tuples(index, run_kind(), pending->tail_tuples, pending->tail_tuple_bytes);
        return;
    }
    MemoryContext memory =
        AllocSetContextCreate(rows->context, "gpu_column waiting run", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    Chunk *chunk = pending->chunk;
    name_index(chunk, index);
    sort_rows(chunk, 0);
    drop_dear_dictionaries(chunk);
    finish_chunk(chunk);
    FinishedRun finished = {};
    begin_memory_sink(&finished.sink);
    const Input input = {chunk, nullptr};
    write_run(index, pending->format, &input, 1, &finished.sink, &finished.entry);
    storage::add_run(index, run_kind(),
                     finished.sink.begun + storage::dead_bitmap_pages(finished.entry.entries), write_finished,
                     &finished);
    MemoryContextSwitchTo(caller);
}

// ---- collecting -------------------------------------------------------------------------------------------

PendingColumns *begin_pending_columns(Relation index, const Format &format) {
    auto *pending = reinterpret_cast<PendingColumns *>(
        storage::begin_pending(index, run_kind(), sizeof(PendingColumns), write_rows));
    pending->format = format;
    pending->tail_tuple_room = kFirstItemRoom;
    pending->tail_tuples =
        static_cast<char *>(MemoryContextAlloc(pending->rows.context, pending->tail_tuple_room));
    return pending;
}

static void begin_columns(Relation index, PendingColumns *pending) {
    MemoryContext caller = MemoryContextSwitchTo(pending->rows.context);
    Chunk *chunk = begin_chunk(index, pending->format, 0, wanted_form(index));
    chunk->sample = kDistinctSample;
    for_each_tail_tuple(index, pending->format, storage::kTailBlock,
                        {pending->tail_tuples, pending->tail_tuple_bytes},
                        [chunk](const storage::TailTuple *tail_tuple, const TupleValue *values) {
                            add_tail_tuple(chunk, tail_tuple, values);
                        });
    pfree(pending->tail_tuples);
    pending->tail_tuples = nullptr;
    pending->tail_tuple_bytes = pending->tail_tuple_room = 0;
    pending->chunk = chunk;
    MemoryContextSwitchTo(caller);
}

static void add_to_tail_tuples(Relation index, PendingColumns *pending,
                               const storage::TailTuple *tail_tuple) {
    const uint32 size = storage::tail_tuple_size(tail_tuple);
    if (pending->tail_tuple_bytes + size > pending->tail_tuple_room) {
        pending->tail_tuple_room = Max(pending->tail_tuple_room * 2, pending->tail_tuple_bytes + size);
        pending->tail_tuples = reallocate(pending->tail_tuples, pending->tail_tuple_room);
    }
    memcpy(pending->tail_tuples + pending->tail_tuple_bytes, tail_tuple, size);
    pending->tail_tuple_bytes += size;
    if (pending->tail_tuple_bytes > kMaxTailTupleBytes)
        begin_columns(index, pending);
}

void add_pending_row(Relation index, PendingColumns *pending, const Datum *values, const bool *nulls,
                     const ItemPointerData &tid) {
    storage::require_usable_tid(index, tid);
    const storage::TailTuple *tail_tuple =
        pending->chunk == nullptr ? make_tail_tuple(pending->format, values, nulls, tid) : nullptr;
    // A row that is longer than a tail is worth a run, too.
    if (pending->chunk == nullptr && tail_tuple == nullptr)
        begin_columns(index, pending);
    if (tail_tuple != nullptr) {
        add_to_tail_tuples(index, pending, tail_tuple);
    } else {
        add_row(pending->chunk, encode_tid(tid));
        add_values(pending->chunk, values, nulls);
    }
    storage::note_pending_bytes(
        &pending->rows,
        MemoryContextMemAllocated(pending->rows.context, false) +
            (pending->chunk == nullptr ? 0 : MemoryContextMemAllocated(pending->chunk->context, false)));
}

}  // namespace pg_gpu::column
