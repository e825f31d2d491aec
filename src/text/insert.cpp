// Inserts: storage does the work.
#include "text/document.h"
#include "text/text.h"

namespace pg_gpu::text {

// One row's document is made in this context, because a statement inserts many.
static MemoryContext row_context(IndexInfo *index_info) {
    if (index_info->ii_AmCache == nullptr)
        index_info->ii_AmCache =
            AllocSetContextCreate(index_info->ii_Context, "gpu_text row", ALLOCSET_DEFAULT_SIZES);
    return static_cast<MemoryContext>(index_info->ii_AmCache);
}

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *index_info) {
    MemoryContext context = row_context(index_info);
    MemoryContext caller = MemoryContextSwitchTo(context);
    TSVector vector = document_of(values, nulls);
    DocumentItem *item = make_item(vector, *tid);
    MemoryContextSwitchTo(caller);
    if (item != nullptr)
        storage::insert_item(index, run_kind(), &item->head);
    else
        insert_long_document(index, vector, *tid);
    MemoryContextReset(context);
    return false;
}

}  // namespace pg_gpu::text
