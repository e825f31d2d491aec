#include "keys/index_tuple.h"

namespace pg_gpu::keys {

void make_tuple_template(TupleDesc descriptor, int column_count, NullMask nulls, NullMask absent,
                         IndexTupleTemplate *made) {
    if (made->tuple != nullptr)
        pfree(made->tuple);
    static constexpr int kLongestValue = 16;
    alignas(MAXIMUM_ALIGNOF) char zeros[kLongestValue] = {};
    Datum values[INDEX_MAX_KEYS];
    bool is_null[INDEX_MAX_KEYS];
    made->nulls = nulls;
    made->absent = nulls | absent;
    for (int i = 0; i < column_count; i++) {
        values[i] = TupleDescAttr(descriptor, i)->attbyval ? Datum{0} : PointerGetDatum(zeros);
        is_null[i] = (made->absent >> i) & 1;
    }
    made->tuple = index_form_tuple(descriptor, values, is_null);
    // Types whose codes tell the value are of fixed length, so every tuple with these NULLs has its values at
    // the same places.
    size_t offset = IndexInfoFindDataOffset(made->tuple->t_info);
    for (int i = 0; i < column_count; i++) {
        const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
        if (is_null[i])
            continue;
        offset = att_align_nominal(offset, attribute->attalign);
        made->offsets[i] = static_cast<uint16>(offset);
        offset += static_cast<size_t>(attribute->attlen);
    }
}

}  // namespace pg_gpu::keys
