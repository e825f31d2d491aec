// Queries of typed columns (gpu_engine/query/query.h), asked of the server process.
#pragma once

#include "column/scan/request.h"
#include "gpu_engine/query/query.h"

namespace pg_gpu::column {

extern const client::RequestCost query_cost;

// A table's rows: those of a set that pass the tests, and those that the session has itself.
struct EngineTable {
    const client::RunSet *set;  // nullptr: none
    RowTests tests;
    const client::VisibleBlocks *visible;
    const gpu_engine::query::RunColumn *const *columns;  // by run of the set: as many as the scan has
    gpu_engine::query::InputSource own_rows;
    uint32 scan;  // as a QueryTable's
};

struct QueryTable;
EngineTable engine_table(const QueryTable &table);

// The query has no sources and no blocks: its scans read these tables, one each or several that come one
// behind the other. At least one has a set.
struct EngineQuery {
    const gpu_engine::query::Query *query;
    const EngineTable *tables;
    uint32 table_count;
    // As it was chosen by. Its tuples are the cost of PostgreSQL's own plan.
    client::Request request;
};

// Takes records of the result, of so many words each, one behind the other, as they come.
struct RecordSink {
    void (*take)(void *context, const uint64 *records, uint32 words, uint64 count);
    void *context;
};

// The scan that reads a table.
const gpu_engine::query::Node &scan_of(const gpu_engine::query::Query &query, const EngineTable &table);

struct EngineQueryResult {
    gpu_engine::query::QueryOutcome outcome;
    uint32 record_words;
    uint64 rows;
    uint64 unresolved;
    uint32 unresolved_table;  // has a set
    ItemPointerData *tids;    // of the unresolved rows, in the current memory context
};

// Answered means that there is an outcome. What the sink has taken is of no use when it returns false.
bool run_query(const client::Choice &choice, const EngineQuery &prepared, const RecordSink &sink,
               EngineQueryResult *result);

}  // namespace pg_gpu::column
