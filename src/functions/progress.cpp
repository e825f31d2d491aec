// gpu.progress: long-running work of all sessions and workers.
#include "progress.h"

#include "compat.h"
#include "functions/rows.h"
#include "version.h"

PG_GPU_FUNCTION(pg_gpu_progress_rows);

using namespace pg_gpu;

// Everybody sees that there is work, as in PostgreSQL's progress views; only who may see its user's rows sees
// what it is.
static void put_progress(const Progress &progress, uint64 done, void *context) {
    auto *fcinfo = static_cast<FunctionCallInfo>(context);
    char *database = get_database_name(progress.database);
    char *user = GetUserNameFromId(progress.user, true);
    const bool sees_all = functions::may_see_rows_of(progress.user);
    const Datum values[] = {
        Int32GetDatum(progress.pid),
        database != nullptr ? DirectFunctionCall1(namein, CStringGetDatum(database)) : Datum{0},
        user != nullptr ? DirectFunctionCall1(namein, CStringGetDatum(user)) : Datum{0},
        CStringGetTextDatum(progress.command),
        ObjectIdGetDatum(progress.index),
        CStringGetTextDatum(progress.phase),
        Int64GetDatum(static_cast<int64>(done)),
        Int64GetDatum(static_cast<int64>(progress.total)),
        TimestampTzGetDatum(progress.started),
    };
    const bool nulls[lengthof(values)] = {
        false,
        database == nullptr,
        user == nullptr,
        !sees_all,
        !sees_all || !OidIsValid(progress.index) || progress.database != MyDatabaseId,
        !sees_all,
        !sees_all,
        !sees_all || progress.total == 0,
        !sees_all,
    };
    functions::put_row(fcinfo, values, nulls);
}

Datum pg_gpu_progress_rows(PG_FUNCTION_ARGS) {
    require_matching_objects();
    InitMaterializedSRF(fcinfo, 0);
    show_progress(put_progress, fcinfo);
    return Datum{0};
}
