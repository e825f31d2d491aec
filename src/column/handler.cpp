// The access method's handler: what PostgreSQL may ask of gpu_column.
#include "column/column.h"
#include "column/operators.h"
#include "keys/validate.h"
#include "storage/index_routine.h"

PG_GPU_FUNCTION(pg_gpu_column_handler);

Datum pg_gpu_column_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = storage::make_index_routine();
    routine->amstrategies = column::kMaxStrategies;
    routine->amcanmulticol = true;
    routine->amsearcharray = true;
    routine->amsearchnulls = true;

    routine->ambuild = column::build;
    routine->ambuildempty = column::build_empty;
    routine->aminsert = column::insert;
    routine->ambulkdelete = column::bulk_delete;
    routine->amvacuumcleanup = column::vacuum_cleanup;
    routine->amcostestimate = column::estimate_cost;
    routine->ambuildphasename = column::build_phase_name;
    routine->amvalidate = column::validate;
    routine->amadjustmembers = keys::adjust_members;
    routine->ambeginscan = column::begin_scan;
    routine->amrescan = column::rescan;
    routine->amgetbitmap = column::get_bitmap;
    routine->amendscan = column::end_scan;
    PG_RETURN_POINTER(routine);
}
