// The access method, and its handler: what PostgreSQL may ask of gpu_kary.
#include "kary/kary.h"
#include "kary/lookup.h"
#include "kary/mirror.h"
#include "keys/keys.h"
#include "method.h"

namespace pg_gpu {

constinit const Method gpu_kary = {
    .name = "gpu_kary",
    .run_kind = kary::run_kind,
    .build_phases = {"scanning table", "sorting keys", "merging and writing runs"},
    .build_steps = kary::build_steps,
    .verify_steps = kary::verify_steps,
    .estimate_cost = kary::estimate_cost,
    .count_matching = kary::count_matching,
    .finds_roughly = nullptr,
    .fetches_all = kary::has_lossy_conditions,
    .count_batch = kary::count_batch,
    .look_up = kary::look_up,
    .scan_usage = kary::scan_usage,
    .mirror_format = kary::mirror_format,
};

}  // namespace pg_gpu

PG_GPU_FUNCTION(pg_gpu_kary_handler);

Datum pg_gpu_kary_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = make_index_routine<gpu_kary>();
    routine->amstrategies = kary::kMaxStrategies;
    set_ordered(routine);
    routine->amcanbackward = true;
    routine->amcanmulticol = true;
    routine->amsearcharray = true;
    routine->amsearchnulls = true;

    routine->aminsert = kary::insert;
    routine->amcanreturn = kary::can_return;
    routine->amproperty = kary::property;
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
