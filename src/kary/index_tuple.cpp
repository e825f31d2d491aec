#include "kary/index_tuple.h"

namespace pg_gpu::kary {

void make_index_tuple(const KeyFormat &format, TupleDesc descriptor, NullMask nulls, IndexOnlyTuple *made) {
    make_tuple_template(descriptor, format.column_count, nulls, format.lossy, made);
    const KeyColumn &first = format.columns[0];
    made->is_plain = format.column_count == 1 && nulls == 0 && first.width == format.width &&
                     (first.encoding == Encoding::Signed || first.encoding == Encoding::Unsigned);
    made->flipped = (first.encoding == Encoding::Signed ? uint64{1} << (first.width - 1) : 0) ^
                    (first.descending ? PG_UINT64_MAX : 0);
}

}  // namespace pg_gpu::kary
