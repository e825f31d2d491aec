// The access method's handler: what PostgreSQL may ask of gpu_grid.
#include "compat.h"
#include "grid/grid.h"
#include "keys/validate.h"

PG_GPU_FUNCTION(pg_gpu_grid_handler);

Datum pg_gpu_grid_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = makeNode(IndexAmRoutine);
    routine->amstrategies = grid::kDistance;
    routine->amsupport = 0;
    routine->amoptsprocnum = 0;
    routine->amcanorder = false;
    routine->amcanorderbyop = true;
    routine->amcanbackward = false;
    routine->amcanunique = false;
    routine->amcanmulticol = true;
    routine->amoptionalkey = true;
    routine->amsearcharray = false;
    routine->amsearchnulls = true;
    routine->amstorage = false;
    routine->amclusterable = false;
    routine->ampredlocks = false;  // the executor locks the whole index (SERIALIZABLE)
    routine->amcanparallel = false;
    routine->amcaninclude = false;
    routine->amusemaintenanceworkmem = false;  // VACUUM needs no memory of its own here
    routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
    routine->amkeytype = InvalidOid;

    routine->ambuild = grid::build;
    routine->ambuildempty = grid::build_empty;
    routine->aminsert = grid::insert;
    routine->ambulkdelete = grid::bulk_delete;
    routine->amvacuumcleanup = grid::vacuum_cleanup;
    routine->amcanreturn = grid::can_return;
    routine->amcostestimate = grid::estimate_cost;
    routine->amoptions = grid::options;
    routine->amproperty = grid::property;
    routine->ambuildphasename = grid::build_phase_name;
    routine->amvalidate = grid::validate;
    routine->amadjustmembers = keys::adjust_members;
    routine->ambeginscan = grid::begin_scan;
    routine->amrescan = grid::rescan;
    routine->amgettuple = grid::get_tuple;
    routine->amgetbitmap = grid::get_bitmap;
    routine->amendscan = grid::end_scan;
    routine->ammarkpos = nullptr;
    routine->amrestrpos = nullptr;
    set_version_dependent_fields(routine);
    PG_RETURN_POINTER(routine);
}
