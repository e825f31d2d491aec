// The access method, and its handler: what PostgreSQL may ask of gpu_text.
#include "method.h"
#include "text/mirror.h"
#include "text/operators.h"
#include "text/options.h"
#include "text/text.h"

namespace pg_gpu {

constinit const Method gpu_text = {
    .name = "gpu_text",
    .run_kind = [](Relation) { return text::run_kind(); },
    .build_phases = {"scanning table and inverting documents", nullptr, "merging and writing lists"},
    .build_steps = text::build_steps,
    .verify_steps = text::verify_steps,
    .estimate_cost = text::estimate_cost,
    .count_matching = text::count_matching,
    .finds_roughly = nullptr,
    .fetches_all = text::fetches_all,
    .count_batch = nullptr,
    .look_up = nullptr,
    .scan_usage = text::scan_usage,
    .mirror_format = text::mirror_format,
};

}  // namespace pg_gpu

PG_GPU_FUNCTION(pg_gpu_text_handler);

Datum pg_gpu_text_handler(PG_FUNCTION_ARGS) {
    using namespace pg_gpu;
    (void)fcinfo;

    IndexAmRoutine *routine = make_index_routine<gpu_text>();
    routine->amstrategies = text::kMaxStrategies;
    routine->amcanorderbyop = true;
    // So that an index on several columns comes as far as to the hook that says what to do instead.
    routine->amcanmulticol = true;

    routine->aminsert = text::insert;
    routine->amoptions = text::read_options;
    routine->amvalidate = text::validate;
    routine->ambeginscan = text::begin_scan;
    routine->amrescan = text::rescan;
    routine->amgettuple = text::get_tuple;
    routine->amgetbitmap = text::get_bitmap;
    routine->amendscan = text::end_scan;
    PG_RETURN_POINTER(routine);
}
