// Inserts: storage does the work.
#include "kary/kary.h"

namespace pg_gpu::kary {

// A statement's rows are encoded in this context, one after another, when that leaves anything in memory.
static MemoryContext encoding_context(IndexInfo *index_info) {
    if (index_info->ii_AmCache == nullptr)
        index_info->ii_AmCache =
            AllocSetContextCreate(index_info->ii_Context, "gpu_kary row", ALLOCSET_SMALL_SIZES);
    return static_cast<MemoryContext>(index_info->ii_AmCache);
}

template <typename Key>
static void insert_key(Relation index, const Datum *values, const bool *is_null, ItemPointer tid,
                       IndexInfo *index_info) {
    struct {
        KaryTailTuple<Key> tail_tuple;
        TailNulls nulls;
    } entry = {};
    const bool lossy = has_lossy_columns(index);
    MemoryContext caller = lossy ? MemoryContextSwitchTo(encoding_context(index_info)) : CurrentMemoryContext;
    const KeyFormat format = key_format(index);
    NullMask nulls;
    entry.tail_tuple.key = encode_row<Key>(format, values, is_null, &nulls);
    MemoryContextSwitchTo(caller);
    if (lossy)
        MemoryContextReset(encoding_context(index_info));
    entry.tail_tuple.head.tid = *tid;
    entry.nulls.nulls = nulls;
    const size_t size = is_composite(format) && nulls != 0 ? sizeof(entry.tail_tuple) + sizeof(TailNulls)
                                                           : sizeof(entry.tail_tuple);
    entry.tail_tuple.head.info = static_cast<uint16>(size | (nulls != 0 ? kNullFlag : 0));
    static_assert(offsetof(decltype(entry), nulls) == sizeof(entry.tail_tuple));
    storage::insert_tail_tuple(index, run_kind_of<Key>(is_composite(format)), &entry.tail_tuple.head);
}

bool insert(Relation index, Datum *values, bool *nulls, ItemPointer tid, Relation, IndexUniqueCheck, bool,
            IndexInfo *index_info) {
    with_key_type(key_width(index),
                  [&](auto key) { insert_key<decltype(key)>(index, values, nulls, tid, index_info); });
    return false;
}

bool can_return(Relation index, int column) {
    return is_invertible(index->rd_opcintype[column - 1]);
}

}  // namespace pg_gpu::kary
