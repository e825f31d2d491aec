// The access method's handler: what PostgreSQL may ask of gpu_column.
#include "column/column.h"
#include "column/operators.h"
#include "compat.h"
#include "keys/validate.h"

PG_GPU_FUNCTION(pg_gpu_column_handler);

Datum pg_gpu_column_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = makeNode(IndexAmRoutine);
    routine->amstrategies = column::kMostStrategies;
    routine->amsupport = 0;
    routine->amoptsprocnum = 0;
    routine->amcanorder = false;
    routine->amcanorderbyop = false;
    routine->amcanbackward = false;
    routine->amcanunique = false;
    routine->amcanmulticol = true;
    routine->amoptionalkey = true;
    routine->amsearcharray = true;
    routine->amsearchnulls = true;
    routine->amstorage = false;
    routine->amclusterable = false;
    routine->ampredlocks = false;  // the executor locks the whole index (SERIALIZABLE)
    routine->amcanparallel = false;
    routine->amcaninclude = false;
    routine->amusemaintenanceworkmem = false;  // VACUUM needs no memory of its own here
    routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
    routine->amkeytype = InvalidOid;

    routine->ambuild = column::build;
    routine->ambuildempty = column::build_empty;
    routine->aminsert = column::insert;
    routine->ambulkdelete = column::bulk_delete;
    routine->amvacuumcleanup = column::vacuum_cleanup;
    routine->amcanreturn = nullptr;
    routine->amcostestimate = column::estimate_cost;
    routine->amoptions = storage::storage_options;
    routine->amproperty = nullptr;
    routine->ambuildphasename = column::build_phase_name;
    routine->amvalidate = column::validate;
    routine->amadjustmembers = keys::adjust_members;
    routine->ambeginscan = column::begin_scan;
    routine->amrescan = column::rescan;
    routine->amgettuple = nullptr;
    routine->amgetbitmap = column::get_bitmap;
    routine->amendscan = column::end_scan;
    routine->ammarkpos = nullptr;
    routine->amrestrpos = nullptr;
    set_version_dependent_fields(routine);
    PG_RETURN_POINTER(routine);
}
