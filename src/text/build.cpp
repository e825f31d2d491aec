// CREATE INDEX, in three phases:
//   1. scan the table in order of TID and invert its documents, spilling sorted lists to temporary files as
//      often as maintenance_work_mem asks for. In a parallel build each participant does so for the parts of
//      the table that it sees, and numbers its own documents;
//   2. merge the files' lists, lexeme by lexeme, and write them past the buffer manager;
//   3. write dictionary, documents, metapage and tail.
#include <algorithm>

#include "progress.h"
#include "table/table.h"
#include "text/build_merge.h"
#include "text/configuration.h"
#include "text/text.h"

namespace pg_gpu::text {

using namespace table;

namespace {

// A row of the table's current page: a HOT chain's row comes with the TID of the chain's first, so rows of
// one page arrive out of order.
struct PendingRow {
    ItemPointerData tid;
    bool is_null;
    Datum value;
};

struct Collector {
    DocumentSource source;
    bool positions;
    Inverter inverter;
    RunBuilder *builder;         // the leader's: in a serial build it takes documents as they come
    BufFile *documents;          // nullptr but in a parallel build
    MemoryContext page_context;  // has the pending rows' values
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

static void *begin_part(const BuildPart &part) {
    auto *collector = allocate_zeroed<Collector>(1);
    const bool is_leader = part.participant == 0;
    collector->source = source_to_build(part.index);
    collector->positions = options_of(part.index).positions;
    // The leader's lists are its own files.
    begin_inverter(&collector->inverter, part.index, part.memory, is_leader ? nullptr : part.files,
                   part.participant);
    collector->page_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text page", ALLOCSET_DEFAULT_SIZES);
    collector->row_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text row", ALLOCSET_DEFAULT_SIZES);
    if (is_leader) {
        collector->builder = allocate<RunBuilder>(1);
        begin_run_builder(collector->builder, part.index, options_of(part.index));
        if (part.files != nullptr)
            collector->documents = BufFileCreateTemp(false);
    } else {
        char name[kFileNameLength];
        name_documents(name, part.participant);
        collector->documents = BufFileCreateFileSet(&part.files->fs, name);
    }
    return collector;
}

static void invert_row(Collector *collector, const PendingRow &row) {
    MemoryContext caller = MemoryContextSwitchTo(collector->row_context);
    const DocumentPlace place = {collector->inverter.index, &row.tid};
    TSVector vector = document_of(collector->source, &row.value, &row.is_null, &place);
    MemoryContextSwitchTo(caller);
    const auto ordinal = static_cast<uint32>(collector->total);
    uint32 length = kNullLength;
    if (vector != nullptr)
        length = for_each_lexeme(vector, [collector, vector, ordinal](const Lexeme &lexeme) {
            uint8 positions[kMaxPositionBytes];
            const uint32 bytes =
                collector->positions ? write_positions(positions_of(vector, lexeme), positions) : 0;
            invert_lexeme(&collector->inverter, lexeme, ordinal, positions, bytes);
        });
    if (collector->documents == nullptr) {
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
    // The value is copied as it lies in the row: one that is stored elsewhere is fetched when its turn comes.
    row->value = nulls[0] ? Datum{0} : datumCopy(values[0], false, -1);
    MemoryContextSwitchTo(caller);
}

// ---- a worker's part --------------------------------------------------------------------------------------

static HandedOver hand_over(void *state) {
    auto *collector = static_cast<Collector *>(state);
    invert_pending(collector);
    BufFileExportFileSet(collector->documents);
    BufFileClose(collector->documents);
    hand_over_lists(&collector->inverter);
    return {collector->total, static_cast<uint64>(collector->inverter.file_count)};
}

// ---- the leader's -----------------------------------------------------------------------------------------

// Numbers the participants' documents in order of TID.
static DocumentPart *number_documents(Collector *collector, ParallelBuild *parallel, RunBuilder *builder) {
    const int participants = parallel_participants(parallel);
    auto *parts = allocate<DocumentPart>(participants);
    if (collector->documents != nullptr)
        rewind_file(collector->documents, builder->index);
    open_part(&parts[0], builder->index, collector->documents, collector->total);
    for (int i = 1; i < participants; i++) {
        char name[kFileNameLength];
        name_documents(name, i);
        // A worker that could not be started has left none.
        BufFile *file = BufFileOpenFileSet(&parallel_files(parallel)->fs, name, O_RDONLY, true);
        open_part(&parts[i], builder->index, file,
                  file == nullptr ? 0 : static_cast<uint64>(BufFileSize(file)) / kDocumentBytes);
    }
    merge_documents(parts, participants, builder);
    for (int i = 0; i < participants; i++)
        if (parts[i].file != nullptr)
            BufFileClose(parts[i].file);
    return parts;
}

static uint64 finish_collecting(void *state) {
    auto *collector = static_cast<Collector *>(state);
    invert_pending(collector);
    // A file without documents is closed here: nothing is written if no participant has rows, and nobody else
    // would close it.
    if (collector->documents != nullptr && collector->total == 0) {
        BufFileClose(collector->documents);
        collector->documents = nullptr;
    }
    return collector->total;
}

static void write_run(void *state, const BuildTarget &target) {
    auto *collector = static_cast<Collector *>(state);
    RunBuilder *builder = collector->builder;
    const DocumentPart *parts = nullptr;
    SharedFileSet *shared = nullptr;
    const uint64 *files = nullptr;
    int participants = 1;
    if (target.parallel != nullptr) {
        parts = number_documents(collector, target.parallel, builder);
        shared = parallel_files(target.parallel);
        files = handed_over(target.parallel);
        participants = parallel_participants(target.parallel);
        // The workers' memory is free now, but for what the builder keeps of documents.
        collector->inverter.limit = maintenance_memory();
        spill_if_full(&collector->inverter, documents_memory(builder));
    }
    begin_lists(builder, target.writer, target.entry);
    int count;
    TermSource *sources = open_sources(&collector->inverter, shared, files, participants, &count);
    uint64 lists = 0;
    for (int i = 0; i < count; i++)
        lists += uint64{sources[i].left} + 1;
    begin_phase("merging lists", lists);
    merge_lists(sources, count, parts, participants, builder);
    close_sources(sources, count);
    finish_run_builder(builder);
}

const BuildSteps *build_steps(Relation) {
    // Ordinals are in order of TID.
    static constexpr BuildSteps steps = {
        .takes_any_order = false,
        .begin = begin_part,
        .collect = collect_row,
        .hand_over = hand_over,
        .finish = finish_collecting,
        .sort = nullptr,
        .write = write_run,
    };
    return &steps;
}

}  // namespace pg_gpu::text
