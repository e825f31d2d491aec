// gpu.verify: dictionary, lists, documents, and agreement with the table (as amcheck's heapallindexed does
// it, with a Bloom filter of the index's documents that the table's rows are then looked up in).
#include <algorithm>
#include <cmath>

#include "text/corpus.h"
#include "text/options.h"
#include "text/text.h"

namespace pg_gpu::text {

namespace {

// What the filter remembers of a document: its lexemes, with their frequencies, in any order.
struct Fingerprint {
    uint64 lexemes;
    uint32 block;
    uint32 offset;
};

struct Verification {
    Relation heap;
    Relation index;
    storage::ProblemReporter report;
    void *context;
    BlockNumber heap_blocks;
    bloom_filter *filter;  // nullptr without the heap check
    // TIDs of live documents, checked against the table's line pointers in heap order, a chunk at a time.
    ItemPointerData *tids;
    uint32 tid_count;
    uint32 tid_room;
};

// What a run's lists say of its documents.
struct RunSums {
    uint32 *lengths;
    uint64 *hashes;
};

}  // namespace

static constexpr uint64 kNullHash = UINT64CONST(0x9e3779b97f4a7c15);

static uint64 hash_posting(const char *lexeme, uint32 length, uint32 frequency) {
    return DatumGetUInt64(hash_any_extended(reinterpret_cast<const unsigned char *>(lexeme),
                                            static_cast<int>(length), frequency));
}

static Fingerprint fingerprint(uint64 lexemes, const ItemPointerData &tid) {
    return {lexemes, ItemPointerGetBlockNumberNoCheck(&tid), ItemPointerGetOffsetNumberNoCheck(&tid)};
}

// Live entries must point to line pointers in use: VACUUM removes entries before it frees their line
// pointers.
static void check_line_pointers(Verification *state) {
    std::sort(state->tids, state->tids + state->tid_count,
              [](const ItemPointerData &a, const ItemPointerData &b) {
                  return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
              });
    for (uint32 i = 0; i < state->tid_count;) {
        CHECK_FOR_INTERRUPTS();
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&state->tids[i]);
        Buffer buffer = ReadBuffer(state->heap, block);
        LockBuffer(buffer, BUFFER_LOCK_SHARE);
        Page page = BufferGetPage(buffer);
        const OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
        for (; i < state->tid_count && ItemPointerGetBlockNumberNoCheck(&state->tids[i]) == block; i++) {
            const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&state->tids[i]);
            if (offset > last || !ItemIdIsUsed(PageGetItemId(page, offset)))
                state->report(InvalidBlockNumber, &state->tids[i],
                              "An entry points to a row that is not there.", state->context);
        }
        UnlockReleaseBuffer(buffer);
    }
    state->tid_count = 0;
}

static void note_document(Verification *state, BlockNumber block, const ItemPointerData &tid, uint64 hash) {
    const OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(&tid);
    if (ItemPointerGetBlockNumberNoCheck(&tid) >= state->heap_blocks || offset == InvalidOffsetNumber ||
        offset > MaxHeapTuplesPerPage) {
        state->report(block, &tid, "An entry's TID lies outside the table.", state->context);
        return;
    }
    if (state->filter == nullptr)
        return;
    Fingerprint print = fingerprint(hash, tid);
    bloom_add_element(state->filter, reinterpret_cast<unsigned char *>(&print), sizeof(print));
    if (state->tid_count == state->tid_room)
        check_line_pointers(state);
    state->tids[state->tid_count++] = tid;
}

// ---- runs
// --------------------------------------------------------------------------------------------------

static BlockNumber section_block(const RunReader *reader, int section, uint32 page) {
    return storage::run_block(reader->run, reader->run.sections[section].first_page + page);
}

static void verify_list(Verification *state, DictionaryCursor *dictionary, const postings::Norms &norms,
                        RunSums *sums) {
    RunReader *reader = dictionary->reader;
    const BlockNumber block_number = section_block(
        reader, kPostingSection, static_cast<uint32>(dictionary->list_start / storage::kContentBytes));
    ListCursor *list = open_list(dictionary);
    for (uint32 block = 0; load_block(list, block); block++) {
        CHECK_FOR_INTERRUPTS();
        double least = HUGE_VAL;
        for (uint32 i = 0; i < list->count; i++) {
            const uint32 ordinal = list->ordinals[i];
            const uint32 frequency = frequency_at(list, i);
            least = Min(least, norms.of(document_length(reader, ordinal)) / static_cast<double>(frequency));
            sums->lengths[ordinal] += frequency;
            sums->hashes[ordinal] += hash_posting(dictionary->lexeme, dictionary->lexeme_length, frequency);
        }
        const float bound = std::bit_cast<float>(uint32{list->heads[block].bound} << 16);
        if (!(static_cast<double>(bound) <= least))
            state->report(block_number, nullptr, "A block's bound is too low.", state->context);
    }
    pfree(list->heads);
    pfree(list);
}

