// gpu.advise: which indexes of ours would make recorded statements cheaper, and which nobody uses.
#pragma once

#include "plan/advise/hypothetical.h"
#include "plan/advise/recorded.h"

namespace pg_gpu::plan {

void register_advise();

// An index helps a statement that it makes cheaper by a tenth. Estimates aren't good for less.
inline constexpr double kWorthwhile = 0.9;

// The result of planning a recorded statement.
struct Estimate {
    Cost cost;
    List *tables;     // OIDs; ordinary and partitioned tables that it reads
    List *proposals;  // Proposals of which each might serve it
    List *columns;    // Proposals of gpu_column, one a table, with all columns that it takes from that table
};

// What a statement is planned with.
struct Assumptions {
    const List *with;   // Proposals that are taken to be made
    bool without_made;  // are indexes taken not to exist that gpu.accelerate or its worker made?
};

// Plans the statement as the user who ran it. Nothing is executed. Without proposals the user's privileges
// are checked, too, and the estimate has what might serve. Returns false when the estimate isn't known, with
// the error unless it is no SELECT.
bool estimate_statement(const Recorded &recorded, const Assumptions &assumptions, Estimate *estimate,
                        ErrorData **error);

// Statements that no advice is given on.
struct LeftOut {
    int failed;
    const char *first_error;
    int of_others;
};

// Plans the statement without proposals, unless it is of a role that the caller is no member of. Returns
// false, and counts it, when that can't be.
bool estimate_now(const Recorded &recorded, bool without_made, Estimate *estimate, LeftOut *left_out);

// Raises NOTICEs about them. `function` is what they were left out of.
void report_left_out(const LeftOut &left_out, const char *function);

// Adds the columns of `more`, in the table's order; false when there is no room for all of them.
bool unite(Proposal *proposal, const Proposal &more);

// Returns the list's proposal for the table; nullptr: there is none.
Proposal *find_proposal(const List *proposals, Oid table);

}  // namespace pg_gpu::plan
