// Answering a GpuAggregate's query from its index.
#pragma once

#include "plan/query/aggregate_results.h"
#include "plan/query/aggregate_views.h"

namespace pg_gpu::plan {

// What an answer is found from.
struct AggregateRequest {
    AggregateMember *member;  // formats and conditions are still to be filled in
    int member_count;
    Snapshot snapshot;
    AggregateQuery query;  // without parameters
    JoinedTables *joins;   // nullptr: no tables are joined
    size_t memory;         // that may be taken
    ExprContext *context;  // for expressions
    MemoryContext keep;    // of the answer; everything in it goes when a try starts again
    TupleDesc row;         // keys, then aggregates
    double groups;         // as the planner estimates
    // So many rows of an order are wanted, and with ties those that are like the last one.
    uint64 rows;
    bool with_ties;
    // Only rows on these blocks of a table are wanted; then the server isn't asked.
    column::BlockRange blocks = column::kAllBlocks;
    // Only these rows are wanted; then the server isn't asked either. nullptr: all are.
    const table::RowSet *among = nullptr;
};

// The scan key that a condition is. False: what a column is compared with raised an error.
bool make_scan_key(ExprContext *context, const IndexColumns &columns, const IndexCondition &condition,
                   ScanKeyData *key);

// answer->spilled takes groups that memory has no room for; the caller makes it. Returns nullptr, or why the
// index can't answer, in words: PostgreSQL's own plan must then. *heap_fetches entries were looked up in the
// heap. The current memory context gets what the work leaves behind.
const char *find_groups_of_request(const AggregateRequest &request, AggregateOutput *output,
                                   uint64 *heap_fetches);

}  // namespace pg_gpu::plan
