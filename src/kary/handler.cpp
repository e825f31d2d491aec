// The access method's handler: what PostgreSQL may ask of gpu_kary.
#include "compat.h"
#include "kary/kary.h"
#include "keys/validate.h"

PG_GPU_FUNCTION(pg_gpu_kary_handler);

Datum pg_gpu_kary_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = makeNode(IndexAmRoutine);
    routine->amstrategies = kary::kMostStrategies;
    routine->amsupport = 0;
    routine->amoptsprocnum = 0;
    routine->amcanorder = true;
    routine->amcanorderbyop = false;
    routine->amcanbackward = true;
    routine->amcanunique = false;
    routine->amcanmulticol = true;
    routine->amoptionalkey = true;
    routine->amsearcharray = true;
    routine->amsearchnulls = true;
    routine->amstorage = false;
    routine->amclusterable = false;  // it would need non-MVCC order (R7)
    routine->ampredlocks = false;    // the executor locks the whole index (SERIALIZABLE)
    routine->amcanparallel = false;
    routine->amcaninclude = false;
    routine->amusemaintenanceworkmem = false;  // VACUUM needs no memory of its own here
    routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
    routine->amkeytype = InvalidOid;

    routine->ambuild = kary::build;
    routine->ambuildempty = kary::build_empty;
    routine->aminsert = kary::insert;
    routine->ambulkdelete = kary::bulk_delete;
    routine->amvacuumcleanup = kary::vacuum_cleanup;
    routine->amcanreturn = kary::can_return;
    routine->amcostestimate = kary::estimate_cost;
    routine->amoptions = storage::storage_options;
    routine->amproperty = kary::property;
    routine->ambuildphasename = kary::build_phase_name;
    routine->amvalidate = kary::validate;
    routine->amadjustmembers = keys::adjust_members;
    routine->ambeginscan = kary::begin_scan;
    routine->amrescan = kary::rescan;
    routine->amgettuple = kary::get_tuple;
    routine->amgetbitmap = kary::get_bitmap;
    routine->amendscan = kary::end_scan;
    routine->ammarkpos = kary::mark_position;
    routine->amrestrpos = kary::restore_position;
    set_version_dependent_fields(routine);
    PG_RETURN_POINTER(routine);
}
