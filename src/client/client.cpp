#include "client/client.h"

#include "client/connection.h"
#include "client/counters.h"
#include "client/cost_learner.h"
#include "client/supervisor.h"
#include "client/supervisor_record.h"

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
