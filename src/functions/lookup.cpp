// gpu.lookup: the visible rows of many keys at once.
#include "functions/lookup.h"

#include "functions/integers.h"
#include "settings.h"

PG_GPU_FUNCTION(pg_gpu_lookup);

using namespace pg_gpu;

namespace pg_gpu::functions {

kary::LookupResult look_up_array(const OpenIndex &open, ArrayType *array, Snapshot snapshot) {
    require_integer_type(ARR_ELEMTYPE(array), "array element");
    const IntegerElements elements = read_integers(array);
    lock_predicates(open, snapshot);
    return kary::look_up(open.heap, open.index, snapshot, {elements.values, elements.nulls, elements.count});
}

}  // namespace pg_gpu::functions

Datum pg_gpu_lookup(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const functions::OpenIndex open =
        functions::open_index(PG_GETARG_OID(0), AccessShareLock, AccessShareLock);
    functions::require_read_access(open);
    announce_forced_path();
    Snapshot snapshot = GetActiveSnapshot();
    const kary::LookupResult lookup = functions::look_up_array(open, PG_GETARG_ARRAYTYPE_P(1), snapshot);

    auto *rows = allocate<kary::HeapRows>(1);
    kary::open_heap_rows(rows, open.heap, snapshot, &lookup);
    ItemPointerData tid;
    bool nulls[2] = {false, false};
    while (const kary::LookupMatch *match = kary::next_row(rows, &tid)) {
        for (uint32 i = lookup.first_position[match->key]; i < lookup.first_position[match->key + 1]; i++) {
            Datum values[2] = {Int64GetDatum(int64{lookup.positions[i]} + 1), PointerGetDatum(&tid)};
            tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        }
    }
    kary::close_heap_rows(rows);
    functions::close_index(open);
    return Datum{0};
}
