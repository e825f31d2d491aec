// Queries of typed columns (gpu_engine/query/query.h), asked of the server process.
#pragma once

#include "column/scan/request.h"
#include "gpu_engine/query/query.h"

namespace pg_gpu::column {

extern const client::RequestCost query_cost;

// The query has no runs and no blocks. Its scan, which is the only one, reads the set's rows that pass the
// tests, and the query's inputs.
struct EngineQuery {
    const gpu_engine::query::Query *query;
    const gpu_engine::query::RunColumn *const *columns;  // by run of the set: as many as the scan has
    // As it was chosen by. Its tuples are the cost of PostgreSQL's own plan.
    client::Request request;
};

// Takes records of the result, of so many words each, one behind the other, as they come.
struct RecordSink {
    void (*take)(void *context, const uint64 *records, uint32 words, uint64 count);
    void *context;
};

struct EngineQueryResult {
    gpu_engine::query::QueryOutcome outcome;
    uint32 record_words;
    uint64 rows;
    uint64 unresolved;
    ItemPointerData *tids;  // of the unresolved rows, in the current memory context
};

// Answered means that there is an outcome. What the sink has taken is of no use when it returns false.
bool run_query(const client::RunSet &set, const client::Choice &choice, const RowTests &tests,
               const EngineQuery &prepared, const client::VisibleBlocks &visible, const RecordSink &sink,
               EngineQueryResult *result);

}  // namespace pg_gpu::column
