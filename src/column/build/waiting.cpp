// Rows of a statement that inserts many: few wait as items, for the tail; many are collected as in a build,
// and become a run.
#include "column/column.h"
#include "column/build/run_builder.h"
#include "storage/storage.h"

namespace pg_gpu::column {

struct WaitingColumns {
    storage::WaitingRows rows;
    Format format;
    char *items;
    uint32 item_bytes;
    uint32 item_room;
    Chunk *chunk;  // nullptr while there are few
};

// The bytes of items, some hundred rows, from which on they are worth a run. Fewer fill some tails.
static constexpr uint32 kMaxItemBytes = 65536;
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

// The run is made in memory, so that the young-runs lock is held only while its pages are copied: other
// sessions that insert may want it.
static void write_rows(Relation index, storage::WaitingRows *rows) {
    auto *waiting = reinterpret_cast<WaitingColumns *>(rows);
    if (waiting->chunk == nullptr) {
        storage::append_items(index, run_kind(), waiting->items, waiting->item_bytes);
        return;
    }
    MemoryContext memory =
        AllocSetContextCreate(rows->context, "gpu_column waiting run", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    Chunk *chunk = waiting->chunk;
    name_index(chunk, index);
    sort_rows(chunk, 0);
    drop_dear_dictionaries(chunk);
    finish_chunk(chunk);
    FinishedRun finished = {};
    begin_memory_sink(&finished.sink);
    const Input input = {chunk, nullptr};
    write_run(index, waiting->format, &input, 1, &finished.sink, &finished.entry);
    storage::add_run(index, run_kind(),
                     finished.sink.begun + storage::dead_bitmap_pages(finished.entry.entries), write_finished,
                     &finished);
    MemoryContextSwitchTo(caller);
}

// ---- collecting -------------------------------------------------------------------------------------------

WaitingColumns *begin_waiting_columns(Relation index, const Format &format) {
    auto *waiting = reinterpret_cast<WaitingColumns *>(
        storage::begin_waiting(index, run_kind(), sizeof(WaitingColumns), write_rows));
    waiting->format = format;
    waiting->item_room = kFirstItemRoom;
    waiting->items = static_cast<char *>(MemoryContextAlloc(waiting->rows.context, waiting->item_room));
    return waiting;
}

static void begin_columns(Relation index, WaitingColumns *waiting) {
    MemoryContext caller = MemoryContextSwitchTo(waiting->rows.context);
    Chunk *chunk = begin_chunk(index, waiting->format, 0, wanted_form(index));
    chunk->sample = kDistinctSample;
    for_each_item(
        index, waiting->format, storage::kTailBlock, {waiting->items, waiting->item_bytes},
        [chunk](const storage::TailItem *item, const ItemValue *values) { add_item(chunk, item, values); });
    pfree(waiting->items);
    waiting->items = nullptr;
    waiting->item_bytes = waiting->item_room = 0;
    waiting->chunk = chunk;
    MemoryContextSwitchTo(caller);
}

static void add_to_items(Relation index, WaitingColumns *waiting, const storage::TailItem *item) {
    const uint32 size = storage::tail_item_size(item);
    if (waiting->item_bytes + size > waiting->item_room) {
        waiting->item_room = Max(waiting->item_room * 2, waiting->item_bytes + size);
        waiting->items = reallocate(waiting->items, waiting->item_room);
    }
    memcpy(waiting->items + waiting->item_bytes, item, size);
    waiting->item_bytes += size;
    if (waiting->item_bytes > kMaxItemBytes)
        begin_columns(index, waiting);
}

void add_waiting_row(Relation index, WaitingColumns *waiting, const Datum *values, const bool *nulls,
                     const ItemPointerData &tid) {
    storage::require_usable_tid(index, tid);
    const storage::TailItem *item =
        waiting->chunk == nullptr ? make_item(waiting->format, values, nulls, tid) : nullptr;
    // A row that is longer than a tail is worth a run, too.
    if (waiting->chunk == nullptr && item == nullptr)
        begin_columns(index, waiting);
    if (item != nullptr) {
        add_to_items(index, waiting, item);
    } else {
        add_row(waiting->chunk, place_of(tid));
        add_values(waiting->chunk, values, nulls);
    }
    storage::note_waiting_bytes(
        &waiting->rows,
        MemoryContextMemAllocated(waiting->rows.context, false) +
            (waiting->chunk == nullptr ? 0 : MemoryContextMemAllocated(waiting->chunk->context, false)));
}

}  // namespace pg_gpu::column
