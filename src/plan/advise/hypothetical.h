// Indexes that don't exist, for gpu.advise to plan with. No plan that has one is ever executed.
#pragma once

#include "memory.h"

namespace pg_gpu::plan {

// An index on columns of a table, each with its type's operator class.
struct Proposal {
    Oid table;
    Oid method;
    int count;
    AttrNumber columns[INDEX_MAX_KEYS];
    Oid classes[INDEX_MAX_KEYS];
};

// Returns how many pages the index of so many rows would have.
double expect_pages(const Proposal &proposal, double rows);

// Returns the index as the planner would see it if it were one run of all of the table's rows. It has the
// table's OID, as it has none itself.
IndexOptInfo *make_hypothetical(const Proposal &proposal, RelOptInfo *table);

// Is it made by make_hypothetical? Other extensions make some, too.
bool is_proposed(const IndexOptInfo *index);

}  // namespace pg_gpu::plan
