// The access method, and its handler: what PostgreSQL may ask of gpu_column.
#include "column/column.h"
#include "column/scan/mirror.h"
#include "column/operators.h"
#include "keys/keys.h"
#include "method.h"

namespace pg_gpu {

constinit const Method gpu_column = {
    .name = "gpu_column",
    .run_kind = [](Relation) { return column::run_kind(); },
    .build_phases = {"scanning table and collecting columns", nullptr,
                     "merging dictionaries and writing columns"},
    .build_steps = column::build_steps,
    .verify_steps = column::verify_steps,
    .estimate_cost = column::estimate_cost,
    .count_matching = column::count_matching,
    .finds_roughly = nullptr,
    .fetches_all = [](const IndexPath *) { return false; },
    .count_batch = column::count_batch,
    .look_up = nullptr,
    .scan_usage = column::scan_usage,
    .mirror_format = column::mirror_format,
};

}  // namespace pg_gpu

PG_GPU_FUNCTION(pg_gpu_column_handler);

Datum pg_gpu_column_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = make_index_routine<gpu_column>();
    routine->amstrategies = column::kMaxStrategies;
    routine->amcanmulticol = true;
    routine->amsearcharray = true;
    routine->amsearchnulls = true;

    routine->amoptions = column::options;
    routine->aminsert = column::insert;
    routine->amvalidate = column::validate;
    routine->amadjustmembers = keys::adjust_members;
    routine->ambeginscan = column::begin_scan;
    routine->amrescan = column::rescan;
    routine->amgetbitmap = column::get_bitmap;
    routine->amendscan = column::end_scan;
    PG_RETURN_POINTER(routine);
}
