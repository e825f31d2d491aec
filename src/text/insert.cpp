// Inserts, vacuum and unlogged init forks: storage does the work.
#include "text/document.h"
#include "text/text.h"

namespace pg_gpu::text {

// Where one row's document is made: a statement inserts many.
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

void build_empty(Relation index) {
    storage::build_empty(index, run_kind());
}

IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state) {
    return storage::bulk_delete(info, run_kind(), stats, callback, callback_state);
}

IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats) {
    return storage::vacuum_cleanup(info, run_kind(), stats);
}

}  // namespace pg_gpu::text
