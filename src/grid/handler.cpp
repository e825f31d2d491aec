// The access method, and its handler: what PostgreSQL may ask of gpu_grid.
#include "grid/converted.h"
#include "grid/grid.h"
#include "grid/mirror.h"
#include "keys/keys.h"
#include "method.h"

namespace pg_gpu {

constinit const Method gpu_grid = {
    .name = "gpu_grid",
    .run_kind = grid::run_kind,
    .build_phases = {"scanning table", nullptr, "making and writing grids"},
    .build_steps = grid::build_steps,
    .verify_steps = grid::verify_steps,
    .estimate_cost = grid::estimate_cost,
    .count_matching = grid::count_matching,
    .finds_roughly = grid::finds_roughly,
    .fetches_all = grid::fetches_all,
    .count_batch = grid::count_batch,
    .look_up = grid::look_up,
    .scan_usage = grid::scan_usage,
    .mirror_format = grid::mirror_format,
};

}  // namespace pg_gpu

PG_GPU_FUNCTION(pg_gpu_grid_handler);

Datum pg_gpu_grid_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = make_index_routine<gpu_grid>();
    routine->amstrategies = grid::kConvertedBoxDistance;
    routine->amsupport = grid::kBoxFunction;
    routine->amcanorderbyop = true;
    routine->amcanmulticol = true;
    routine->amsearchnulls = true;

    routine->aminsert = grid::insert;
    routine->amcanreturn = grid::can_return;
    routine->amoptions = grid::options;
    routine->amproperty = grid::property;
    routine->amvalidate = grid::validate;
    routine->amadjustmembers = keys::adjust_members;
    routine->ambeginscan = grid::begin_scan;
    routine->amrescan = grid::rescan;
    routine->amgettuple = grid::get_tuple;
    routine->amgetbitmap = grid::get_bitmap;
    routine->amendscan = grid::end_scan;
    PG_RETURN_POINTER(routine);
}
