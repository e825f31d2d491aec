// gpu.verify: is the index sound, and does it agree with its table?
#include "access_methods.h"
#include "functions/index_access.h"

PG_GPU_FUNCTION(pg_gpu_verify);

using namespace pg_gpu;

static void put_problem(BlockNumber block, const ItemPointerData *tid, const char *problem, void *context) {
    auto *result = static_cast<ReturnSetInfo *>(context);
    ItemPointerData copy = {};
    if (tid != nullptr)
        copy = *tid;
    Datum values[] = {Int64GetDatum(int64{block}), PointerGetDatum(&copy), CStringGetTextDatum(problem)};
    bool nulls[] = {block == InvalidBlockNumber, tid == nullptr, false};
    tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum pg_gpu_verify(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const functions::OpenIndex open =
        functions::open_index(PG_GETARG_OID(0), AccessShareLock, AccessShareLock);
    functions::require_read_access(open);
    const Method *method = find_access_method(open.index);
    const storage::RunKind *kind = method->run_kind(open.index);
    if (storage::verify_structure(open.index, kind, put_problem, result))
        table::verify_index(open.heap, open.index, kind, *method->verify_steps(open.index), PG_GETARG_BOOL(1),
                            put_problem, result);
    functions::close_index(open);
    return Datum{0};
}
