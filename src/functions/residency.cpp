// gpu.load and gpu.evict: which indexes lie in the server process.
#include "access_methods.h"
#include "functions/index_access.h"
#include "settings.h"

PG_GPU_FUNCTION(pg_gpu_load);
PG_GPU_FUNCTION(pg_gpu_evict);

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
