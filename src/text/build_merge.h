// The second half of a build: documents and lists of all participants, each of which numbered the documents
// that it saw, become those of one run.
#pragma once

#include "text/inverter.h"
#include "text/run_builder.h"

namespace pg_gpu::text {

// The ordinals of a participant's documents, which it saw in order of TID, among all documents: from `local`
// on, those of a span of the table follow one another.
struct OrdinalSpan {
    uint32 local;
    uint32 global;
};

// This is a file of one participant's documents, each with TID and length.
struct DocumentPart {
    Relation index;  // index that is built
    BufFile *file;
    uint64 left;
    // These are the TID, the length and the ordinal of the document that comes next.
    ItemPointerData tid;
    uint32 length;
    uint32 local;
    OrdinalSpan *spans;
    uint32 span_count;
    uint32 span_room;
};

// Appends a document to a participant's file.
void write_document(BufFile *file, const ItemPointerData &tid, uint32 length);

// Reads the first of `count` documents. The file must be at its beginning.
void open_part(DocumentPart *part, Relation index, BufFile *file, uint64 count);

// Hands all documents to the builder in order of TID.
void merge_documents(DocumentPart *parts, int count, RunBuilder *builder);

// Hands all lists to the builder, lexeme by lexeme. `parts` are the participants' documents, which say how
// ordinals are renumbered. In a serial build it is nullptr, and ordinals stay as they are.
void merge_lists(TermSource *sources, int count, const DocumentPart *parts, int participants,
                 RunBuilder *builder);

}  // namespace pg_gpu::text
