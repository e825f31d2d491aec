// CREATE INDEX: each participant collects its rows of the table in memory, column by column, in order of TID.
// What exceeds its part of maintenance_work_mem, and what workers have in the end, becomes a run in a
// temporary file; at last the leader merges all parts as runs are merged.
#include "column/column.h"
#include "column/run_builder.h"
#include "table/parallel_build.h"

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

// What one participant of a build has seen.
struct BuildState {
    Relation index;
    MemoryContext context;
    MemoryContext row_context;
    Format *format;
    size_t memory;
    Chunk *chunk;
    Part *parts;
    uint64 part_count;
    // Of a parallel build: where parts go by name.
    SharedFileSet *files;
    int participant;
    // The heap block that rows come from: those of HOT chains bear the TID of the chain's first row, and come
    // out of order.
    BlockNumber block;
    uint64 block_start;
    uint64 total;
};

}  // namespace

static constexpr size_t kPartNameLength = 40;

static void name_part(char *name, int participant, uint64 part) {
    snprintf(name, kPartNameLength, "c%d.%llu", participant, static_cast<unsigned long long>(part));
}

static BuildState *begin_build_state(Relation index, size_t memory, SharedFileSet *files, int participant) {
    auto *state = allocate_zeroed<BuildState>(1);
    state->index = index;
    state->context = CurrentMemoryContext;
    state->row_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column row", ALLOCSET_DEFAULT_SIZES);
    state->format = make_format(index);
    state->memory = memory;
    state->chunk = begin_chunk(*state->format, state->memory);
    state->files = files;
    state->participant = participant;
    state->block = InvalidBlockNumber;
    return state;
}

static void finish_rows(BuildState *state) {
    sort_rows(state->chunk, state->block_start);
    finish_chunk(state->chunk);
}

static Part *add_part(BuildState *state) {
    const size_t count = state->part_count + 1;
    state->parts = state->parts == nullptr ? allocate<Part>(count) : reallocate(state->parts, count);
    Part *part = &state->parts[state->part_count++];
    *part = {};
    return part;
}

// Writes the rows in memory as a run to a file, and behind it the run's directory entry.
static void put_aside(BuildState *state) {
    finish_rows(state);
    Part *part = add_part(state);
    char name[kPartNameLength];
    name_part(name, state->participant, state->part_count - 1);
    part->file =
        state->files != nullptr ? BufFileCreateFileSet(&state->files->fs, name) : BufFileCreateTemp(false);
    PageSink sink;
    begin_file_sink(&sink, part->file);
    const Input input = {state->chunk, nullptr};
    write_run(state->index, *state->format, &input, 1, &sink, &part->run);
    finish_sink(&sink);
    BufFileWrite(part->file, &part->run, sizeof(part->run));
    if (state->files != nullptr) {
        BufFileExportFileSet(part->file);
        BufFileClose(part->file);
    }
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

static void read_part(BuildState *state, Part *part, int participant, uint64 number) {
    char name[kPartNameLength];
    name_part(name, participant, number);
    part->file = BufFileOpenFileSet(&state->files->fs, name, O_RDONLY, false);
    const int64 pages = BufFileSize(part->file) / BLCKSZ;
    if (BufFileSeekBlock(part->file, static_cast<long>(pages)) != 0 ||
        BufFileRead(part->file, &part->run, sizeof(part->run)) != sizeof(part->run))
        ereport(ERROR, (errcode_for_file_access(),
                        errmsg("could not read back a temporary file of an index build")));
}

// Opens all participants' parts, the leader's among them.
static void open_parts(BuildState *state, const table::ParallelBuild *parallel) {
    const uint64 own = state->part_count;
    for (uint64 i = 0; i < own; i++)
        read_part(state, &state->parts[i], 0, i);
    for (int participant = 1; participant < table::parallel_participants(parallel); participant++)
        for (uint64 i = 0; i < table::handed_over(parallel)[participant]; i++)
            read_part(state, add_part(state), participant, i);
}

static void write_parts(BuildState *state, storage::RunWriter *writer, storage::RunEntry *entry) {
    auto *inputs = allocate_zeroed<Input>(state->part_count + 1);
    int count = 0;
    for (uint64 i = 0; i < state->part_count; i++) {
        Part *part = &state->parts[i];
        open_file_reader(&part->reader, state->index, part->run, part->file, *state->format);
        inputs[count++].reader = &part->reader;
    }
    if (state->chunk->rows > 0)
        inputs[count++].chunk = state->chunk;
    PageSink sink;
    begin_index_sink(&sink, writer);
    write_run(state->index, *state->format, inputs, count, &sink, entry);
    for (uint64 i = 0; i < state->part_count; i++)
        BufFileClose(state->parts[i].file);
}

// Never a synchronised scan: rows are in order of TID. A parallel scan must be allowed to be one here; its
// descriptor says that it is not.
static double scan_table(Relation heap, IndexInfo *index_info, BuildState *state, TableScanDesc scan) {
    return table_index_build_scan(heap, state->index, index_info, scan != nullptr, state->participant == 0,
                                  collect_row, state, scan);
}

static void write_index(BuildState *state, uint64 total) {
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseWrite);
    storage::RunEntry entry = {};
    if (total > 0) {
        entry.run_id = storage::new_run_id();
        storage::RunWriter *writer = storage::begin_build(state->index, &entry);
        write_parts(state, writer, &entry);
        storage::finish_run(writer);
        entry.level = storage::level_of(run_kind(), entry.entries, storage::fanout_of(state->index));
    } else {
        storage::begin_build(state->index, &entry);
    }
    storage::finish_build(state->index, run_kind(), entry);
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
    table::ParallelBuild *parallel =
        table::begin_parallel_build(heap, index, index_info, "pg_gpu_column_build_worker_main");
    const size_t memory =
        static_cast<size_t>(maintenance_work_mem) * 1024 /
        static_cast<size_t>(parallel != nullptr ? table::parallel_participants(parallel) : 1);
    BuildState *state =
        begin_build_state(index, memory, parallel != nullptr ? table::parallel_files(parallel) : nullptr, 0);
    result->heap_tuples = scan_table(
        heap, index_info, state, parallel != nullptr ? table::parallel_table_scan(parallel, heap) : nullptr);
    finish_rows(state);
    uint64 total = state->total;
    if (parallel != nullptr) {
        table::finish_parallel_scan(parallel, index_info, &result->heap_tuples, &total);
        open_parts(state, parallel);
    }
    write_index(state, total);
    if (parallel != nullptr)
        table::end_parallel_build(parallel);
    result->index_tuples = static_cast<double>(total);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return result;
}

static void collect_as_worker(table::BuildWorker *worker) {
    BuildState *state = begin_build_state(worker->index, worker->memory, worker->files, worker->participant);
    worker->heap_tuples = scan_table(worker->heap, worker->index_info, state, worker->scan);
    if (state->chunk->rows > 0)
        put_aside(state);
    worker->total = state->total;
    worker->handed_over = state->part_count;
}

}  // namespace pg_gpu::column

extern "C" PGDLLEXPORT void pg_gpu_column_build_worker_main(dsm_segment *segment, shm_toc *toc);

void pg_gpu_column_build_worker_main(dsm_segment *segment, shm_toc *toc) {
    pg_gpu::table::run_build_worker(segment, toc, pg_gpu::column::collect_as_worker);
}
