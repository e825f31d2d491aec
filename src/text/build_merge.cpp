#include "text/build_merge.h"

#include <algorithm>

#include "progress.h"

namespace pg_gpu::text {

// ---- documents --------------------------------------------------------------------------------------------

void write_document(BufFile *file, const ItemPointerData &tid, uint32 length) {
    uint8 record[kDocumentBytes];
    memcpy(record, &tid, sizeof(tid));
    write_length(record + sizeof(tid), length);
    BufFileWrite(file, record, sizeof(record));
}

static void next_document(DocumentPart *part) {
    if (part->left == 0)
        return;
    uint8 record[kDocumentBytes];
    read_file(part->file, record, sizeof(record), part->index);
    memcpy(&part->tid, record, sizeof(part->tid));
    part->length = read_length(record + sizeof(part->tid));
}

void open_part(DocumentPart *part, Relation index, BufFile *file, uint64 count) {
    *part = {};
    part->index = index;
    part->file = file;
    part->left = count;
    part->span_room = 64;
    part->spans = allocate<OrdinalSpan>(part->span_room);
    next_document(part);
}

static bool comes_before(const DocumentPart &a, const DocumentPart &b) {
    return ItemPointerCompare(const_cast<ItemPointer>(&a.tid), const_cast<ItemPointer>(&b.tid)) < 0;
}

static void add_span(DocumentPart *part, uint64 global) {
    if (part->span_count == part->span_room) {
        part->span_room *= 2;
        part->spans = reallocate(part->spans, part->span_room);
    }
    part->spans[part->span_count++] = {part->local, static_cast<uint32>(global)};
}

void merge_documents(DocumentPart *parts, int count, RunBuilder *builder) {
    for (;;) {
        CHECK_FOR_INTERRUPTS();
        // These are the participant that comes first, and the one that it must not pass.
        DocumentPart *first = nullptr;
        const DocumentPart *second = nullptr;
        for (DocumentPart *part = parts; part < parts + count; part++) {
            if (part->left == 0)
                continue;
            if (first == nullptr || comes_before(*part, *first)) {
                second = first;
                first = part;
            } else if (second == nullptr || comes_before(*part, *second)) {
                second = part;
            }
        }
        if (first == nullptr)
            return;
        add_span(first, builder->documents);
        do {
            add_document(builder, first->tid, first->length);
            first->local++;
            first->left--;
            next_document(first);
        } while (first->left > 0 && (second == nullptr || comes_before(*first, *second)));
    }
}

// ---- lists ------------------------------------------------------------------------------------------------

static constexpr uint32 kWindowBytes = 8192;

namespace {

// A participant's postings of one lexeme, through a window: the longest lists are longer than memory.
struct PostingStream {
    const DocumentPart *part;  // nullptr: ordinals stay as they are
    uint32 span;
    TermSource **sources;  // the first is being read
    int source_count;
    const uint8 *at;
    const uint8 *end;
    uint64 next;  // local ordinal
    // This is the current posting. There is none at the end.
    bool at_end;
    uint32 ordinal;
    uint32 frequency;
    const uint8 *positions;  // up to `at`, where they are kept
    bool has_positions;
    uint8 window[kWindowBytes];
};

}  // namespace

static uint32 global_ordinal(PostingStream *stream, uint32 local) {
    const DocumentPart *part = stream->part;
    if (part == nullptr)
        return local;
    const OrdinalSpan *end = part->spans + part->span_count;
    const OrdinalSpan *span = part->spans + stream->span;
    if (span + 1 < end && span[1].local <= local) {
        span =
            std::upper_bound(span + 1, end, local,
                             [](uint32 wanted, const OrdinalSpan &other) { return wanted < other.local; }) -
            1;
        stream->span = static_cast<uint32>(span - part->spans);
    }
    return span->global + (local - span->local);
}

// false when no posting is left.
static bool fill_window(PostingStream *stream) {
    while (stream->source_count > 0) {
        // The window may have ended within a posting.
        const auto kept = static_cast<uint32>(stream->end - stream->at);
        memmove(stream->window, stream->at, kept);
        const uint32 read = read_postings(*stream->sources, stream->window + kept, kWindowBytes - kept);
        stream->at = stream->window;
        stream->end = stream->window + kept + read;
        if (stream->at < stream->end)
            return true;
        stream->sources++;
        stream->source_count--;
        stream->next = 0;
    }
    return false;
}

static inline void next_posting(PostingStream *stream) {
    const uint32 most = kMaxPostingBytes + (stream->has_positions ? kMaxPositionBytes : 0);
    if (stream->end - stream->at < most && !fill_window(stream)) {
        stream->at_end = true;
        return;
    }
    uint64 gap;
    uint64 frequency;
    stream->at = read_varint(stream->at, stream->end, &gap);
    stream->at = read_varint(stream->at, stream->end, &frequency);
    stream->positions = stream->at;
    if (stream->has_positions)
        stream->at = skip_positions(stream->at, stream->end, static_cast<uint32>(frequency));
    stream->next += gap;
    stream->ordinal = global_ordinal(stream, static_cast<uint32>(stream->next));
    stream->frequency = static_cast<uint32>(frequency);
    stream->next++;
}

static void merge_streams(PostingStream *streams, int count, RunBuilder *builder) {
    for (;;) {
        PostingStream *first = nullptr;
        uint64 second = UINT64_MAX;
        for (PostingStream *stream = streams; stream < streams + count; stream++) {
            if (stream->at_end)
                continue;
            if (first == nullptr || stream->ordinal < first->ordinal) {
                second = first == nullptr ? second : first->ordinal;
                first = stream;
            } else {
                second = Min(second, uint64{stream->ordinal});
            }
        }
        if (first == nullptr)
            return;
        do {
            add_posting(builder, first->ordinal, first->frequency);
            if (first->has_positions)
                add_positions(builder, first->positions, static_cast<uint32>(first->at - first->positions));
            next_posting(first);
        } while (!first->at_end && first->ordinal < second);
    }
}

static bool later_source(const TermSource *a, const TermSource *b) {
    const int order = compare_lexemes(a->lexeme, a->length, b->lexeme, b->length);
    if (order != 0)
        return order > 0;
    return a->participant != b->participant ? a->participant > b->participant : a->number > b->number;
}

// Takes off the heap the first of the sources with the lexeme of the heap's first, each participant's
// together, in order.
static int take_equal(TermSource **heap, int *live, TermSource **equal) {
    int count = 0;
    do {
        std::pop_heap(heap, heap + *live, later_source);
        equal[count++] = heap[--*live];
    } while (*live > 0 &&
             compare_lexemes(heap[0]->lexeme, heap[0]->length, equal[0]->lexeme, equal[0]->length) == 0);
    return count;
}

static int open_streams(TermSource **equal, int count, const DocumentPart *parts, bool has_positions,
                        PostingStream *streams) {
    int opened = 0;
    for (int i = 0; i < count;) {
        PostingStream *stream = &streams[opened++];
        stream->span = 0;
        stream->source_count = 0;
        stream->at = stream->end = stream->window;
        stream->next = 0;
        stream->at_end = false;
        stream->has_positions = has_positions;
        stream->part = parts != nullptr ? &parts[equal[i]->participant] : nullptr;
        stream->sources = &equal[i];
        for (const int participant = equal[i]->participant; i < count && equal[i]->participant == participant;
             i++)
            stream->source_count++;
        next_posting(stream);
    }
    return opened;
}

void merge_lists(TermSource *sources, int count, const DocumentPart *parts, int participants,
                 RunBuilder *builder) {
    auto **heap = allocate<TermSource *>(count + 1);
    auto **equal = allocate<TermSource *>(count + 1);
    auto *streams = allocate<PostingStream>(participants);
    for (int i = 0; i < count; i++)
        heap[i] = &sources[i];
    int live = count;
    std::make_heap(heap, heap + live, later_source);
    while (live > 0) {
        const int equal_count = take_equal(heap, &live, equal);
        begin_list(builder);
        merge_streams(streams, open_streams(equal, equal_count, parts, builder->options.positions, streams),
                      builder);
        finish_list(builder, equal[0]->lexeme, equal[0]->length);
        add_progress(static_cast<uint64>(equal_count));
        for (int i = 0; i < equal_count; i++) {
            if (!next_term(equal[i]))
                continue;
            heap[live++] = equal[i];
            std::push_heap(heap, heap + live, later_source);
        }
        if (builder->lexemes % 1024 == 0)
            CHECK_FOR_INTERRUPTS();
    }
}

}  // namespace pg_gpu::text
