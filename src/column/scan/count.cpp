// Counting visible rows that match.
#include "column/column.h"
#include "column/scan/mirror.h"
#include "request_kinds.h"

namespace pg_gpu::column {

static bool count_on_server(Relation heap, Relation index, Snapshot snapshot, const Format &format,
                            const Condition &condition, uint64 *count, uint64 *heap_fetches) {
    return with_rows_on_server(
        heap, index, snapshot, &format, condition, {client::RequestKind::CountColumn, 0, 0, true},
        [count](RemoteRows *rows) {
            uint64 in_runs;
            if (!count_remote_rows(rows, &in_runs))
                return false;
            *count = in_runs + count_selected(rows->view);
            return true;
        },
        heap_fetches);
}

uint64 count_rows(Relation heap, Relation index, Snapshot snapshot, const Format &format,
                  const Condition &condition, uint64 *heap_fetches) {
    uint64 count = 0;
    pgstat_count_index_scan(index);
    if (count_on_server(heap, index, snapshot, format, condition, &count, heap_fetches))
        return count;
    const client::PagedRequest request = client::begin_paged(client::RequestKind::CountColumn, 1);
    *heap_fetches = with_rows(heap, index, snapshot, &format, condition,
                              [&count](ColumnView *view) { count = count_selected(view); });
    client::end_paged(request);
    client::note_request_done(index, client::RequestKind::CountColumn);
    return count;
}

int64 count_matching(Relation heap, Relation index, Snapshot snapshot, const ScanKeyData *keys, int key_count,
                     uint64 *heap_fetches) {
    const Format *format = make_format(index);
    Condition condition;
    make_condition(index, *format, keys, key_count, &condition);
    return static_cast<int64>(count_rows(heap, index, snapshot, *format, condition, heap_fetches));
}

void count_batch(Relation heap, Relation index, Snapshot snapshot, const keys::RangeReader &reader,
                 int64 *counts) {
    keys::for_each_range(reader, [&](uint32 i, const ScanKeyData *keys, int key_count) {
        uint64 heap_fetches;
        counts[i] = count_matching(heap, index, snapshot, keys, key_count, &heap_fetches);
        return true;
    });
}

}  // namespace pg_gpu::column
