// Inserts: storage does the work.
#include "grid/grid.h"

namespace pg_gpu::grid {

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *) {
    const Format *format = format_of(index);
    uint64 row[1 + kMaxLanes];
    alignas(storage::TailTuple) char tail_tuple[sizeof(storage::TailTuple) + kMaxLanes * sizeof(uint64) + 4];
    encode_row(*format, values, nulls, *tid, row);
    put_tail_tuple(*format, row, tail_tuple);
    storage::insert_tail_tuple(index, format, reinterpret_cast<const storage::TailTuple *>(tail_tuple));
    return false;
}

}  // namespace pg_gpu::grid
