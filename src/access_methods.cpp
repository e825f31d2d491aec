#include "access_methods.h"

#include <algorithm>

namespace pg_gpu {

static const Method *find_by_cost(amcostestimate_function estimate_cost) {
    for (const Method *method : {&gpu_kary, &gpu_grid, &gpu_column, &gpu_text})
        if (method->estimate_cost == estimate_cost)
            return method;
    return nullptr;
}

const Method *find_access_method(Relation index) {
    return find_by_cost(index->rd_indam->amcostestimate);
}

const Method *find_access_method(const IndexOptInfo *index) {
    // The planner's copy of the function has no parameter types before PostgreSQL 16.
    return find_by_cost(reinterpret_cast<amcostestimate_function>(index->amcostestimate));
}

bool finds_roughly(const Method &method, const Oid *types, int column_count) {
    return method.finds_roughly != nullptr && std::any_of(types, types + column_count, method.finds_roughly);
}

}  // namespace pg_gpu

extern "C" PGDLLEXPORT void pg_gpu_build_worker_main(dsm_segment *segment, shm_toc *toc);

// A parallel worker of CREATE INDEX begins here.
void pg_gpu_build_worker_main(dsm_segment *segment, shm_toc *toc) {
    using namespace pg_gpu;
    table::run_build_worker(segment, toc, [](table::BuildWorker *worker) {
        table::collect_as_worker(*find_access_method(worker->index)->build_steps(worker->index), worker);
    });
}
