// gpu.runs and gpu.merge: looking at the run list and shortening it.
#include "access_methods.h"
#include "compat.h"
#include "column/gpu_column.h"
#include "functions/column_access.h"
#include "progress.h"

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

static void put_step(ReturnSetInfo *result, const char *step, const char *column, uint64 entries,
                     uint64 bytes, double milliseconds, client::Path path) {
    NameData name = {};
    if (column != nullptr)
        namestrcpy(&name, column);
    const Datum values[] = {
        CStringGetTextDatum(step),
        NameGetDatum(&name),
        Int64GetDatum(static_cast<int64>(entries)),
        Int64GetDatum(static_cast<int64>(bytes)),
        Float8GetDatum(milliseconds),
        CStringGetTextDatum(client::path_name(path)),
    };
    const bool nulls[] = {false, column == nullptr, false, false, false, false};
    tuplestore_putvalues(result->setResult, result->setDesc, const_cast<Datum *>(values),
                         const_cast<bool *>(nulls));
}

// Returns the time and bytes that the merge took, a row for each column.
static void put_column_steps(ReturnSetInfo *result, const functions::OpenIndex &open) {
    int count;
    const column::MergeStep *steps = column::last_merge_steps(&count);
    for (int i = 0; i < count; i++)
        put_step(result, steps[i].name,
                 steps[i].column >= 0 ? functions::column_name(open, steps[i].column) : nullptr,
                 steps[i].entries, steps[i].bytes, steps[i].milliseconds, steps[i].path);
}

Datum pg_gpu_merge(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const Oid index_oid = PG_GETARG_OID(0);
    functions::require_maintenance(index_oid);
    // open_index reports an index that is not there.
    const char *name = get_rel_name(index_oid);
    if (name != nullptr && RecoveryInProgress())
        ereport(ERROR, (errcode(ERRCODE_READ_ONLY_SQL_TRANSACTION),
                        errmsg("cannot merge runs of index \"%s\" during recovery", name),
                        errhint("Merge on the primary; the standby follows.")));
    // The locks of an INSERT: merging disturbs neither readers nor writers.
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, RowExclusiveLock);
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    begin_build_report(open.index, kMergeSubphase);
    const storage::MergeOutcome outcome = storage::merge_all(open.index, run_kind_of(open.index));
    end_build_report();
    instr_time elapsed;
    INSTR_TIME_SET_CURRENT(elapsed);
    INSTR_TIME_SUBTRACT(elapsed, start);
    if (outcome.inputs > 0) {
        // The server process merges no more than the dictionaries of gpu_column, which have steps of their
        // own.
        put_step(result, "merge runs", nullptr, outcome.entries, outcome.bytes,
                 INSTR_TIME_GET_MILLISEC(elapsed), client::Path::Paged);
        if (find_access_method(open.index) == &gpu_column)
            put_column_steps(result, open);
    }
    functions::close_index(open);
    return Datum{0};
}
