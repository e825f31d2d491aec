#include "rpc/client.h"

#include "rpc/connection.h"
#include "cost/counters.h"
#include "cost/learner.h"
#include "supervisor/supervisor.h"
#include "supervisor/record.h"

namespace pg_gpu::client {

void register_client() {
    register_connection_callbacks();
    if (process_shared_preload_libraries_in_progress) {
        reserve_supervisor_record();
        reserve_counters();
        reserve_cost_learner();
        register_supervisor();
    }
}

}  // namespace pg_gpu::client
