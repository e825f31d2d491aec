// Inserts, vacuum and unlogged init forks: storage does the work.
#include "grid/grid.h"

namespace pg_gpu::grid {

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *) {
    const Format *format = format_of(index);
    uint64 row[1 + kMaxLanes];
    alignas(storage::TailItem) char item[sizeof(storage::TailItem) + kMaxLanes * sizeof(uint64) + 4];
    encode_row(*format, values, nulls, *tid, row);
    put_tail_item(*format, row, item);
    storage::insert_item(index, format, reinterpret_cast<const storage::TailItem *>(item));
    return false;
}

void build_empty(Relation index) {
    storage::build_empty(index, run_kind(index));
}

IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                   IndexBulkDeleteCallback callback, void *callback_state) {
    return storage::bulk_delete(info, run_kind(info->index), stats, callback, callback_state);
}

IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats) {
    return storage::vacuum_cleanup(info, run_kind(info->index), stats);
}

}  // namespace pg_gpu::grid
