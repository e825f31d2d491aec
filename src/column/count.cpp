// Counting visible rows that match.
#include "column/column.h"
#include "column/view.h"

namespace pg_gpu::column {

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    const Format *format = make_format(index);
    Condition condition;
    make_condition(index, *format, keys, key_count, &condition);
    uint64 count = 0;
    *heap_fetches = with_rows(heap, index, snapshot, format, condition,
                              [&count](ColumnView *view) { count = count_selected(view); });
    return static_cast<int64>(count);
}

void count_batch(Relation heap, Relation index, Snapshot snapshot, const keys::RangeReader &reader,
                 int64 *counts) {
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_column count", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    for (uint32 i = 0; i < reader.count; i++) {
        ScanKeyData keys[2 * kMostColumns];
        const int key_count = reader.read(reader.context, i, keys);
        uint64 heap_fetches;
        counts[i] = count_matching(heap, index, snapshot, keys, key_count, &heap_fetches);
        MemoryContextReset(context);
    }
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

}  // namespace pg_gpu::column
