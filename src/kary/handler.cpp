// The access method's handler: what PostgreSQL may ask of gpu_kary.
#include "compat.h"
#include "kary/kary.h"
#include "keys/validate.h"
#include "storage/index_routine.h"

PG_GPU_FUNCTION(pg_gpu_kary_handler);

Datum pg_gpu_kary_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = storage::make_index_routine();
    routine->amstrategies = kary::kMaxStrategies;
    set_ordered(routine);
    routine->amcanbackward = true;
    routine->amcanmulticol = true;
    routine->amsearcharray = true;
    routine->amsearchnulls = true;

    routine->ambuild = kary::build;
    routine->ambuildempty = kary::build_empty;
    routine->aminsert = kary::insert;
    routine->ambulkdelete = kary::bulk_delete;
    routine->amvacuumcleanup = kary::vacuum_cleanup;
    routine->amcanreturn = kary::can_return;
    routine->amcostestimate = kary::estimate_cost;
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
    PG_RETURN_POINTER(routine);
}
