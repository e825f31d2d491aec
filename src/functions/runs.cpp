// gpu.runs and gpu.merge: looking at the run list and shortening it.
#include "access_methods.h"
#include "compat.h"
#include "functions/index_access.h"

PG_GPU_FUNCTION(pg_gpu_runs);
PG_GPU_FUNCTION(pg_gpu_merge);

using namespace pg_gpu;

Datum pg_gpu_runs(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const functions::OpenIndex open =
        functions::open_index(PG_GETARG_OID(0), AccessShareLock, AccessShareLock);
    int count;
    Buffer buffer = storage::lock_metapage(open.index, run_kind_of(open.index), BUFFER_LOCK_SHARE);
    storage::RunEntry *runs =
        storage::copy_directory(open.index, run_kind_of(open.index), BufferGetPage(buffer), &count);
    UnlockReleaseBuffer(buffer);
    for (int i = 0; i < count; i++) {
        const Datum values[] = {
            Int64GetDatum(static_cast<int64>(runs[i].run_id)),
            Int32GetDatum(runs[i].level),
            Int64GetDatum(static_cast<int64>(runs[i].entries)),
            Int64GetDatum(static_cast<int64>(runs[i].dead)),
            Int64GetDatum(runs[i].pages),
            Int64GetDatum(static_cast<int64>(runs[i].pages) * BLCKSZ),
        };
        const bool nulls[lengthof(values)] = {};
        tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum *>(values),
                             const_cast<bool *>(nulls));
    }
    functions::close_index(open);
    return Datum{0};
}

Datum pg_gpu_merge(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const Oid index_oid = PG_GETARG_OID(0);
    if (RecoveryInProgress())
        ereport(ERROR,
                (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION), errmsg("cannot merge runs during recovery"),
                 errhint("Merge on the primary; the standby follows.")));
    functions::require_maintenance(index_oid);
    // The locks of an INSERT: merging disturbs neither readers nor writers.
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, RowExclusiveLock);
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    const storage::MergeOutcome outcome = storage::merge_all(open.index, run_kind_of(open.index));
    instr_time elapsed;
    INSTR_TIME_SET_CURRENT(elapsed);
    INSTR_TIME_SUBTRACT(elapsed, start);
    if (outcome.inputs > 0) {
        const Datum values[] = {
            CStringGetTextDatum("merge runs"),
            Datum{0},
            Int64GetDatum(static_cast<int64>(outcome.entries)),
            Int64GetDatum(static_cast<int64>(outcome.bytes)),
            Float8GetDatum(INSTR_TIME_GET_MILLISEC(elapsed)),
            CStringGetTextDatum("paged"),
        };
        const bool nulls[] = {false, true, false, false, false, false};
        tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum *>(values),
                             const_cast<bool *>(nulls));
    }
    functions::close_index(open);
    return Datum{0};
}
