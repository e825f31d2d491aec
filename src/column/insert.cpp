// Inserts: storage does the work.
#include "column/column.h"

namespace pg_gpu::column {

namespace {

// What a statement that inserts many rows keeps.
struct InsertState {
    Format *format;
    MemoryContext row_context;
    storage::InsertStream stream;
};

}  // namespace

static InsertState *insert_state(Relation index, IndexInfo *index_info) {
    if (index_info->ii_AmCache == nullptr) {
        MemoryContext caller = MemoryContextSwitchTo(index_info->ii_Context);
        auto *state = allocate_zeroed<InsertState>(1);
        state->format = make_format(index);
        state->row_context =
            AllocSetContextCreate(index_info->ii_Context, "gpu_column row", ALLOCSET_DEFAULT_SIZES);
        index_info->ii_AmCache = state;
        MemoryContextSwitchTo(caller);
    }
    return static_cast<InsertState *>(index_info->ii_AmCache);
}

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *index_info) {
    InsertState *state = insert_state(index, index_info);
    MemoryContext caller = MemoryContextSwitchTo(state->row_context);
    storage::TailItem *item = make_item(*state->format, values, nulls, *tid);
    MemoryContextSwitchTo(caller);
    if (item != nullptr) {
        storage::insert_item(index, run_kind(), item, &state->stream);
    } else {
        MemoryContextSwitchTo(state->row_context);
        insert_long_row(index, *state->format, values, nulls, *tid);
        MemoryContextSwitchTo(caller);
    }
    MemoryContextReset(state->row_context);
    return false;
}

}  // namespace pg_gpu::column
