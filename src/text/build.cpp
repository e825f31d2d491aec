// CREATE INDEX, in three phases:
//   1. scan the table in order of TID and invert its documents, spilling sorted lists to temporary files as
//      often as maintenance_work_mem asks for;
//   2. merge the files' lists, lexeme by lexeme, and write them past the buffer manager;
//   3. write dictionary, documents, metapage and tail.
#include <algorithm>

#include "text/inverter.h"
#include "text/run_builder.h"
#include "text/text.h"

namespace pg_gpu::text {

enum BuildPhase : int64 { PhaseScan = PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE + 1, PhaseWrite };

char *build_phase_name(int64 phase) {
    switch (phase) {
        case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
            return pstrdup("initializing");
        case PhaseScan:
            return pstrdup("scanning table and inverting documents");
        case PhaseWrite:
            return pstrdup("merging and writing lists");
        default:
            return nullptr;
    }
}

namespace {

// A row of the table's current page: a HOT chain's row comes with the TID of the chain's first, so rows of
// one page arrive out of order.
struct PendingRow {
    ItemPointerData tid;
    bool is_null;
    Datum value;
};

struct BuildState {
    Inverter inverter;
    RunBuilder *builder;
    MemoryContext page_context;  // of the pending rows' values
    MemoryContext row_context;
    PendingRow pending[MaxHeapTuplesPerPage];
    int pending_count;
    uint64 total;
};

}  // namespace

static void invert_row(BuildState *state, const PendingRow &row) {
    MemoryContext caller = MemoryContextSwitchTo(state->row_context);
    TSVector vector = document_of(&row.value, &row.is_null);
    MemoryContextSwitchTo(caller);
    const auto ordinal = static_cast<uint32>(state->builder->documents);
    uint32 length = kNullLength;
    if (vector != nullptr)
        length = for_each_lexeme(vector, [state, ordinal](const Lexeme &lexeme) {
            invert_lexeme(&state->inverter, lexeme, ordinal);
        });
    add_document(state->builder, row.tid, length);
    spill_if_full(&state->inverter, documents_memory(state->builder));
    MemoryContextReset(state->row_context);
    state->total++;
}

static void invert_pending(BuildState *state) {
    std::sort(
        state->pending, state->pending + state->pending_count, [](const PendingRow &a, const PendingRow &b) {
            return ItemPointerCompare(const_cast<ItemPointer>(&a.tid), const_cast<ItemPointer>(&b.tid)) < 0;
        });
    for (int i = 0; i < state->pending_count; i++)
        invert_row(state, state->pending[i]);
    state->pending_count = 0;
    MemoryContextReset(state->page_context);
}

static void collect_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool, void *context) {
    auto *state = static_cast<BuildState *>(context);
    if (state->pending_count == MaxHeapTuplesPerPage ||
        (state->pending_count > 0 &&
         ItemPointerGetBlockNumber(&state->pending[0].tid) != ItemPointerGetBlockNumber(tid)))
        invert_pending(state);
    MemoryContext caller = MemoryContextSwitchTo(state->page_context);
    PendingRow *row = &state->pending[state->pending_count++];
    row->tid = *tid;
    row->is_null = nulls[0];
    // As it lies in the row: a value stored elsewhere is fetched when its turn comes.
    row->value = nulls[0] ? Datum{0} : datumCopy(values[0], false, -1);
    MemoryContextSwitchTo(caller);
}

static bool later_source(const TermSource *a, const TermSource *b) {
    const int order = compare_lexemes(a->lexeme, a->length, b->lexeme, b->length);
    return order != 0 ? order > 0 : a->number > b->number;
}

static void add_list(RunBuilder *builder, const TermSource *source) {
    const uint8 *at = source->buffer;
    const uint8 *end = at + source->bytes;
    uint64 next = 0;
    while (at < end) {
        uint64 gap;
        uint64 frequency;
        at = read_varint(at, end, &gap);
        at = read_varint(at, end, &frequency);
        next += gap;
        add_posting(builder, static_cast<uint32>(next), static_cast<uint32>(frequency));
        next++;
    }
}

// The sources hold ascending parts of the documents, so a lexeme's lists follow one another.
static void write_lists(Inverter *inverter, RunBuilder *builder) {
    int count;
    TermSource *sources = open_sources(inverter, &count);
    auto **heap = allocate<TermSource *>(count + 1);
    for (int i = 0; i < count; i++)
        heap[i] = &sources[i];
    int live = count;
    std::make_heap(heap, heap + live, later_source);
    char lexeme[kMostLexemeBytes];
    while (live > 0) {
        const uint32 length = heap[0]->length;
        memcpy(lexeme, heap[0]->lexeme, length);
        begin_list(builder);
        while (live > 0 && compare_lexemes(heap[0]->lexeme, heap[0]->length, lexeme, length) == 0) {
            std::pop_heap(heap, heap + live, later_source);
            add_list(builder, heap[live - 1]);
            if (next_term(heap[live - 1]))
                std::push_heap(heap, heap + live, later_source);
            else
                live--;
        }
        finish_list(builder, lexeme, length);
        if (builder->lexemes % 1024 == 0)
            CHECK_FOR_INTERRUPTS();
    }
    close_sources(sources, count);
}

IndexBuildResult *build(Relation heap, Relation index, IndexInfo *index_info) {
    if (RelationGetNumberOfBlocks(index) != 0)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR),
                        errmsg("index \"%s\" already contains data", RelationGetRelationName(index))));
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseScan);
    auto *result = allocate_zeroed<IndexBuildResult>(1);
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text build", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);

    auto *state = allocate_zeroed<BuildState>(1);
    begin_inverter(&state->inverter, static_cast<size_t>(maintenance_work_mem) * 1024);
    state->builder = allocate<RunBuilder>(1);
    begin_run_builder(state->builder, options_of(index));
    state->page_context = AllocSetContextCreate(context, "gpu_text page", ALLOCSET_DEFAULT_SIZES);
    state->row_context = AllocSetContextCreate(context, "gpu_text row", ALLOCSET_DEFAULT_SIZES);
    // Never a synchronised scan: ordinals are in order of TID.
    result->heap_tuples =
        table_index_build_scan(heap, index, index_info, false, true, collect_row, state, nullptr);
    invert_pending(state);
    result->index_tuples = static_cast<double>(state->total);

    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseWrite);
    storage::RunEntry entry = {};
    if (state->total > 0) {
        entry.run_id = storage::new_run_id();
        storage::RunWriter *writer = storage::begin_build(index, &entry);
        begin_lists(state->builder, writer, &entry);
        write_lists(&state->inverter, state->builder);
        finish_run_builder(state->builder);
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

}  // namespace pg_gpu::text