static void verify_lists(Verification *state, RunReader *reader, RunSums *sums) {
    const Options options = {postings::Codec::Bitpack, reader->header.k1, reader->header.b};
    const postings::Norms norms = norms_for(options, reader->header.average_length);
    auto *dictionary = allocate<DictionaryCursor>(1);
    char previous[kMostLexemeBytes];
    uint32 previous_length = 0;
    uint64 lexemes = 0;
    uint64 posting_total = 0;
    uint64 end = 0;
    for (begin_dictionary(dictionary, reader); !dictionary->end; next_entry(dictionary)) {
        const BlockNumber block = section_block(reader, kDictionarySection, dictionary->page);
        if (lexemes > 0 &&
            compare_lexemes(previous, previous_length, dictionary->lexeme, dictionary->lexeme_length) >= 0)
            state->report(block, nullptr, "Lexemes are out of order.", state->context);
        if (dictionary->list_start != end)
            state->report(block, nullptr, "A list does not begin where the one before ends.", state->context);
        memcpy(previous, dictionary->lexeme, dictionary->lexeme_length);
        previous_length = dictionary->lexeme_length;
        end = dictionary->next_list;
        lexemes++;
        posting_total += dictionary->frequency;
        verify_list(state, dictionary, norms, sums);
    }
    if (reader->stale)
        return;
    if (lexemes != reader->header.lexemes || end != reader->header.posting_bytes ||
        posting_total != posting_count(reader->run))
        state->report(section_block(reader, kDictionarySection, 0), nullptr,
                      "The dictionary disagrees with what its head says.", state->context);
    pfree(dictionary);
}

static void verify_document_pages(Verification *state, RunReader *reader, const RunSums &sums) {
    auto *tids = allocate<ItemPointerData>(kDocumentsPerPage);
    ItemPointerData previous;
    ItemPointerSetInvalid(&previous);
    uint64 total = 0;
    uint32 nulls = 0;
    for (uint32 page = 0; page < document_pages(reader->run.entries); page++) {
        CHECK_FOR_INTERRUPTS();
        const BlockNumber block = section_block(reader, kDocumentSection, page);
        const uint32 count = read_document_tids(reader, page, tids);
        for (uint32 i = 0; i < count; i++) {
            const uint32 ordinal = page * kDocumentsPerPage + i;
            const uint32 length = document_length(reader, ordinal);
            const bool is_null = length == kNullLength;
            if (ItemPointerIsValid(&previous) && ItemPointerCompare(&previous, &tids[i]) >= 0)
                state->report(block, &tids[i], "Documents are out of order.", state->context);
            if (sums.lengths[ordinal] != (is_null ? 0 : length))
                state->report(block, &tids[i], "A document's length is not the sum of its frequencies.",
                              state->context);
            previous = tids[i];
            nulls += is_null ? 1 : 0;
            total += is_null ? 0 : length;
            if (!is_dead(reader, ordinal))
                note_document(state, block, tids[i], is_null ? kNullHash : sums.hashes[ordinal]);
        }
    }
    if (!reader->stale && (total != total_length(reader->run) || nulls != reader->header.null_documents))
        state->report(section_block(reader, kDocumentSection, 0), nullptr,
                      "The documents disagree with what the directory says.", state->context);
    pfree(tids);
}

static void verify_run(Verification *state, const storage::RunEntry &run) {
    auto *reader = allocate<RunReader>(1);
    open_reader(reader, state->index, run);
    RunSums sums = {allocate_zeroed<uint32>(run.entries), allocate_zeroed<uint64>(run.entries)};
    if (!reader->stale)
        verify_lists(state, reader, &sums);
    if (!reader->stale)
        verify_document_pages(state, reader, sums);
    close_reader(reader);
}

static void note_items(Verification *state, BlockNumber block, const RawSource &source) {
    for_each_item(source, [&](const DocumentItem *item) {
        uint64 hash = is_null(item) ? kNullHash : 0;
        ItemReader reader = begin_item(item);
        while (next_lexeme(&reader))
            hash += hash_posting(reader.lexeme.bytes, reader.lexeme.length, reader.lexeme.frequency);
        note_document(state, block, item->head.tid, hash);
    });
}

static void verify_raw_run(Verification *state, const storage::RunEntry &run) {
    RawSource source = {};
    source.items = read_raw_items(state->index, run, &source.bytes);
    source.dead = allocate_zeroed<uint64>((run.entries + 63) / 64);
    if (source.items == nullptr ||
        !storage::read_dead_bits(state->index, run, 0, static_cast<uint32>(run.entries), source.dead))
        return;  // the structural check has reported it
    note_items(state, storage::run_block(run, 0), source);
}

