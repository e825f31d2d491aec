// The access method's handler: what PostgreSQL may ask of gpu_text.
#include "compat.h"
#include "text/operators.h"
#include "text/options.h"
#include "text/text.h"

PG_GPU_FUNCTION(pg_gpu_text_handler);

Datum pg_gpu_text_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = makeNode(IndexAmRoutine);
    routine->amstrategies = text::kMostStrategies;
    routine->amsupport = 0;
    routine->amoptsprocnum = 0;
    routine->amcanorder = false;
    routine->amcanorderbyop = true;
    routine->amcanbackward = false;
    routine->amcanunique = false;
    routine->amcanmulticol = false;
    routine->amoptionalkey = true;  // NULLs are entries
    routine->amsearcharray = false;
    routine->amsearchnulls = false;
    routine->amstorage = false;
    routine->amclusterable = false;
    routine->ampredlocks = false;  // the executor locks the whole index (SERIALIZABLE)
    routine->amcanparallel = false;
    routine->amcaninclude = false;
    routine->amusemaintenanceworkmem = false;  // VACUUM needs no memory of its own here
    routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
    routine->amkeytype = InvalidOid;

    routine->ambuild = text::build;
    routine->ambuildempty = text::build_empty;
    routine->aminsert = text::insert;
    routine->ambulkdelete = text::bulk_delete;
    routine->amvacuumcleanup = text::vacuum_cleanup;
    routine->amcanreturn = nullptr;
    routine->amcostestimate = text::estimate_cost;
    routine->amoptions = text::read_options;
    routine->amproperty = nullptr;
    routine->ambuildphasename = text::build_phase_name;
    routine->amvalidate = text::validate;
    routine->amadjustmembers = nullptr;
    routine->ambeginscan = text::begin_scan;
    routine->amrescan = text::rescan;
    routine->amgettuple = text::get_tuple;
    routine->amgetbitmap = text::get_bitmap;
    routine->amendscan = text::end_scan;
    routine->ammarkpos = nullptr;
    routine->amrestrpos = nullptr;
    set_version_dependent_fields(routine);
#if PG_VERSION_NUM >= 170000
    routine->amcanbuildparallel = false;
#endif
    PG_RETURN_POINTER(routine);
}
