// The engine's nodes of a compiled query.
#pragma once

#include "plan/query/aggregates.h"

namespace pg_gpu::plan::query {

// A query's arrays grow together with its nodes; in the current memory context. `order` is as top.h makes it.
struct EngineQueryParts {
    const List *order;
    bool is_having_tested;   // the session does; what it drops, the order must not have counted
    int64 count;             // of the groups that come first by that order
    uint64 expected_groups;  // or rows that it gives; a hint
    uint64 max_rows;
};
engine::Query make_engine_query(const CompiledQuery &compiled, const EngineQueryParts &parts);

}  // namespace pg_gpu::plan::query
