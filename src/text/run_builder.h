// An inverted run is written in this order: lists lexeme by lexeme, then positions if they are kept, then the
// dictionary, then the documents.
#pragma once

#include "text/document.h"
#include "text/options.h"
#include "text/spool.h"

namespace pg_gpu::text {

// A list's b for PForDelta is chosen from so many of its first postings.
inline constexpr uint32 kSamplePostings = 32 * postings::kBlockPostings;

struct RunBuilder {
    Relation index;
    storage::RunWriter *writer;
    storage::RunEntry *entry;
    Options options;
    postings::Norms norms;  // for the blocks' bounds
    double average_length;

    // These are lengths by ordinal, cut to 16 bits. That is enough for bounds, which shorter lengths only
    // raise.
    uint16 *short_lengths;
    uint64 documents;
    uint64 document_room;
    uint32 null_documents;
    uint64 length;
    Spool document_spool;

    // The posting section.
    Page page;
    uint32 page_fill;
    uint64 posting_bytes;
    uint64 posting_total;

    // The list being written.
    uint64 list_start;
    uint64 frequency;  // documents so far
    uint32 buffered;
    uint32 last_written;  // ordinal of the last posting in a block
    bool any_written;
    bool has_frame_bits;
    uint32 frame_bits;
    uint32 *ordinals;
    uint32 *frequencies;
    postings::BlockHead *heads;
    uint32 head_count;
    uint32 head_room;

    // Positions, if options.positions says so: those of the buffered postings, and where the list's lie.
    Spool position_spool;
    uint64 position_bytes;  // bytes of all lists' positions
    uint64 position_start;  // where the list's positions begin
    uint8 *positions;
    uint32 positions_filled;
    uint32 positions_room;
    uint32 *position_lengths;    // by buffered posting
    PositionEnd *position_ends;  // by block

    // The dictionary.
    Spool dictionary_spool;
    uint8 *dictionary_page;
    uint32 dictionary_fill;
    Restart *restarts;
    uint32 dictionary_pages;
    FenceEnd *fence_ends;
    uint8 *fences;
    uint32 fence_count;
    uint32 fence_interval;
    uint64 lexemes;
    char previous[kMaxLexemeBytes];
    uint32 previous_length;
};

void begin_run_builder(RunBuilder *builder, Relation index, const Options &options);

// Adds a document. Documents come in order of TID, and all of them before the first list. The length
// kNullLength says that the column is NULL.
void add_document(RunBuilder *builder, const ItemPointerData &tid, uint32 length);

// Returns how many bytes of memory the documents so far take at most.
size_t documents_memory(const RunBuilder *builder);

void begin_lists(RunBuilder *builder, storage::RunWriter *writer, storage::RunEntry *entry);
// Lists must come in order of lexeme, and their postings in order of ordinal.
void begin_list(RunBuilder *builder);
void flush_postings(RunBuilder *builder);
void finish_list(RunBuilder *builder, const char *lexeme, uint32 length);

inline void add_posting(RunBuilder *builder, uint32 ordinal, uint32 frequency) {
    if (unlikely(builder->buffered == kSamplePostings))
        flush_postings(builder);
    builder->ordinals[builder->buffered] = ordinal;
    builder->frequencies[builder->buffered] = frequency;
    builder->buffered++;
    builder->frequency++;
}

// Adds the positions of the posting that has been added last, where they are kept.
void add_positions(RunBuilder *builder, const uint8 *bytes, uint32 length);

// Writes positions, dictionary and documents, and fills in the directory's entry.
void finish_run_builder(RunBuilder *builder);

}  // namespace pg_gpu::text
