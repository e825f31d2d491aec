// gpu.count and gpu.count_batch: visible rows between bounds.
#include "access_methods.h"
#include "functions/count.h"
#include "functions/index_access.h"
#include "functions/values.h"
#include "kary/gpu_kary.h"

PG_GPU_FUNCTION(pg_gpu_count_array);
PG_GPU_FUNCTION(pg_gpu_count_record);
PG_GPU_FUNCTION(pg_gpu_count_batch);

using namespace pg_gpu;
using functions::ColumnValues;

static void read_array_bound(Relation index, Datum datum, ColumnValues *bound) {
    ArrayType *array = DatumGetArrayTypeP(datum);
    if (ARR_NDIM(array) > 1)
        ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                        errmsg("a bound for index \"%s\" must be a one-dimensional array",
                               RelationGetRelationName(index)),
                        errdetail("The array has %d dimensions.", ARR_NDIM(array)),
                        errhint("gpu.count_batch takes many bounds at once.")));
    const functions::Elements elements = functions::read_elements(array);
    functions::read_columns(index, ARR_ELEMTYPE(array), elements.values, elements.nulls, elements.count,
                            bound);
}

static void read_record_bound(Relation index, Datum datum, ColumnValues *bound) {
    functions::read_record(index, DatumGetHeapTupleHeader(datum), bound);
}

// Rows would have to be looked at one by one.
static void require_countable(Relation index, int column) {
    if (find_access_method(index) != &gpu_kary ||
        !keys::is_lossy(keys::encoding_of(index->rd_opcintype[column])))
        return;
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("rows cannot be counted by column \"%s\" of index \"%s\"",
                           NameStr(TupleDescAttr(RelationGetDescr(index), column)->attname),
                           RelationGetRelationName(index)),
                    errdetail("The keys of this column do not tell its values."),
                    errhint("Use SELECT count(*) with a condition.")));
}

// Adds a condition for each column that the bound doesn't leave open.
static int add_bound(Relation index, const ColumnValues &bound, StrategyNumber strategy, ScanKeyData *keys,
                     int count) {
    for (int i = 0; i < bound.count; i++) {
        if (bound.nulls[i])
            continue;
        require_countable(index, i);
        ScanKeyData *key = &keys[count++];
        *key = {};
        key->sk_attno = static_cast<AttrNumber>(i + 1);
        key->sk_strategy = strategy;
        key->sk_subtype = bound.types[i];
        key->sk_argument = bound.values[i];
    }
    return count;
}

static int add_bounds(Relation index, const ColumnValues &low, const ColumnValues &high, ScanKeyData *keys) {
    const int count = add_bound(index, low, BTGreaterEqualStrategyNumber, keys, 0);
    return add_bound(index, high, BTLessEqualStrategyNumber, keys, count);
}

static functions::OpenIndex open_for_counting(Oid index_oid, Snapshot snapshot) {
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, AccessShareLock);
    const Method &method = *find_access_method(open.index);
    const bool is_rough = is_rough_index(open);
    if (method.count_batch == nullptr || is_rough)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("rows cannot be counted between bounds in index \"%s\"",
                               RelationGetRelationName(open.index)),
                        is_rough ? errdetail("It finds values of a column only roughly.")
                                 : errdetail("Its access method is %s.", method.name),
                        errhint("Use SELECT count(*) with a condition.")));
    functions::require_read_access(open);
    functions::lock_predicates(open, snapshot);
    return open;
}

// The access method counts by filters too, so the NULL may be a filter as well as a bound.
static void require_no_filter(Oid index_oid) {
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, AccessShareLock);
    if (find_access_method(open.index) == &gpu_column)
        ereport(
            ERROR,
            (errcode(ERRCODE_AMBIGUOUS_FUNCTION),
             errmsg("a NULL for index \"%s\" is either a filter or an open bound",
                    RelationGetRelationName(open.index)),
             errhint("Cast it, to text for a filter without values, or to the type of the other bound.")));
    functions::close_index(open);
}

template <typename ReadBound>
static Datum count_one(FunctionCallInfo fcinfo, ReadBound read_bound) {
    if (PG_ARGISNULL(0))
        PG_RETURN_NULL();
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open = open_for_counting(PG_GETARG_OID(0), snapshot);
    ColumnValues low = {};
    ColumnValues high = {};
    if (!PG_ARGISNULL(1))
        read_bound(open.index, PG_GETARG_DATUM(1), &low);
    if (!PG_ARGISNULL(2))
        read_bound(open.index, PG_GETARG_DATUM(2), &high);
    ScanKeyData keys[2 * INDEX_MAX_KEYS];
    const int key_count = add_bounds(open.index, low, high, keys);
    uint64 heap_fetches;
    const int64 count = find_access_method(open.index)
                            ->count_matching(open.heap, open.index, snapshot, keys, key_count, &heap_fetches);
    functions::close_index(open);
    PG_RETURN_INT64(count);
}

