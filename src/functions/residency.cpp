// gpu.load, gpu.evict and their like: which indexes lie in the server process.
#include "access_methods.h"
#include "residency/inventory.h"
#include "compat.h"
#include "functions/index_access.h"
#include "settings.h"
#include "version.h"

PG_GPU_FUNCTION(pg_gpu_load);
PG_GPU_FUNCTION(pg_gpu_evict);
PG_GPU_FUNCTION(pg_gpu_evict_run);
PG_GPU_FUNCTION(pg_gpu_evict_database);
PG_GPU_FUNCTION(pg_gpu_evict_all);

using namespace pg_gpu;

Datum pg_gpu_load(PG_FUNCTION_ARGS) {
    const Oid index_oid = PG_GETARG_OID(0);
    const bool pinned = PG_GETARG_BOOL(1);
    functions::require_maintenance(index_oid);
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, AccessShareLock);
    const Method &method = *find_access_method(open.index);
    const client::MirrorFormat *format = method.mirror_format(open.index);
    if (format == nullptr)
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("cannot load index \"%s\"", RelationGetRelationName(open.index)),
                        errdetail("Its columns take more than eight keys of 64 bits; a uuid takes two.")));
    if (mirror_setting() == MirrorSetting::Off)
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("cannot load index \"%s\"", RelationGetRelationName(open.index)),
                        errdetail("pg_gpu.mirror is \"off\"."),
                        errhint("A superuser can set it to \"auto\" or \"manual\".")));
    const uint64 bytes = client::load_index(open.index, method.run_kind(open.index), format, pinned);
    functions::close_index(open);
    PG_RETURN_INT64(static_cast<int64>(bytes));
}

Datum pg_gpu_evict(PG_FUNCTION_ARGS) {
    const Oid index_oid = PG_GETARG_OID(0);
    functions::require_maintenance(index_oid);
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, AccessShareLock);
    const uint64 bytes = client::evict_index(open.index);
    functions::close_index(open);
    PG_RETURN_INT64(static_cast<int64>(bytes));
}

// ---- by run, by database, all -----------------------------------------------------------------------------

static Datum evict(client::MirrorTest is_wanted, void *context) {
    require_matching_objects();
    uint64 bytes = 0;
    if (!client::drop_mirrors(is_wanted, context, &bytes))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE), errmsg("cannot evict mirrors"),
                        errdetail("The reason is: %s.", client::last_reason())));
    PG_RETURN_INT64(static_cast<int64>(bytes));
}

// An index of this database is its maintainers'; what lies elsewhere, or belongs to no index any more, is the
// administrators'.
static bool is_run(const gpu_engine::protocol::MirrorRow &mirror, void *run_id) {
    if (mirror.name.run != *static_cast<uint64 *>(run_id))
        return false;
    const Oid index = client::index_of_run(mirror.name);
    if (OidIsValid(index))
        functions::require_maintenance(index);
    else if (!may_maintain_everything(GetUserId()))
        ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
                        errmsg("permission denied to evict run %lld",
                               static_cast<long long>(static_cast<int64>(mirror.name.run))),
                        errdetail("It does not belong to an index of this database.")));
    return true;
}

Datum pg_gpu_evict_run(PG_FUNCTION_ARGS) {
    auto run_id = static_cast<uint64>(PG_GETARG_INT64(0));
    return evict(is_run, &run_id);
}

Datum pg_gpu_evict_database(PG_FUNCTION_ARGS) {
    const char *name = NameStr(*PG_GETARG_NAME(0));
    Oid database = get_database_oid(name, false);
    if (!owns_database(database, GetUserId()) && !may_maintain_everything(GetUserId()))
        aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_DATABASE, name);
    return evict([](const gpu_engine::protocol::MirrorRow &mirror,
                    void *wanted) { return mirror.name.database == *static_cast<Oid *>(wanted); },
                 &database);
}

Datum pg_gpu_evict_all(PG_FUNCTION_ARGS) {
    static_cast<void>(fcinfo);
    if (!may_maintain_everything(GetUserId()))
        ereport(ERROR,
                (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("permission denied to evict all mirrors"),
                 errhint("gpu.evict_database evicts those of a database that you own.")));
    return evict([](const gpu_engine::protocol::MirrorRow &, void *) { return true; }, nullptr);
}