// Readers raise what they find damaged; here it is an answer. They hold no lock when they do.
template <typename Work>
static void report_damage_of(Verification *state, BlockNumber block, Work work) {
    MemoryContext caller = CurrentMemoryContext;
    PG_TRY();
    { work(); }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller);
        ErrorData *error = CopyErrorData();
        if (error->sqlerrcode != ERRCODE_INDEX_CORRUPTED)
            PG_RE_THROW();
        FlushErrorState();
        state->report(block, nullptr, error->detail, state->context);
    }
    PG_END_TRY();
    MemoryContextSwitchTo(caller);
}

// ---- the table
// ---------------------------------------------------------------------------------------------

static void look_up_heap_row(Relation, ItemPointer tid, Datum *values, bool *nulls, bool alive,
                             void *context) {
    auto *state = static_cast<Verification *>(context);
    if (!alive)
        return;
    uint64 hash = kNullHash;
    if (!nulls[0]) {
        TSVector vector = document_of(values, nulls);
        hash = 0;
        for_each_lexeme(vector, [&hash](const Lexeme &lexeme) {
            hash += hash_posting(lexeme.bytes, lexeme.length, lexeme.frequency);
        });
        if (reinterpret_cast<Pointer>(vector) != DatumGetPointer(values[0]))
            pfree(vector);
    }
    Fingerprint print = fingerprint(hash, *tid);
    if (bloom_lacks_element(state->filter, reinterpret_cast<unsigned char *>(&print), sizeof(print)))
        state->report(InvalidBlockNumber, tid, "A row is missing from the index.", state->context);
}

// Rows visible to a snapshot taken before the index was read must all be in the filter.
static void verify_rows(Verification *state, Snapshot snapshot) {
    TableScanDesc scan = table_beginscan_strat(state->heap, snapshot, 0, nullptr, true, true);
    IndexInfo *info = BuildIndexInfo(state->index);
    info->ii_Concurrent = true;  // an MVCC scan: only what the snapshot sees
    info->ii_ExclusionOps = nullptr;

    // The index's expressions and predicate run as the table's owner, as they would in REINDEX: whoever
    // verifies may be a superuser, and the functions are the owner's.
    Oid user;
    int security_context;
    GetUserIdAndSecContext(&user, &security_context);
    SetUserIdAndSecContext(state->heap->rd_rel->relowner, security_context | SECURITY_RESTRICTED_OPERATION);
    const int nest_level = NewGUCNestLevel();
    table_index_build_scan(state->heap, state->index, info, true, false, look_up_heap_row, state, scan);
    AtEOXact_GUC(false, nest_level);
    SetUserIdAndSecContext(user, security_context);
}

static void copy_tail(const char *items, uint32 bytes, void *context) {
    auto *copy = static_cast<RawSource *>(context);
    memcpy(copy->items, items, bytes);
    copy->bytes = bytes;
}

void verify_documents(Relation heap, Relation index, bool check_heap, storage::ProblemReporter report,
                      void *context) {
    Verification state = {};
    state.heap = heap;
    state.index = index;
    state.report = report;
    state.context = context;
    state.tid_room = 65536;
    state.tids = allocate<ItemPointerData>(state.tid_room);

    Snapshot snapshot = RegisterSnapshot(GetActiveSnapshot());
    storage::View view = {};
    RawSource tail = {allocate<char>(storage::kContentBytes), 0, nullptr};
    storage::take_view(index, run_kind(), snapshot, &view, copy_tail, &tail);
    // Read after the view: entries of the view are for rows that were there before.
    state.heap_blocks = RelationGetNumberOfBlocks(heap);
    uint64 total = tail.bytes / sizeof(DocumentItem);
    for (int i = 0; i < view.run_count; i++)
        total += view.runs[i].entries;
    if (check_heap)
        state.filter = bloom_create(static_cast<int64>(total), maintenance_work_mem, view.vacuum_seq);

    report_damage_of(&state, storage::kTailBlock, [&] {
        check_items(index, storage::kTailBlock, tail.items, tail.bytes);
        note_items(&state, storage::kTailBlock, tail);
    });
    MemoryContext run_context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.verify run", ALLOCSET_DEFAULT_SIZES);
    for (int i = 0; i < view.run_count; i++) {
        MemoryContext caller = MemoryContextSwitchTo(run_context);
        report_damage_of(&state, storage::run_block(view.runs[i], 0), [&] {
            if (layout_of(view.runs[i]) == Layout::Raw)
                verify_raw_run(&state, view.runs[i]);
            else
                verify_run(&state, view.runs[i]);
        });
        MemoryContextSwitchTo(caller);
        MemoryContextReset(run_context);
    }
    if (check_heap) {
        check_line_pointers(&state);
        verify_rows(&state, snapshot);
        bloom_free(state.filter);
    }
    UnregisterSnapshot(snapshot);
}

}  // namespace pg_gpu::text
