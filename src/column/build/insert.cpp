// Inserts: storage does the work, row by row, or, where a statement inserts many, of many at a time.
#include "column/column.h"
#include "storage/storage.h"

namespace pg_gpu::column {

namespace {

// The state of a statement that inserts many rows.
struct InsertState {
    Format *format;
    MemoryContext row_context;
    storage::InsertStream stream;
    uint32 rows;  // inserted so far, up to kRowsAtOnce
    // Rows that wait, as long as the epoch is this one.
    PendingColumns *pending;
    uint64 epoch;
    uint32 pending_rows;
    uint32 vain_waits;
};

// The first rows of a statement are written at once: most statements have no more.
constexpr uint32 kRowsAtOnce = 32;

// Rows that are read after each of them, by a trigger for instance, needn't wait.
constexpr uint32 kFewRows = 32;
constexpr uint32 kMaxVainWaits = 8;

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

// Has the row wait for more; false when it can't.
static bool wait_for_more(Relation index, const IndexInfo *index_info, InsertState *state,
                          const Datum *values, const bool *nulls, const ItemPointerData &tid) {
    if (state->pending != nullptr && state->epoch != storage::pending_epoch()) {
        state->pending = nullptr;
        state->vain_waits = state->pending_rows < kFewRows ? state->vain_waits + 1 : 0;
    }
    if (state->pending == nullptr) {
        if (state->vain_waits == kMaxVainWaits || !storage::may_defer_rows(index_info))
            return false;
        state->pending = begin_pending_columns(index, *state->format);
        state->epoch = storage::pending_epoch();
        state->pending_rows = 0;
    }
    state->pending_rows++;
    MemoryContext caller = MemoryContextSwitchTo(state->row_context);
    add_pending_row(index, state->pending, values, nulls, tid);
    MemoryContextSwitchTo(caller);
    MemoryContextReset(state->row_context);
    return true;
}

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *index_info) {
    InsertState *state = insert_state(index, index_info);
    if (state->rows < kRowsAtOnce)
        state->rows++;
    else if (wait_for_more(index, index_info, state, values, nulls, *tid))
        return false;
    MemoryContext caller = MemoryContextSwitchTo(state->row_context);
    storage::TailTuple *tail_tuple = make_tail_tuple(*state->format, values, nulls, *tid);
    MemoryContextSwitchTo(caller);
    if (tail_tuple != nullptr) {
        storage::insert_tail_tuple(index, run_kind(), tail_tuple, &state->stream);
    } else {
        MemoryContextSwitchTo(state->row_context);
        insert_long_row(index, *state->format, values, nulls, *tid);
        MemoryContextSwitchTo(caller);
    }
    MemoryContextReset(state->row_context);
    return false;
}

}  // namespace pg_gpu::column
