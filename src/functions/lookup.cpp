// gpu.lookup: the visible rows of many keys at once.
#include "functions/lookup.h"

#include "access_methods.h"
#include "functions/values.h"
#include "kary/gpu_kary.h"

PG_GPU_FUNCTION(pg_gpu_lookup);

using namespace pg_gpu;

namespace pg_gpu::functions {

namespace {

struct KeyReader {
    Relation index;
    Elements elements;
    Oid type;  // type of all elements; invalid when they are records
    int columns;
};

}  // namespace

static bool read_single_key(void *context, uint32 i, Datum *values, Oid *types) {
    const auto *reader = static_cast<const KeyReader *>(context);
    values[0] = reader->elements.values[i];
    types[0] = reader->type;
    return !reader->elements.nulls[i];
}

static bool read_key_record(void *context, uint32 i, Datum *values, Oid *types) {
    const auto *reader = static_cast<const KeyReader *>(context);
    if (reader->elements.nulls[i])
        return false;
    ColumnValues record;
    read_record(reader->index, DatumGetHeapTupleHeader(reader->elements.values[i]), &record);
    if (record.count != reader->columns)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("a key must have a field for each column of index \"%s\"",
                               RelationGetRelationName(reader->index)),
                        errdetail("The number of fields is %d, and the number of columns is %d.",
                                  record.count, reader->columns)));
    for (int column = 0; column < reader->columns; column++) {
        if (record.nulls[column])
            return false;
        values[column] = record.values[column];
        types[column] = record.types[column];
    }
    return true;
}

kary::LookupResult look_up_array(const OpenIndex &open, ArrayType *array, Snapshot snapshot) {
    const Method &method = *find_access_method(open.index);
    const bool is_rough = is_rough_index(open);
    if (method.look_up == nullptr || is_rough)
        ereport(ERROR,
                (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                 errmsg("gpu.lookup cannot be used with index \"%s\"", RelationGetRelationName(open.index)),
                 is_rough ? errdetail("It finds values of a column only roughly.")
                          : errdetail("Its access method is %s.", method.name),
                 errhint("Name an index created with USING gpu_kary or gpu_grid.")));
    const Oid element_type = ARR_ELEMTYPE(array);
    // The keys are needed as long as the result when rows are checked against them.
    if (&method == &gpu_kary && kary::has_lossy_columns(open.index))
        array = DatumGetArrayTypePCopy(PointerGetDatum(array));
    auto *reader = allocate_zeroed<KeyReader>(1);
    reader->index = open.index;
    reader->columns = IndexRelationGetNumberOfKeyAttributes(open.index);
    if (reader->columns == 1)
        reader->type = comparable_type(open.index, 0, element_type);
    else if (!is_record_type(element_type))
        ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
                        errmsg("keys of index \"%s\" are records", RelationGetRelationName(open.index)),
                        errdetail("The index has %d columns.", reader->columns),
                        errhint("Name them as in ARRAY[row(1, 2), row(3, 4)].")));
    reader->elements = read_elements(array);
    lock_predicates(open, snapshot);
    return method.look_up(open.heap, open.index, snapshot,
                          {static_cast<uint32>(reader->elements.count),
                           reader->columns == 1 ? read_single_key : read_key_record, reader});
}

}  // namespace pg_gpu::functions

Datum pg_gpu_lookup(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const functions::OpenIndex open =
        functions::open_index(PG_GETARG_OID(0), AccessShareLock, AccessShareLock);
    functions::require_read_access(open);
    Snapshot snapshot = GetActiveSnapshot();
    const kary::LookupResult lookup = functions::look_up_array(open, PG_GETARG_ARRAYTYPE_P(1), snapshot);

    auto *rows = allocate<kary::HeapRows>(1);
    kary::open_heap_rows(rows, open.heap, snapshot, &lookup);
    TupleTableSlot *slot = lookup.check != nullptr ? table_slot_create(open.heap, nullptr) : nullptr;
    ItemPointerData tid;
    bool nulls[2] = {false, false};
    while (const kary::LookupMatch *match = kary::next_row(rows, &tid)) {
        if (slot != nullptr) {
            kary::store_row(rows, slot);
            kary::check_row(lookup.check, slot);
        }
        for (uint32 i = lookup.first_position[match->key]; i < lookup.first_position[match->key + 1]; i++) {
            if (slot != nullptr && !kary::row_has_key(lookup.check, lookup.positions[i]))
                continue;
            Datum values[2] = {Int64GetDatum(int64{lookup.positions[i]} + 1), PointerGetDatum(&tid)};
            tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        }
    }
    if (slot != nullptr) {
        ExecDropSingleTupleTableSlot(slot);
        kary::end_row_check(lookup.check);
    }
    kary::close_heap_rows(rows);
    functions::close_index(open);
    return Datum{0};
}
