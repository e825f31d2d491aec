// Inserts: storage does the work.
#include "text/configuration.h"
#include "text/text.h"

namespace pg_gpu::text {

namespace {

// The state that is kept between the rows that a statement inserts.
struct InsertState {
    MemoryContext row_context;  // a row's document is made in it
    DocumentSource source;
    bool positions;
};

}  // namespace

static const InsertState *insert_state(Relation index, IndexInfo *index_info) {
    if (index_info->ii_AmCache == nullptr) {
        auto *state =
            static_cast<InsertState *>(MemoryContextAlloc(index_info->ii_Context, sizeof(InsertState)));
        state->row_context =
            AllocSetContextCreate(index_info->ii_Context, "gpu_text row", ALLOCSET_DEFAULT_SIZES);
        state->source = source_of(index);
        state->positions = keeps_positions(index);
        index_info->ii_AmCache = state;
    }
    return static_cast<const InsertState *>(index_info->ii_AmCache);
}

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *index_info) {
    const InsertState *state = insert_state(index, index_info);
    MemoryContext context = state->row_context;
    MemoryContext caller = MemoryContextSwitchTo(context);
    const DocumentPlace place = {index, tid};
    TSVector vector = document_of(state->source, values, nulls, &place);
    DocumentTuple *tail_tuple = make_tail_tuple(vector, *tid, state->positions);
    MemoryContextSwitchTo(caller);
    if (tail_tuple != nullptr)
        storage::insert_tail_tuple(index, run_kind(), &tail_tuple->head);
    else
        insert_long_document(index, vector, *tid);
    MemoryContextReset(context);
    return false;
}

}  // namespace pg_gpu::text
