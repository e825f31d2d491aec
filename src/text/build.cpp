// CREATE INDEX, in three phases:
//   1. scan the table in order of TID and invert its documents, spilling sorted lists to temporary files as
//      often as maintenance_work_mem asks for. In a parallel build each participant does so for the parts of
//      the table that it sees, and numbers its own documents;
//   2. merge the files' lists, lexeme by lexeme, and write them past the buffer manager;
//   3. write dictionary, documents, metapage and tail.
#include <algorithm>

#include "table/parallel_build.h"
#include "text/build_merge.h"
#include "text/text.h"

namespace pg_gpu::text {

using namespace table;

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

struct Collector {
    Inverter inverter;
    RunBuilder *builder;         // of a serial build, which takes documents as they come
    BufFile *documents;          // of a parallel build
    MemoryContext page_context;  // of the pending rows' values
    MemoryContext row_context;
    PendingRow pending[MaxHeapTuplesPerPage];
    int pending_count;
    uint64 total;
};

constexpr size_t kFileNameLength = 32;

}  // namespace

static void name_documents(char *name, int participant) {
    snprintf(name, kFileNameLength, "documents.%d", participant);
}

static Collector *begin_collecting(size_t memory, SharedFileSet *shared, int participant) {
    auto *collector = allocate_zeroed<Collector>(1);
    begin_inverter(&collector->inverter, memory, shared, participant);
    collector->page_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text page", ALLOCSET_DEFAULT_SIZES);
    collector->row_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text row", ALLOCSET_DEFAULT_SIZES);
    return collector;
}

static void invert_row(Collector *collector, const PendingRow &row) {
    MemoryContext caller = MemoryContextSwitchTo(collector->row_context);
    TSVector vector = document_of(&row.value, &row.is_null);
    MemoryContextSwitchTo(caller);
    const auto ordinal = static_cast<uint32>(collector->total);
    uint32 length = kNullLength;
    if (vector != nullptr)
        length = for_each_lexeme(vector, [collector, ordinal](const Lexeme &lexeme) {
            invert_lexeme(&collector->inverter, lexeme, ordinal);
        });
    if (collector->builder != nullptr) {
        add_document(collector->builder, row.tid, length);
        spill_if_full(&collector->inverter, documents_memory(collector->builder));
    } else {
        write_document(collector->documents, row.tid, length);
        spill_if_full(&collector->inverter, 0);
    }
    MemoryContextReset(collector->row_context);
    collector->total++;
}

static void invert_pending(Collector *collector) {
    std::sort(collector->pending, collector->pending + collector->pending_count,
              [](const PendingRow &a, const PendingRow &b) {
                  return ItemPointerCompare(const_cast<ItemPointer>(&a.tid),
                                            const_cast<ItemPointer>(&b.tid)) < 0;
              });
    for (int i = 0; i < collector->pending_count; i++)
        invert_row(collector, collector->pending[i]);
    collector->pending_count = 0;
    MemoryContextReset(collector->page_context);
}

static size_t maintenance_memory() {
    return static_cast<size_t>(maintenance_work_mem) * 1024;
}

static void collect_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool, void *context) {
    auto *collector = static_cast<Collector *>(context);
    if (collector->pending_count == MaxHeapTuplesPerPage ||
        (collector->pending_count > 0 &&
         ItemPointerGetBlockNumber(&collector->pending[0].tid) != ItemPointerGetBlockNumber(tid)))
        invert_pending(collector);
    MemoryContext caller = MemoryContextSwitchTo(collector->page_context);
    PendingRow *row = &collector->pending[collector->pending_count++];
    row->tid = *tid;
    row->is_null = nulls[0];
    // As it lies in the row: a value stored elsewhere is fetched when its turn comes.
    row->value = nulls[0] ? Datum{0} : datumCopy(values[0], false, -1);
    MemoryContextSwitchTo(caller);
}

// ---- a worker's part --------------------------------------------------------------------------------------

static void collect_as_worker(BuildWorker *worker) {
    Collector *collector = begin_collecting(worker->memory, worker->files, worker->participant);
    char name[kFileNameLength];
    name_documents(name, worker->participant);
    collector->documents = BufFileCreateFileSet(&worker->files->fs, name);
    worker->heap_tuples = table_index_build_scan(worker->heap, worker->index, worker->index_info, true, false,
                                                 collect_row, collector, worker->scan);
    invert_pending(collector);
    BufFileExportFileSet(collector->documents);
    BufFileClose(collector->documents);
    hand_over_lists(&collector->inverter);
    worker->total = collector->total;
    worker->handed_over = static_cast<uint64>(collector->inverter.file_count);
}

