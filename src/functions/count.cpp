// gpu.count: visible rows between two bounds.
#include "functions/index_access.h"
#include "functions/integers.h"
#include "kary/condition.h"
#include "settings.h"

PG_GPU_FUNCTION(pg_gpu_count_array);
PG_GPU_FUNCTION(pg_gpu_count_record);

using namespace pg_gpu;

namespace {

// One side of the range; open when there is no value.
struct Bound {
    bool open;
    int64 value;
};

}  // namespace

[[noreturn]] static void report_too_many(const char *index_name, const char *what) {
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("bound has more %s than the index has columns", what),
                    errdetail("Index \"%s\" has one column.", index_name)));
}

static Bound bound_from_array(ArrayType *array, const char *index_name) {
    functions::require_integer_type(ARR_ELEMTYPE(array), "array element");
    if (ARR_NDIM(array) > 1)
        ereport(ERROR,
                (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR), errmsg("a bound must be a one-dimensional array")));
    const functions::IntegerElements elements = functions::read_integers(array);
    if (elements.count > 1)
        report_too_many(index_name, "elements");
    if (elements.count == 0 || elements.nulls[0])
        return {true, 0};
    return {false, elements.values[0]};
}

static Bound bound_from_record(HeapTupleHeader record, const char *index_name) {
    TupleDesc descriptor =
        lookup_rowtype_tupdesc(HeapTupleHeaderGetTypeId(record), HeapTupleHeaderGetTypMod(record));
    if (descriptor->natts > 1)
        report_too_many(index_name, "fields");
    Bound bound = {true, 0};
    if (descriptor->natts == 1) {
        HeapTupleData tuple = {};
        tuple.t_len = HeapTupleHeaderGetDatumLength(record);
        ItemPointerSetInvalid(&tuple.t_self);
        tuple.t_data = record;
        bool is_null;
        const Datum value = heap_getattr(&tuple, 1, descriptor, &is_null);
        const Oid type = TupleDescAttr(descriptor, 0)->atttypid;
        // A bare NULL has type text in a row constructor.
        if (!is_null) {
            functions::require_integer_type(type, "row field");
            bound = {false, kary::integer_from_datum(value, getBaseType(type))};
        }
    }
    ReleaseTupleDesc(descriptor);
    return bound;
}

template <typename Key>
static int64 count_range(const functions::OpenIndex &open, Snapshot snapshot, const Bound &low,
                         const Bound &high) {
    const kary::KeyFormat format = kary::key_format(open.index);
    kary::Condition<Key> condition;
    kary::make_range(format, low.open ? nullptr : &low.value, high.open ? nullptr : &high.value, &condition);
    uint64 heap_fetches;
    return kary::count_visible(open.heap, open.index, snapshot, condition, &heap_fetches);
}

template <typename ReadBound>
static Datum count_between(FunctionCallInfo fcinfo, ReadBound read_bound) {
    if (PG_ARGISNULL(0))
        PG_RETURN_NULL();
    const functions::OpenIndex open =
        functions::open_index(PG_GETARG_OID(0), AccessShareLock, AccessShareLock);
    functions::require_read_access(open);
    announce_forced_path();
    const char *name = RelationGetRelationName(open.index);
    const Bound low = PG_ARGISNULL(1) ? Bound{true, 0} : read_bound(PG_GETARG_DATUM(1), name);
    const Bound high = PG_ARGISNULL(2) ? Bound{true, 0} : read_bound(PG_GETARG_DATUM(2), name);

    Snapshot snapshot = GetActiveSnapshot();
    functions::lock_predicates(open, snapshot);
    const int64 count = kary::has_wide_keys(open.index) ? count_range<uint64>(open, snapshot, low, high)
                                                        : count_range<uint32>(open, snapshot, low, high);
    functions::close_index(open);
    PG_RETURN_INT64(count);
}

Datum pg_gpu_count_array(PG_FUNCTION_ARGS) {
    return count_between(fcinfo, [](Datum datum, const char *name) {
        return bound_from_array(DatumGetArrayTypeP(datum), name);
    });
}

Datum pg_gpu_count_record(PG_FUNCTION_ARGS) {
    return count_between(fcinfo, [](Datum datum, const char *name) {
        return bound_from_record(DatumGetHeapTupleHeader(datum), name);
    });
}
