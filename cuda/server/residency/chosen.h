// Chooses for which of several engines a request is.
#pragma once

#include <optional>
#include <vector>

#include "server/net/connection.h"
#include "server/residency/placement.h"
#include "server/requests/run_set.h"

namespace gpu_engine::server {

struct Connection::Chosen {
    std::optional<RunSet> found;    // the runs that the request asks
    std::vector<RunShare> shares;   // shares of a run that is to be loaded in parts
    std::vector<EngineId> engines;  // the engines on which the request computes
};

}  // namespace gpu_engine::server
