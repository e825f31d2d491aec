// Which of several engines a request is for.
#pragma once

#include <optional>
#include <vector>

#include "server/connection.h"
#include "server/placement.h"
#include "server/run_set.h"

namespace gpu_engine::server {

struct Connection::Chosen {
    std::optional<RunSet> found;    // the runs that the request asks
    std::vector<RunShare> shares;   // of a run that is to be loaded in parts
    std::vector<EngineId> engines;  // where the request computes
    // Of a batch whose items are shared out: what each of these engines has of the runs.
    std::vector<RunSet> same_runs;
};

}  // namespace gpu_engine::server
