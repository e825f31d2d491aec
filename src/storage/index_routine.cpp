#include "storage/index_routine.h"

#include "compat.h"
#include "storage/runs.h"

namespace pg_gpu::storage {

IndexAmRoutine *make_index_routine() {
    IndexAmRoutine *routine = makeNode(IndexAmRoutine);
    // Never set: amcanunique, amclusterable (it would need non-MVCC order, rule "Other snapshots"),
    // amcanparallel, amcaninclude; ampredlocks, as the executor locks the whole index (SERIALIZABLE);
    // amusemaintenanceworkmem, as VACUUM needs no memory of its own here.
    routine->amoptionalkey = true;
    routine->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
    routine->amkeytype = InvalidOid;
    routine->amoptions = storage_options;
    set_version_dependent_fields(routine);
    return routine;
}

}  // namespace pg_gpu::storage
