// The second half of a build: documents and lists of all participants, each of which numbered the documents
// that it saw, become those of one run.
#pragma once

#include "text/inverter.h"
#include "text/run_builder.h"

namespace pg_gpu::text {

// Where a participant's documents, which it saw in order of TID, lie among all of them: from `local` on,
// those of a stretch of the table follow one another.
struct OrdinalStretch {
    uint32 local;
    uint32 global;
};

// This is a file of one participant's documents, each with TID and length.
struct DocumentPart {
    BufFile *file;
    uint64 left;
    // The one that comes next.
    ItemPointerData tid;
    uint32 length;
    uint32 local;
    OrdinalStretch *stretches;
    uint32 stretch_count;
    uint32 stretch_room;
};

// For a participant: appends a document.
void write_document(BufFile *file, const ItemPointerData &tid, uint32 length);

// At the first of `count` documents; the file is at its beginning.
void open_part(DocumentPart *part, BufFile *file, uint64 count);

// Hands all documents to the builder in order of TID.
void merge_documents(DocumentPart *parts, int count, RunBuilder *builder);

// Hands all lists to the builder, lexeme by lexeme. `parts` are the participants'; nullptr in a serial build,
// whose ordinals stay as they are.
void merge_lists(TermSource *sources, int count, const DocumentPart *parts, int participants,
                 RunBuilder *builder);

}  // namespace pg_gpu::text