// ---- the leader's -----------------------------------------------------------------------------------------

// The participants' documents, numbered through in order of TID.
static DocumentPart *number_documents(Collector *collector, ParallelBuild *parallel, RunBuilder *builder) {
    const int participants = parallel_participants(parallel);
    auto *parts = allocate<DocumentPart>(participants);
    if (BufFileSeek(collector->documents, 0, 0, SEEK_SET) != 0)
        ereport(ERROR,
                (errcode_for_file_access(), errmsg("could not rewind a temporary file of an index build")));
    open_part(&parts[0], collector->documents, collector->total);
    for (int i = 1; i < participants; i++) {
        char name[kFileNameLength];
        name_documents(name, i);
        // A worker that could not be started has left none.
        BufFile *file = BufFileOpenFileSet(&parallel_files(parallel)->fs, name, O_RDONLY, true);
        open_part(&parts[i], file,
                  file == nullptr ? 0 : static_cast<uint64>(BufFileSize(file)) / kDocumentBytes);
    }
    merge_documents(parts, participants, builder);
    for (int i = 0; i < participants; i++)
        if (parts[i].file != nullptr)
            BufFileClose(parts[i].file);
    return parts;
}

static void write_index(Relation index, Collector *collector, ParallelBuild *parallel, RunBuilder *builder,
                        uint64 total) {
    pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PhaseWrite);
    storage::RunEntry entry = {};
    if (total > 0)
        entry.run_id = storage::new_run_id();
    storage::RunWriter *writer = storage::begin_build(index, &entry);
    if (total > 0) {
        const DocumentPart *parts = nullptr;
        SharedFileSet *shared = nullptr;
        const uint64 *files = nullptr;
        int participants = 1;
        if (parallel != nullptr) {
            parts = number_documents(collector, parallel, builder);
            shared = parallel_files(parallel);
            files = handed_over(parallel);
            participants = parallel_participants(parallel);
            // The workers' memory is free now, but for what the builder keeps of documents.
            collector->inverter.limit = maintenance_memory();
            spill_if_full(&collector->inverter, documents_memory(builder));
        }
        begin_lists(builder, writer, &entry);
        int count;
        TermSource *sources = open_sources(&collector->inverter, shared, files, participants, &count);
        merge_lists(sources, count, parts, participants, builder);
        close_sources(sources, count);
        finish_run_builder(builder);
        storage::finish_run(writer);
        entry.level = storage::level_of(run_kind(), entry.entries, storage::fanout_of(index));
    }
    storage::finish_build(index, run_kind(), entry);
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

    ParallelBuild *parallel = begin_parallel_build(heap, index, index_info, "pg_gpu_text_build_worker_main");
    auto *builder = allocate<RunBuilder>(1);
    begin_run_builder(builder, options_of(index));
    const int participants = parallel != nullptr ? parallel_participants(parallel) : 1;
    Collector *collector =
        begin_collecting(maintenance_memory() / static_cast<size_t>(participants), nullptr, 0);
    if (parallel != nullptr)
        collector->documents = BufFileCreateTemp(false);
    else
        collector->builder = builder;
    // Never a synchronised scan: ordinals are in order of TID. A parallel scan must be allowed to be one
    // here; its description says that it isn't.
    result->heap_tuples =
        table_index_build_scan(heap, index, index_info, parallel != nullptr, true, collect_row, collector,
                               parallel != nullptr ? parallel_table_scan(parallel, heap) : nullptr);
    invert_pending(collector);
    uint64 total = collector->total;
    if (parallel != nullptr)
        finish_parallel_scan(parallel, index_info, &result->heap_tuples, &total);
    result->index_tuples = static_cast<double>(total);
    write_index(index, collector, parallel, builder, total);
    if (parallel != nullptr)
        end_parallel_build(parallel);

    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return result;
}

}  // namespace pg_gpu::text

extern "C" PGDLLEXPORT void pg_gpu_text_build_worker_main(dsm_segment *segment, shm_toc *toc);

void pg_gpu_text_build_worker_main(dsm_segment *segment, shm_toc *toc) {
    pg_gpu::table::run_build_worker(segment, toc, pg_gpu::text::collect_as_worker);
}
