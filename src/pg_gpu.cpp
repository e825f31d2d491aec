// Module load: settings, reloptions, the access methods' handlers.
#include "accelerate/accelerate.h"
#include "access_methods.h"
#include "cost/counters.h"
#include "cost/cost.h"
#include "rpc/rpc.h"
#include "supervisor/supervisor.h"
#include "column/gpu_column.h"
#include "compat.h"
#include "grid/gpu_grid.h"
#include "plan/advise/advise.h"
#include "plan/query/node.h"
#include "plan/count/scan.h"
#include "plan/substitute_family.h"
#include "plan/lookup/join.h"
#include "plan/row_comparisons.h"
#include "plan/scan_usage.h"
#include "plan/search/scan.h"
#include "progress.h"
#include "residency/sweeps.h"
#include "settings.h"
#include "storage/storage.h"
#include "table/table.h"
#include "test_hooks.h"
#include "text/gpu_text.h"

extern "C" {
PG_GPU_MODULE_MAGIC;
PGDLLEXPORT void _PG_init(void);
}

void _PG_init(void) {
    pg_gpu::find_test_hooks();
    pg_gpu::define_settings();
    pg_gpu::storage::register_storage_options();
    pg_gpu::grid::register_options();
    pg_gpu::column::register_options();
    pg_gpu::text::register_options();
    pg_gpu::text::follow_configuration_options();
    // The merge worker is only ever asked for by an index of ours.
    pg_gpu::storage::set_kind_resolver(pg_gpu::run_kind_of);
    pg_gpu::plan::register_count_scan();
    pg_gpu::plan::register_lookup_join();
    pg_gpu::plan::query::register_query_node();
    pg_gpu::plan::register_search_scan();
    pg_gpu::plan::register_row_comparisons();
    pg_gpu::plan::register_scan_usage();
    pg_gpu::plan::register_advise();
    pg_gpu::plan::register_substitute_families();
    pg_gpu::client::register_connection_callbacks();
    pg_gpu::storage::register_pending_rows();
    if (process_shared_preload_libraries_in_progress) {
        pg_gpu::client::reserve_supervisor_record();
        pg_gpu::client::reserve_counters();
        pg_gpu::client::reserve_cost_learner();
        pg_gpu::client::reserve_sweeps();
        pg_gpu::client::register_supervisor();
        pg_gpu::accelerate::register_columns_launcher();
        pg_gpu::storage::reserve_deferred_merges();
        pg_gpu::storage::reserve_index_statistics();
        pg_gpu::storage::reserve_merge_requests();
        pg_gpu::reserve_progress();
        pg_gpu::table::reserve_shared_facts();
        pg_gpu::table::reserve_shared_rounds();
    }
}
