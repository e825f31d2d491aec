// The access method's handler: what PostgreSQL may ask of gpu_text.
#include "compat.h"
#include "storage/index_routine.h"
#include "text/operators.h"
#include "text/options.h"
#include "text/text.h"

PG_GPU_FUNCTION(pg_gpu_text_handler);

Datum pg_gpu_text_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = storage::make_index_routine();
    routine->amstrategies = text::kMaxStrategies;
    routine->amcanorderbyop = true;

    routine->ambuild = text::build;
    routine->ambuildempty = text::build_empty;
    routine->aminsert = text::insert;
    routine->ambulkdelete = text::bulk_delete;
    routine->amvacuumcleanup = text::vacuum_cleanup;
    routine->amcostestimate = text::estimate_cost;
    routine->amoptions = text::read_options;
    routine->ambuildphasename = text::build_phase_name;
    routine->amvalidate = text::validate;
    routine->ambeginscan = text::begin_scan;
    routine->amrescan = text::rescan;
    routine->amgettuple = text::get_tuple;
    routine->amgetbitmap = text::get_bitmap;
    routine->amendscan = text::end_scan;
    PG_RETURN_POINTER(routine);
}
