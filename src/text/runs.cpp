// This file has what storage must know of gpu_text's runs: how a tail is sealed, how runs are merged, and
// where TIDs lie.
#include <algorithm>
#include <cmath>

#include "text/request.h"
#include "progress.h"
#include "sort.h"
#include "storage/storage.h"
#include "text/configuration.h"
#include "text/position_list.h"
#include "text/run_builder.h"
#include "text/text.h"

namespace pg_gpu::text {

// Keeps the tuples as they are: their lists are made by the first merge, of several tails together.
static void seal(const storage::RunKind *, const char *tail_tuples, uint32 bytes, uint32, Page page,
                 storage::RunEntry *entry) {
    uint64 length = 0;
    uint64 posting_total = 0;
    for (uint32 at = 0; at < bytes;) {
        const auto *tail_tuple = reinterpret_cast<const DocumentTuple *>(tail_tuples + at);
        length += tail_tuple->length;
        posting_total += lexeme_count(tail_tuple);
        at += storage::tail_tuple_size(&tail_tuple->head);
    }
    memcpy(storage::page_content(page), tail_tuples, bytes);
    storage::set_content_length(page, bytes);
    set_run_data(entry, Layout::Raw, length, posting_total);
}

bool read_raw_tuples(Relation index, const storage::RunEntry &run, storage::Items *tail_tuples) {
    if (!storage::read_sealed_tuples(index, run_kind(), run, sizeof(DocumentTuple), tail_tuples))
        return false;
    check_tail_tuples(index, storage::run_block(run, 0), *tail_tuples);
    return true;
}

// ---- merging ----------------------------------------------------------------------------------------------

namespace {

struct RawPosting {
    Lexeme lexeme;
    uint32 ordinal;
    PositionBytes positions;
};

struct RawDocument {
    ItemPointerData tid;
    uint32 length;
};

struct Posting {
    uint32 ordinal;
    uint32 value;  // its frequency, or where positions are kept, its number among PostingBuffer::details
};

// An input of a merge, with the postings or the reader that it is read by.
struct MergeInput {
    const storage::RunEntry *run;
    RunReader reader;
    // The new ordinals of the input's documents; kDropped: none.
    uint32 *new_ordinals;
    // Raw runs: postings by lexeme, and documents.
    bool raw;
    RawPosting *postings;
    uint64 posting_count;
    uint64 at;
    RawDocument *documents;
    // The next field is for inverted runs.
    DictionaryCursor *dictionary;
    // The next fields are for the merge of TIDs.
    uint32 next;
    ItemPointerData tid;
    ItemPointerData *page_tids;
    uint32 page;
};

}  // namespace

static constexpr uint32 kDropped = UINT32_MAX;

static void open_raw_input(Relation index, MergeInput *input) {
    storage::Items tail_tuples;
    if (!read_raw_tuples(index, *input->run, &tail_tuples))
        storage::report_foreign_page(index, *input->run, 0);
    input->postings = allocate<RawPosting>(posting_count(*input->run) + 1);
    input->documents = allocate<RawDocument>(input->run->entries);
    input->reader = {};
    input->reader.dead = tail_tuples.dead;
    uint32 ordinal = 0;
    for (uint32 at = 0; at < tail_tuples.bytes; ordinal++) {
        const auto *tail_tuple = reinterpret_cast<const DocumentTuple *>(tail_tuples.tail_tuples + at);
        input->documents[ordinal] = {tail_tuple->head.tid,
                                     is_null(tail_tuple) ? kNullLength : tail_tuple->length};
        TupleReader reader = begin_tuple(tail_tuple);
        while (next_lexeme(&reader)) {
            if (input->posting_count == posting_count(*input->run))
                storage::report_corruption(index, storage::run_block(*input->run, 0),
                                           "A sealed tail has more postings than recorded.");
            input->postings[input->posting_count++] = {reader.lexeme, ordinal, position_bytes(reader)};
        }
        at += storage::tail_tuple_size(&tail_tuple->head);
    }
}

static void open_input(Relation index, MergeInput *input, const storage::RunEntry *run) {
    *input = {};
    input->run = run;
    input->raw = layout_of(*run) == Layout::Raw;
    input->page = UINT32_MAX;
    input->new_ordinals = allocate<uint32>(run->entries);
    if (input->raw) {
        open_raw_input(index, input);
        return;
    }
    open_reader(&input->reader, index, *run);
    input->page_tids = allocate<ItemPointerData>(kDocumentsPerPage);
    input->dictionary = allocate<DictionaryCursor>(1);
}

// Moves to the next document that is not dead; false at the end.
static bool settle_document(Relation index, MergeInput *input) {
    while (input->next < input->run->entries && is_dead(&input->reader, input->next)) {
        input->new_ordinals[input->next] = kDropped;
        input->next++;
    }
    if (input->next >= input->run->entries)
        return false;
    if (input->raw) {
        input->tid = input->documents[input->next].tid;
        return true;
    }
    const uint32 page = input->next / kDocumentsPerPage;
    if (page != input->page) {
        storage::pause_merge(index);
        if (read_document_tids(&input->reader, page, input->page_tids) == 0)
            storage::report_foreign_page(index, *input->run, input->reader.stale_position);
        input->page = page;
        add_progress(Min(kDocumentsPerPage, input->run->entries - page * kDocumentsPerPage));
    }
    input->tid = input->page_tids[input->next % kDocumentsPerPage];
    return true;
}

static bool later_document(const MergeInput *a, const MergeInput *b) {
    return ItemPointerCompare(const_cast<ItemPointer>(&a->tid), const_cast<ItemPointer>(&b->tid)) > 0;
}

// Raw runs are short, but not in order: documents by TID, postings by lexeme.
static void sort_raw_input(MergeInput *input) {
    const auto entries = static_cast<uint32>(input->run->entries);
    auto *order = allocate<uint32>(entries);
    for (uint32 i = 0; i < entries; i++)
        order[i] = i;
    sort_interruptibly(order, order + entries, [input](uint32 a, uint32 b) {
        return ItemPointerCompare(&input->documents[a].tid, &input->documents[b].tid) < 0;
    });
    auto *sorted = allocate<RawDocument>(entries);
    auto *places = allocate<uint32>(entries);
    auto *dead = allocate_zeroed<uint64>((entries + 63) / 64);
    for (uint32 i = 0; i < entries; i++) {
        sorted[i] = input->documents[order[i]];
        places[order[i]] = i;
        if (is_dead(&input->reader, order[i]))
            dead[i / 64] |= UINT64CONST(1) << (i % 64);
    }
    for (uint64 i = 0; i < input->posting_count; i++)
        input->postings[i].ordinal = places[input->postings[i].ordinal];
    sort_interruptibly(input->postings, input->postings + input->posting_count,
                       [](const RawPosting &a, const RawPosting &b) {
                           const int compared = compare_lexemes(a.lexeme.bytes, a.lexeme.length,
                                                                b.lexeme.bytes, b.lexeme.length);
                           return compared != 0 ? compared < 0 : a.ordinal < b.ordinal;
                       });
    input->documents = sorted;
    input->reader.dead = dead;
}

// Numbers the live documents of all inputs by TID.
static void merge_documents(Relation index, MergeInput *inputs, int count, RunBuilder *builder) {
    auto **heap = allocate<MergeInput *>(count);
    int live = 0;
    for (int i = 0; i < count; i++) {
        if (inputs[i].raw)
            sort_raw_input(&inputs[i]);
        if (settle_document(index, &inputs[i]))
            heap[live++] = &inputs[i];
    }
    std::make_heap(heap, heap + live, later_document);
    while (live > 0) {
        std::pop_heap(heap, heap + live, later_document);
        MergeInput *input = heap[live - 1];
        const uint32 length =
            input->raw ? input->documents[input->next].length : document_length(&input->reader, input->next);
        if (input->reader.stale)
            storage::report_foreign_page(index, *input->run, input->reader.stale_position);
        input->new_ordinals[input->next] = static_cast<uint32>(builder->documents);
        add_document(builder, input->tid, length);
        input->next++;
        if (settle_document(index, input))
            std::push_heap(heap, heap + live, later_document);
        else
            live--;
    }
    pfree(heap);
}

static bool has_lexeme(const MergeInput *input) {
    return input->raw ? input->at < input->posting_count : !input->dictionary->end;
}

static Lexeme current_lexeme(const MergeInput *input) {
    if (input->raw)
        return input->postings[input->at].lexeme;
    return {input->dictionary->lexeme, input->dictionary->lexeme_length, 0};
}

static bool later_lexeme(const MergeInput *a, const MergeInput *b) {
    const Lexeme left = current_lexeme(a);
    const Lexeme right = current_lexeme(b);
    return compare_lexemes(left.bytes, left.length, right.bytes, right.length) > 0;
}

namespace {

struct PostingDetails {
    uint32 frequency;
    uint32 position_length;
    uint64 positions;  // the byte at which they begin
};

struct PostingBuffer {
    Posting *postings;
    uint64 count;
    uint64 room;
    bool sorted;
    // The next fields are there where positions are kept.
    bool has_positions;
    PostingDetails *details;
    uint8 *positions;
    uint64 positions_filled;
    uint64 positions_room;
};

}  // namespace

static uint32 keep_details(PostingBuffer *buffer, uint32 frequency, const PositionBytes &positions) {
    if (buffer->positions_filled + positions.length > buffer->positions_room) {
        buffer->positions_room = Max(buffer->positions_room * 2, uint64{16 * 1024});
        buffer->positions = buffer->positions == nullptr
                                ? allocate<uint8>(buffer->positions_room)
                                : reallocate(buffer->positions, buffer->positions_room);
    }
    memcpy(buffer->positions + buffer->positions_filled, positions.bytes, positions.length);
    buffer->details[buffer->count] = {frequency, positions.length, buffer->positions_filled};
    buffer->positions_filled += positions.length;
    return static_cast<uint32>(buffer->count);
}

static void collect_posting(PostingBuffer *buffer, uint32 ordinal, uint32 frequency,
                            const PositionBytes &positions) {
    if (ordinal == kDropped)
        return;
    if (buffer->count == buffer->room) {
        buffer->room = Max(buffer->room * 2, uint64{1024});
        buffer->postings = buffer->postings == nullptr ? allocate<Posting>(buffer->room)
                                                       : reallocate(buffer->postings, buffer->room);
        if (buffer->has_positions)
            buffer->details = buffer->details == nullptr ? allocate<PostingDetails>(buffer->room)
                                                         : reallocate(buffer->details, buffer->room);
    }
    if (buffer->count > 0 && buffer->postings[buffer->count - 1].ordinal >= ordinal)
        buffer->sorted = false;
    const uint32 value = buffer->has_positions ? keep_details(buffer, frequency, positions) : frequency;
    buffer->postings[buffer->count++] = {ordinal, value};
}

static void write_collected(const PostingBuffer &buffer, RunBuilder *builder) {
    for (uint64 i = 0; i < buffer.count; i++) {
        const Posting &posting = buffer.postings[i];
        if (!buffer.has_positions) {
            add_posting(builder, posting.ordinal, posting.value);
            continue;
        }
        const PostingDetails &details = buffer.details[posting.value];
        add_posting(builder, posting.ordinal, details.frequency);
        add_positions(builder, buffer.positions + details.positions, details.position_length);
    }
}

// Collects the input's postings of its current lexeme and goes to the next one.
static void collect_list(MergeInput *input, PostingBuffer *buffer) {
    if (input->raw) {
        const Lexeme lexeme = input->postings[input->at].lexeme;
        for (; input->at < input->posting_count; input->at++) {
            const RawPosting &posting = input->postings[input->at];
            if (compare_lexemes(posting.lexeme.bytes, posting.lexeme.length, lexeme.bytes, lexeme.length) !=
                0)
                break;
            collect_posting(buffer, input->new_ordinals[posting.ordinal], posting.lexeme.frequency,
                            posting.positions);
        }
        return;
    }
    const ListPlace place = encode_tid(input->dictionary);
    if (place.documents == 1) {
        uint8 room[kMaxPositionBytes];
        collect_posting(
            buffer, input->new_ordinals[place.ordinal], place.term_frequency,
            buffer->has_positions ? single_positions(&input->reader, place, room) : kUnknownBytes);
    } else {
        ListCursor *list = open_list(&input->reader, place);
        PositionList *positions = nullptr;
        if (buffer->has_positions && input->reader.has_positions)
            positions = open_positions(list, place);
        for (uint32 block = 0; load_block(list, block); block++) {
            CHECK_FOR_INTERRUPTS();
            for (; list->at < list->count; list->at++)
                collect_posting(buffer, input->new_ordinals[current_ordinal(list)],
                                frequency_at(list, list->at),
                                positions == nullptr ? kUnknownBytes : position_bytes(positions));
        }
        if (positions != nullptr)
            close_positions(positions);
        close_list(list);
    }
    if (!input->reader.stale)
        next_entry(input->dictionary);
    if (input->reader.stale)
        storage::report_foreign_page(input->reader.index, *input->run, input->reader.stale_position);
}

static void merge_lists(Relation index, MergeInput *inputs, int count, RunBuilder *builder) {
    auto **heap = allocate<MergeInput *>(count);
    int live = 0;
    for (int i = 0; i < count; i++) {
        if (!inputs[i].raw) {
            begin_dictionary(inputs[i].dictionary, &inputs[i].reader);
            if (inputs[i].reader.stale)
                storage::report_foreign_page(index, *inputs[i].run, inputs[i].reader.stale_position);
        }
        if (has_lexeme(&inputs[i]))
            heap[live++] = &inputs[i];
    }
    std::make_heap(heap, heap + live, later_lexeme);
    PostingBuffer buffer = {};
    buffer.has_positions = builder->options.positions;
    char lexeme[kMaxLexemeBytes];
    for (uint64 lexemes = 1; live > 0; lexemes++) {
        const Lexeme first = current_lexeme(heap[0]);
        const uint32 length = first.length;
        memcpy(lexeme, first.bytes, length);
        buffer.count = 0;
        buffer.positions_filled = 0;
        buffer.sorted = true;
        while (live > 0) {
            const Lexeme next = current_lexeme(heap[0]);
            if (compare_lexemes(next.bytes, next.length, lexeme, length) != 0)
                break;
            std::pop_heap(heap, heap + live, later_lexeme);
            MergeInput *input = heap[live - 1];
            collect_list(input, &buffer);
            if (has_lexeme(input))
                std::push_heap(heap, heap + live, later_lexeme);
            else
                live--;
        }
        if (!buffer.sorted)
            sort_interruptibly(buffer.postings, buffer.postings + buffer.count,
                               [](const Posting &a, const Posting &b) { return a.ordinal < b.ordinal; });
        begin_list(builder);
        write_collected(buffer, builder);
        finish_list(builder, lexeme, length);
        add_progress(1);
        // Lexemes of one document, or of dead ones, reach no page of postings, where merges pause else.
        if (lexemes % 256 == 0)
            storage::pause_merge(index);
    }
    pfree(heap);
}

static void merge(Relation index, const storage::RunEntry *runs, int count, storage::RunWriter *writer,
                  storage::RunEntry *entry) {
    auto *inputs = allocate<MergeInput>(count);
    for (int i = 0; i < count; i++) {
        open_input(index, &inputs[i], &runs[i]);
        if (inputs[i].reader.stale)
            storage::report_foreign_page(index, runs[i], inputs[i].reader.stale_position);
    }
    auto *builder = allocate<RunBuilder>(1);
    begin_run_builder(builder, index, built_options(index));
    merge_documents(index, inputs, count, builder);
    begin_lists(builder, writer, entry);
    begin_phase("merging lists", 0);
    merge_lists(index, inputs, count, builder);
    finish_run_builder(builder);
    for (int i = 0; i < count; i++)
        if (!inputs[i].raw)
            close_reader(&inputs[i].reader);
}

// The bits a posting can take at most: gaps of a list of f among n documents have the mean n / f, and packing
// a block's at the width of the largest costs most when each block has one that makes up for all others.
static double posting_bits(double documents, double lists, double posting_total, double length) {
    const double per_block = postings::kBlockPostings;
    const double gap = log2(per_block * documents * Max(lists, 1.0) / posting_total + 2) + 2;
    const double frequency = log2(per_block * length / posting_total + 2) + 1;
    return Min(gap, 33.0) + Min(frequency, 10.0);
}

static uint32 merge_page_bound(Relation index, const storage::RunKind *, const storage::RunEntry *inputs,
                               int count) {
    double documents = 0;
    double posting_total = 0;
    double length = 0;
    double dictionary_bytes = 0;
    double position_pages = 0;
    for (int i = 0; i < count; i++) {
        const storage::RunEntry &run = inputs[i];
        documents += static_cast<double>(run.entries);
        posting_total += static_cast<double>(posting_count(run));
        length += static_cast<double>(total_length(run));
        const uint32 pages = layout_of(run) == Layout::Raw ? 1 : run.sections[kDictionarySection].pages;
        dictionary_bytes += static_cast<double>(pages) * storage::kContentBytes;
        position_pages +=
            static_cast<double>(layout_of(run) == Layout::Raw ? 0 : position_section(run).pages);
    }
    // An entry of the dictionary takes four bytes at least, and can grow by so many: documents and lists get
    // higher numbers. Each page's first entry is whole, and the last one may not fit. Restarts are as many as
    // the inputs' and may fall on longer lexemes, but of every group of entries one is whole anyway.
    const double lists = Min(posting_total, dictionary_bytes / 4);
    // Positions stay as they are, whether among the others' or in the dictionary.
    double place_bytes = 0;
    if (keeps_positions(index)) {
        const double moved = position_pages * storage::kContentBytes;
        position_pages += dictionary_bytes / storage::kContentBytes;
        dictionary_bytes += Min(moved, lists * kInlinePositionBytes);
        place_bytes =
            lists * position_index_bytes(1) + posting_total / postings::kBlockPostings * sizeof(PositionEnd);
    }
    const double dictionary_pages = 2 * dictionary_bytes / (storage::kContentBytes - 2 * kMaxLexemeBytes);
    const double bits = posting_total > 0 ? posting_bits(documents, lists, posting_total, length) : 0;
    const double posting_bytes =
        posting_total *
            (bits / 8 + static_cast<double>(sizeof(postings::BlockHead)) / postings::kBlockPostings) +
        lists * (kShortListHead + 2.0) + place_bytes;
    return 3 + static_cast<uint32>(dictionary_pages) + static_cast<uint32>(position_pages) +
           static_cast<uint32>(posting_bytes / storage::kContentBytes) +
           document_pages(static_cast<uint64>(documents));
}

// ---- the rest ---------------------------------------------------------------------------------------------

static bool is_valid(const storage::RunKind *, const storage::RunEntry &run) {
    const storage::Section &documents = run.sections[kDocumentSection];
    if (layout_of(run) == Layout::Raw)
        return run.pages == 1 && documents.pages == 1 &&
               run.entries <= kTailCapacity / sizeof(DocumentTuple) && posting_count(run) <= kTailCapacity;
    return layout_of(run) == Layout::Inverted && run.entries <= UINT32_MAX &&
           documents.pages == document_pages(run.entries) && run.sections[kDictionarySection].pages >= 1 &&
           run.sections[kDictionarySection].first_page >=
               uint64{run.sections[kPostingSection].first_page} + run.sections[kPostingSection].pages;
}

static uint32 read_tids(Relation index, const storage::RunEntry &run, uint32 position, Page page,
                        ItemPointerData *tids) {
    if (layout_of(run) == Layout::Inverted) {
        const uint32 count =
            documents_on_page(run.entries, position - run.sections[kDocumentSection].first_page);
        if (storage::content_length(page) < count * kDocumentBytes)
            storage::report_corruption(index, storage::run_block(run, position),
                                       "A page of documents is shorter than they are.");
        memcpy(tids, storage::page_content(page), count * sizeof(ItemPointerData));
        return count;
    }
    return storage::read_sealed_tids(index, run_kind(), run, page, sizeof(DocumentTuple), tids);
}

const storage::RunKind *run_kind() {
    static const storage::RunKind kind = {
        .id = kRunKindId,
        .name = "gpu_text",
        .tail_tuple_bytes = 0,
        .tail_tuple_extra = 0,
        .merge_weight = 64,
        .tail_capacity = kTailCapacity,
        .seal = seal,
        .merge_page_bound = merge_page_bound,
        .merge = merge,
        .merged = client::forget_inputs,
        .is_valid = is_valid,
        .read_tids = read_tids,
        .built_with = built_with,
    };
    return &kind;
}

// ---- long documents ---------------------------------------------------------------------------------------

namespace {

struct LongDocument {
    Relation index;
    TSVector vector;
    ItemPointerData tid;
};

}  // namespace

static void write_long_document(storage::RunWriter *writer, storage::RunEntry *entry, void *context) {
    const auto *document = static_cast<const LongDocument *>(context);
    auto *builder = allocate<RunBuilder>(1);
    begin_run_builder(builder, document->index, built_options(document->index));
    add_document(builder, document->tid, for_each_lexeme(document->vector, [](const Lexeme &) {}));
    begin_lists(builder, writer, entry);
    for_each_lexeme(document->vector, [builder, document](const Lexeme &lexeme) {
        begin_list(builder);
        add_posting(builder, 0, lexeme.frequency);
        if (builder->options.positions) {
            uint8 positions[kMaxPositionBytes];
            add_positions(builder, positions,
                          write_positions(positions_of(document->vector, lexeme), positions));
        }
        finish_list(builder, lexeme.bytes, lexeme.length);
    });
    finish_run_builder(builder);
}

void insert_long_document(Relation index, TSVector vector, const ItemPointerData &tid) {
    // Entries of the dictionary take at most 12 bytes more than the lexeme, which shares less on a new page,
    // half a byte of the restarts, and what is said of positions.
    size_t bytes = 0;
    size_t position_bytes = 0;
    for_each_lexeme(vector, [&](const Lexeme &lexeme) {
        uint8 positions[kMaxPositionBytes];
        bytes += lexeme.length + 13 + kInlinePositionBytes;
        position_bytes += write_positions(positions_of(vector, lexeme), positions);
    });
    const auto pages = static_cast<uint32>(5 + bytes / (storage::kContentBytes - 2 * kMaxLexemeBytes) +
                                           position_bytes / storage::kContentBytes);
    LongDocument document = {index, vector, tid};
    storage::insert_run(index, run_kind(), pages, write_long_document, &document);
}

}  // namespace pg_gpu::text
