// Inserts, vacuum and unlogged init forks: storage does the work.
#include "kary/kary.h"

namespace pg_gpu::kary {

template <typename Key>
static void insert_key(Relation index, const KeyFormat &format, Datum value, bool is_null, ItemPointer tid) {
    KaryTailItem<Key> item;
    item.head.tid = *tid;
    item.head.info = static_cast<uint16>(sizeof(item) | (is_null ? kNullFlag : 0));
    item.key = is_null ? 0 : encode_datum<Key>(value, format);
    storage::insert_item(index, run_kind_of<Key>(), &item.head);
}

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *) {
    const KeyFormat format = key_format(index);
    if (has_wide_keys(index))
        insert_key<uint64>(index, format, values[0], nulls[0], tid);
    else
        insert_key<uint32>(index, format, values[0], nulls[0], tid);
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

bool can_return(Relation, int) {
    return true;
}

}  // namespace pg_gpu::kary
