// CREATE INDEX: the table's rows are collected in memory, column by column, in order of TID. What exceeds
// maintenance_work_mem becomes a run in a temporary file; in the end all parts are merged as runs are.
#include "column/column.h"
#include "column/run_builder.h"

namespace pg_gpu::column {

enum BuildPhase : int64 { PhaseScan = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1, PhaseWrite };

char *build_phase_name(int64 phase) {
    switch (phase) {
        case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
            return pstrdup("initializing");
        case PhaseScan:
            return pstrdup("scanning table and collecting columns");
        case PhaseWrite:
            return pstrdup("merging dictionaries and writing columns");
        default:
            return nullptr;
    }
}

namespace {

// Rows put aside.
struct Part {
    storage::RunEntry run;
    BufFile *file;
    RunReader reader;
};

struct BuildState {
    Relation index;
    MemoryContext context;
    MemoryContext row_context;
    Format *format;
    size_t memory;
    Chunk *chunk;
    Part *parts;
    int part_count;
    // The heap block that rows come from: those of HOT chains bear the TID of the chain's first row, and come
    // out of order.
    BlockNumber block;
    uint64 block_start;
    uint64 total;
};

}  // namespace

static void finish_rows(BuildState *state) {
    sort_rows(state->chunk, state->block_start);
    finish_chunk(state->chunk);
}

static void put_aside(BuildState *state) {
    finish_rows(state);
    state->parts =
        state->parts == nullptr ? allocate<Part>(1) : reallocate(state->parts, state->part_count + 1);
    Part *part = &state->parts[state->part_count++];
    *part = {};
    PageSink sink;
    begin_file_sink(&sink);
    const Input input = {state->chunk, nullptr};
    write_run(state->index, *state->format, &input, 1, &sink, &part->run);
    finish_sink(&sink);
    part->file = sink.file;
    end_chunk(state->chunk);
    state->chunk = begin_chunk(*state->format, state->memory);
    state->block_start = 0;
}

// A part has at least so many rows.
static constexpr uint64 kLeastPart = 4096;

static void begin_block(BuildState *state, BlockNumber block) {
    sort_rows(state->chunk, state->block_start);
    state->block_start = state->chunk->rows;
    state->block = block;
}

static void collect_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool, void *context) {
    auto *state = static_cast<BuildState *>(context);
    MemoryContext caller = MemoryContextSwitchTo(state->context);
    const BlockNumber block = ItemPointerGetBlockNumber(tid);
    if (block != state->block) {
        // Between blocks, so that parts don't overlap.
        if (state->chunk->rows >= kLeastPart &&
            chunk_bytes_with(state->chunk, MaxHeapTuplesPerPage) > state->memory)
            put_aside(state);
        begin_block(state, block);
    }
    add_row(state->chunk, uint64{block} << 16 | ItemPointerGetOffsetNumber(tid));
    MemoryContextSwitchTo(state->row_context);
    for (int i = 0; i < state->format->columns; i++)
        if (!nulls[i])
            add_datum(state->chunk, i, values[i]);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(state->row_context);
    state->total++;
}

static void write_parts(BuildState *state, storage::RunWriter *writer, storage::RunEntry *entry) {
    auto *inputs = allocate_zeroed<Input>(state->part_count + 1);
    int count = 0;
    for (int i = 0; i < state->part_count; i++) {
        Part *part = &state->parts[i];
        open_file_reader(&part->reader, state->index, part->run, part->file, state->format->columns);
        inputs[count++].reader = &part->reader;
    }
    if (state->chunk->rows > 0)
        inputs[count++].chunk = state->chunk;
    PageSink sink;
    begin_index_sink(&sink, writer);
    write_run(state->index, *state->format, inputs, count, &sink, entry);
    for (int i = 0; i < state->part_count; i++)
        BufFileClose(state->parts[i].file);
}

IndexBuildResult *build(Relation heap, Relation index, IndexInfo *index_info) {
    if (RelationGetNumberOfBlocks(index) != 0)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("index \"%s\" already contains data", RelationGetRelationName(index))));
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseScan);
    auto *result = allocate_zeroed<IndexBuildResult>(1);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column build", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *state = allocate_zeroed<BuildState>(1);
    state->index = index;
    state->context = context;
    state->row_context = AllocSetContextCreate(context, "gpu_column row", ALLOCSET_DEFAULT_SIZES);
    state->format = make_format(index);
    state->memory = static_cast<size_t>(maintenance_work_mem) * 1024;
    state->chunk = begin_chunk(*state->format, state->memory);
    state->block = InvalidBlockNumber;
    // Never a synchronised scan: rows are in order of TID.
    result->heap_tuples =
        table_index_build_scan(heap, index, index_info, false, true, collect_row, state, nullptr);
    result->index_tuples = static_cast<double>(state->total);
    finish_rows(state);

    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseWrite);
    storage::RunEntry entry = {};
    if (state->total > 0) {
        entry.run_id = storage::new_run_id();
        storage::RunWriter *writer = storage::begin_build(index, &entry);
        write_parts(state, writer, &entry);
        storage::finish_run(writer);
        entry.level = storage::level_of(run_kind(), entry.entries, storage::fanout_of(index));
    } else {
        storage::begin_build(index, &entry);
    }
    storage::finish_build(index, run_kind(), entry);

    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return result;
}

}  // namespace pg_gpu::column
