// Inserts: storage does the work.
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

}  // namespace pg_gpu::grid
