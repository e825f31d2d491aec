#include "kary/row_bounds.h"

PG_GPU_FUNCTION(pg_gpu_row_bound);

namespace pg_gpu::kary {

namespace {

struct Fields {
    int count;
    Oid types[kMaxColumns];
    Datum values[kMaxColumns];
    bool nulls[kMaxColumns];
};

}  // namespace

static Fields read_fields(Datum row) {
    HeapTupleHeader header = DatumGetHeapTupleHeader(row);
    TupleDesc descriptor =
        lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(header), HeapTupleHeaderGetTypMod(header));
    Fields fields;
    fields.count = descriptor->natts;
    if (fields.count > kMaxColumns)
        elog(ERROR, "a row is compared with more columns than an index has");
    for (int i = 0; i < fields.count; i++)
        fields.types[i] = TupleDescAttr(descriptor, i)->atttypid;
    HeapTupleData tuple = {};
    tuple.t_len = HeapTupleHeaderGetDatumLength(header);
    tuple.t_data = header;
    heap_deform_tuple(&tuple, descriptor, fields.values, fields.nulls);
    ReleaseTupleDesc(descriptor);
    return fields;
}

template <typename Key>
bool narrow_by_row(const KeyFormat &format, const ScanKeyData &key, RowBounds<Key> *bounds) {
    const Fields fields = read_fields(key.sk_argument);
    const StrategyNumber strategy = btree_strategy(key.sk_strategy);
    const bool is_less = strategy <= BTLessEqualStrategyNumber;
    const int first = key.sk_attno - 1;
    const KeyColumn *columns = &format.columns[first];
    const auto all = low_bits<Bits<Key>>(columns[0].shift + columns[0].width);
    if (!bounds->any)
        *bounds = {true, 0, all};

    Bits<Key> bound = 0;
    Bits<Key> open = all;  // bits that nothing bounds
    const int count = Min(fields.count, format.column_count - first);
    for (int i = 0; i < count && !fields.nulls[i]; i++) {
        const KeyColumn &column = columns[i];
        const auto place = encode_tid<Key>(column, fields.values[i], fields.types[i]);
        const StrategyNumber or_equal = is_less ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
        const auto range = codes_for(i + 1 < fields.count ? or_equal : strategy, place, column.width);
        if (range.empty)
            break;
        bound |= orient(column, is_less ? range.high : range.low) << column.shift;
        open = column.shift > 0 ? low_bits<Bits<Key>>(column.shift) : 0;
        // No value equals the field, so that the ones behind it decide nothing.
        if (codes_for(BTEqualStrategyNumber, place, column.width).empty)
            break;
    }
    if (open == all)
        return false;
    if (is_less != columns[0].descending)
        bounds->high = Min(bounds->high, bound | open);
    else
        bounds->low = Max(bounds->low, bound);
    return true;
}

#define INSTANTIATE(Key) \
    template bool narrow_by_row(const KeyFormat &, const ScanKeyData &, RowBounds<Key> *);
PG_GPU_FOR_EACH_KEY_TYPE(INSTANTIATE)
#undef INSTANTIATE

bool is_row_function(Oid function) {
    FmgrInfo found;
    fmgr_info(function, &found);
    return found.fn_addr == pg_gpu_row_bound;
}

}  // namespace pg_gpu::kary

// The comparison of a column with the first field of a row, and of what is not at hand with the other fields.
// It holds wherever the comparison of the rows, which is a filter beside it, may hold.
Datum pg_gpu_row_bound(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    PG_RETURN_BOOL(true);
}
