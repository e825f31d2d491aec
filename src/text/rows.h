// Looks at the table's rows, and says whether an entry's row is visible and matches.
#pragma once

#include "text/configuration.h"

namespace pg_gpu::text {

struct Rows {
    MemoryContext context;
    Relation index;
    Snapshot snapshot;
    IndexFetchTableData *fetch;
    TupleTableSlot *slot;
    // The indexed value is computed with these, which are made when first needed.
    IndexInfo *info;
    EState *estate;
    DocumentSource source;
    Relation heap;
};

void open_rows(Rows *rows, Relation heap, Relation index, Snapshot snapshot);
void close_rows(Rows *rows);

// Does the snapshot see a row of the entry? With `row`, that row's own TID. With `query`, *matches says
// whether it matches.
bool look_up_row(Rows *rows, const ItemPointerData &tid, TSQuery query, bool *matches, ItemPointerData *row);

// Evaluates `tsvector @@ tsquery`.
bool vector_matches(TSVector vector, TSQuery query);

}  // namespace pg_gpu::text
