// The access method's handler: what PostgreSQL may ask of gpu_grid.
#include "grid/grid.h"
#include "keys/validate.h"
#include "storage/index_routine.h"

PG_GPU_FUNCTION(pg_gpu_grid_handler);

Datum pg_gpu_grid_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = storage::make_index_routine();
    routine->amstrategies = grid::kDistance;
    routine->amcanorderbyop = true;
    routine->amcanmulticol = true;
    routine->amsearchnulls = true;

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
    PG_RETURN_POINTER(routine);
}
