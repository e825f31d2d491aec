// A GpuQuery's request of the server process.
#pragma once

#include "plan/query/aggregates.h"
#include "plan/query/columns.h"
#include "plan/query/late_rows.h"
#include "plan/usage.h"

namespace pg_gpu::plan::query {

// A table that is read, or a member of one, by its index or as an input.
struct QueriedTable {
    int table;                        // of the tree
    MemberColumns columns_of_member;  // nullptr: it isn't one
    int attributes;                   // of that table
    Oid index_oid;                    // invalid: an input
    int plan_number;                  // of an input, among the node's children
    Relation heap;
    Relation index;   // nullptr: an input
    PlanState *plan;  // of an input
    InputRows input;
    const column::Format *format;
    column::Condition condition;  // of the request that is asked, as all from here on
    Bitmapset *columns;           // of the index, from 0 on
};

struct QueryState {
    CustomScanState custom;
    AggregateQuery query;
    List *packed_tree;
    List *names;  // of joined tables
    bool maps_may_fail;
    bool needs_processors;  // devices can't compute it
    bool gives_rows;
    bool is_late;
    LateRows late;
    List *order;
    int64 count;
    List *limits;          // ExprStates: of LIMIT and OFFSET, where these tell how many rows are wanted
    QueriedTable *tables;  // in the order of the tree's
    int table_count;
    int pruned;               // members that aren't read
    bool is_any_role_pruned;  // of a table that is read in two roles
    ExprContext *expressions;
    MemoryContext work;   // of a request
    MemoryContext keep;   // of the answer
    ResourceOwner owner;  // of the answer
    // The request as it is asked.
    AggregateQuery bound;
    QueryTree tree;  // with the conditions that aren't tested by codes
    // The answer.
    CompiledQuery compiled;
    RecordLayout layout;
    column::QueryResult result;
    const uint64 *records;
    uint64 left;
    bool is_requested;
    PlanState *shown_child;  // once another one has been begun to be run
    int flags;
    const char *problem;           // why the child answers; nullptr: it doesn't
    instr_time child_waits_since;  // when it gave its last row; 0: it has given none
    client::Attempt attempt;       // without the engine; of no index once its time is noted
    uint64 heap_fetches;
    client::Usage usage;
};

// What PostgreSQL would have run.
inline Plan *child_plan(const QueryState *state) {
    return static_cast<Plan *>(linitial(castNode(CustomScan, state->custom.ss.ps.plan)->custom_plans));
}

// Asks, and sets the answer, or the problem.
void submit(QueryState *state);

void forget_result(QueryState *state);

}  // namespace pg_gpu::plan::query
