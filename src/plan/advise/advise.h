// gpu.advise: which indexes of ours would make recorded statements cheaper, and which nobody uses.
#pragma once

#include "plan/advise/hypothetical.h"

namespace pg_gpu::plan {

void register_advise();

// A statement of pg_stat_statements.
struct Recorded {
    int64 id;
    const char *text;
    Oid user;
    int64 calls;
    double milliseconds;
};

// The result of planning a recorded statement.
struct Estimate {
    Cost cost;
    List *tables;     // OIDs; ordinary tables that it reads
    List *proposals;  // Proposals that might serve it
};

// Plans the statement as the user who ran it, with the proposed index beside those that are there unless
// `with` is nullptr. Nothing is executed. False: it is no SELECT. Without `with` the user's privileges are
// checked, too. To be called in a subtransaction.
bool estimate_statement(const Recorded &recorded, const Proposal *with, Estimate *estimate);

}  // namespace pg_gpu::plan
