// gpu.verify as all access methods do it: the entries of tail and runs of one view, and their agreement with
// the table.
#pragma once

#include "storage/storage.h"
#include "table/table_check.h"

namespace pg_gpu::table {

struct VerifySteps {
    // Makes the state of the other steps, palloc'd; what they find is for `check`.
    void *(*begin)(TableCheck *check);
    // Looks at the tail's tuples, whose heads have been checked.
    void (*verify_tail)(void *state, const storage::Items &tail_tuples);
    // Looks at a run. Memory that the step allocates in the current context is freed when it ends.
    void (*verify_run)(void *state, const storage::RunEntry &run);
    // Writes the fingerprint of a row's entry; its context is the state.
    FingerprintRow fingerprint_row;
};

// Verifies an index whose metapage and directory the caller has had verified. With `check_heap` also that
// every visible row of the table is in the index, and that no live entry points to a line pointer that is not
// there. Damage that readers raise is reported like any other.
//
// Works run by run, and beside merges and VACUUM: what a run seems to have is reported when the run is still
// listed afterwards and no VACUUM has ended. Else the next round looks at the runs that are there then. Only
// when many rounds have met changes are the run locks taken, for what is left.
void verify_index(Relation heap, Relation index, const storage::RunKind *kind, const VerifySteps &steps,
                  bool check_heap, storage::ProblemReporter report, void *context);

}  // namespace pg_gpu::table
