// The steps by which the server tells which documents can match a query's tree (gpu_engine/text.h).
#pragma once

#include "gpu_engine/text.h"
#include "text/query.h"

namespace pg_gpu::text {

// Terms are numbered as the query numbers them.
struct QuerySteps {
    gpu_engine::TextStep *steps;
    uint32 count;
    // Every document that the steps match matches the query. Else, because of phrases and weights, its row
    // decides.
    bool exact;
    // The server takes no query of so many steps, or as deep.
    bool too_many;
};

QuerySteps make_steps(const Query &query);

}  // namespace pg_gpu::text