Datum functions::count_below_bound(FunctionCallInfo fcinfo) {
    // An untyped NULL beside the NULL leaves both sides open.
    const bool is_record = functions::is_record_type(get_fn_expr_argtype(fcinfo->flinfo, 2));
    if (!PG_ARGISNULL(0))
        require_no_filter(PG_GETARG_OID(0));
    return is_record ? count_one(fcinfo, read_record_bound) : count_one(fcinfo, read_array_bound);
}

Datum pg_gpu_count_array(PG_FUNCTION_ARGS) {
    return count_one(fcinfo, read_array_bound);
}

Datum pg_gpu_count_record(PG_FUNCTION_ARGS) {
    return count_one(fcinfo, read_record_bound);
}

namespace {

// The bounds of many ranges: a two-dimensional array, or a one-dimensional one of records. Open without an
// array.
struct BoundRows {
    bool is_open;
    bool of_records;
    Oid type;
    int rows;
    int columns;
    functions::Elements elements;
};

}  // namespace

static BoundRows read_rows(FunctionCallInfo fcinfo, int argument, Relation index) {
    BoundRows bounds = {};
    bounds.is_open = PG_ARGISNULL(argument);
    if (bounds.is_open)
        return bounds;
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(argument);
    bounds.type = ARR_ELEMTYPE(array);
    bounds.of_records = functions::is_record_type(bounds.type);
    const int dimensions = bounds.of_records ? 1 : 2;
    if (ARR_NDIM(array) == 0)
        return bounds;
    if (ARR_NDIM(array) != dimensions)
        ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                        bounds.of_records
                            ? errmsg("bounds for index \"%s\" must be a one-dimensional array of records",
                                     RelationGetRelationName(index))
                            : errmsg("bounds for index \"%s\" must be a two-dimensional array",
                                     RelationGetRelationName(index)),
                        errhint("Each row is a range's bound, with one element for each column.")));
    bounds.rows = ARR_DIMS(array)[0];
    bounds.columns = bounds.of_records ? 1 : ARR_DIMS(array)[1];
    bounds.elements = functions::read_elements(array);
    return bounds;
}

static void read_row(Relation index, const BoundRows &bounds, int row, ColumnValues *bound) {
    bound->count = 0;
    if (bounds.is_open)
        return;
    const int first = row * bounds.columns;
    if (!bounds.of_records)
        functions::read_columns(index, bounds.type, bounds.elements.values + first,
                                bounds.elements.nulls + first, bounds.columns, bound);
    else if (!bounds.elements.nulls[first])
        read_record_bound(index, bounds.elements.values[first], bound);
}

namespace {

struct RangeRows {
    Relation index;
    BoundRows low;
    BoundRows high;
};

}  // namespace

static int read_range(void *context, uint32 i, ScanKeyData *keys) {
    const auto *rows = static_cast<const RangeRows *>(context);
    ColumnValues low;
    ColumnValues high;
    read_row(rows->index, rows->low, static_cast<int>(i), &low);
    read_row(rows->index, rows->high, static_cast<int>(i), &high);
    return add_bounds(rows->index, low, high, keys);
}

Datum pg_gpu_count_batch(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    if (PG_ARGISNULL(0))
        return Datum{0};
    Snapshot snapshot = GetActiveSnapshot();
    const functions::OpenIndex open = open_for_counting(PG_GETARG_OID(0), snapshot);
    RangeRows rows = {open.index, read_rows(fcinfo, 1, open.index), read_rows(fcinfo, 2, open.index)};
    if (!rows.low.is_open && !rows.high.is_open && rows.low.rows != rows.high.rows)
        ereport(ERROR,
                (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
                 errmsg("numbers of low and high bounds for index \"%s\" differ",
                        RelationGetRelationName(open.index)),
                 errdetail("Of low bounds there are %d, of high bounds %d.", rows.low.rows, rows.high.rows)));

    const auto count = static_cast<uint32>(Max(rows.low.rows, rows.high.rows));
    auto *counts = allocate<int64>(uint64{count} + 1);
    find_access_method(open.index)
        ->count_batch(open.heap, open.index, snapshot, {count, read_range, &rows}, counts);
    for (uint32 i = 0; i < count; i++) {
        Datum values[] = {Int64GetDatum(int64{i} + 1), Int64GetDatum(counts[i])};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    functions::close_index(open);
    return Datum{0};
}
