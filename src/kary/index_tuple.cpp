#include "kary/index_tuple.h"

namespace pg_gpu::kary {

void make_index_tuple(const KeyFormat &format, TupleDesc descriptor, NullMask nulls, IndexOnlyTuple *made) {
    if (made->tuple != nullptr)
        pfree(made->tuple);
    char zeros[kMostKeyBits / 8] = {};
    Datum values[kMostColumns];
    bool is_null[kMostColumns];
    made->nulls = nulls;
    made->absent = nulls | format.lossy;
    for (int i = 0; i < format.column_count; i++) {
        values[i] = TupleDescAttr(descriptor, i)->attbyval ? Datum{0} : PointerGetDatum(zeros);
        is_null[i] = (made->absent >> i) & 1;
    }
    made->tuple = index_form_tuple(descriptor, values, is_null);
    // Types whose codes tell the value are of fixed length, so every tuple with these NULLs has its values at
    // the same places.
    size_t offset = IndexInfoFindDataOffset(made->tuple->t_info);
    for (int i = 0; i < format.column_count; i++) {
        const Form_pg_attribute attribute = TupleDescAttr(descriptor, i);
        if (is_null[i])
            continue;
        offset = att_align_nominal(offset, attribute->attalign);
        made->offsets[i] = static_cast<uint16>(offset);
        offset += static_cast<size_t>(attribute->attlen);
    }

    const KeyColumn &first = format.columns[0];
    made->is_plain = format.column_count == 1 && nulls == 0 && first.width == format.width &&
                     (first.encoding == Encoding::Signed || first.encoding == Encoding::Unsigned);
    made->flipped = (first.encoding == Encoding::Signed ? uint64{1} << (first.width - 1) : 0) ^
                    (first.descending ? PG_UINT64_MAX : 0);
}

}  // namespace pg_gpu::kary
