// CREATE INDEX: each participant collects its rows of the table in memory, column by column, in order of TID.
// It writes a run to a temporary file whenever its part of maintenance_work_mem is full, and workers do so at
// their end. At last the leader merges all parts as runs are merged.
#include "column/column.h"
#include "column/build/run_builder.h"
#include "table/table.h"
#include "temporary_file.h"

namespace pg_gpu::column {

namespace {

// Rows put aside.
struct Part {
    storage::RunEntry run;
    BufFile *file;
    RunReader reader;
};

// The rows that one participant of a build has seen.
struct BuildState {
    Relation index;
    MemoryContext context;
    MemoryContext row_context;
    Format *format;
    size_t memory;
    Chunk *chunk;
    Part *parts;
    uint64 part_count;
    // The parts of a parallel build lie here, by name.
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

static void *begin_part(const table::BuildPart &part) {
    auto *state = allocate_zeroed<BuildState>(1);
    state->index = part.index;
    state->context = CurrentMemoryContext;
    state->row_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column row", ALLOCSET_DEFAULT_SIZES);
    state->format = make_format(part.index);
    state->memory = part.memory;
    state->chunk = begin_chunk(state->index, *state->format, state->memory, wanted_form(state->index));
    state->files = part.files;
    state->participant = part.participant;
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
    state->chunk = begin_chunk(state->index, *state->format, state->memory, wanted_form(state->index));
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
        // Parts end between blocks, so that they don't overlap.
        if (state->chunk->rows >= kLeastPart &&
            chunk_bytes_with(state->chunk, MaxHeapTuplesPerPage) > state->memory)
            put_aside(state);
        begin_block(state, block);
    }
    add_row(state->chunk, encode_tid(*tid));
    MemoryContextSwitchTo(state->row_context);
    add_values(state->chunk, values, nulls);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(state->row_context);
    state->total++;
}

static void read_part(BuildState *state, Part *part, int participant, uint64 number) {
    char name[kPartNameLength];
    name_part(name, participant, number);
    part->file = BufFileOpenFileSet(&state->files->fs, name, O_RDONLY, false);
    const uint64 pages = static_cast<uint64>(BufFileSize(part->file)) / BLCKSZ;
    seek_file_block(part->file, pages, state->index);
    read_file(part->file, &part->run, sizeof(part->run), state->index);
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

static table::HandedOver hand_over(void *context) {
    auto *state = static_cast<BuildState *>(context);
    if (state->chunk->rows > 0)
        put_aside(state);
    return {state->total, state->part_count};
}

static uint64 finish_collecting(void *context) {
    auto *state = static_cast<BuildState *>(context);
    finish_rows(state);
    return state->total;
}

static void write_parts(void *context, const table::BuildTarget &target) {
    auto *state = static_cast<BuildState *>(context);
    if (target.parallel != nullptr)
        open_parts(state, target.parallel);
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
    begin_index_sink(&sink, target.writer);
    write_run(state->index, *state->format, inputs, count, &sink, target.entry);
    for (uint64 i = 0; i < state->part_count; i++)
        BufFileClose(state->parts[i].file);
}

const table::BuildSteps *build_steps(Relation) {
    // Rows are in order of TID.
    static constexpr table::BuildSteps steps = {
        .takes_any_order = false,
        .begin = begin_part,
        .collect = collect_row,
        .hand_over = hand_over,
        .finish = finish_collecting,
        .sort = nullptr,
        .write = write_parts,
    };
    return &steps;
}

}  // namespace pg_gpu::column
