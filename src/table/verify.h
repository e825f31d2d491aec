// gpu.verify as all access methods do it: the entries of tail and runs of one view, and their agreement with
// the table.
#pragma once

#include "table/table_check.h"

namespace pg_gpu::table {

struct VerifySteps {
    // Makes what the other steps get as their state, palloc'd; what they find is for `check`.
    void *(*begin)(TableCheck *check);
    // The tail's items, whose heads have been looked at.
    void (*verify_tail)(void *state, const char *items, uint32 bytes);
    // A run; memory of the step's own goes when it ends.
    void (*verify_run)(void *state, const storage::RunEntry &run);
    // The fingerprint of a row's entry; its context is the state.
    FingerprintRow fingerprint_row;
};

// The caller holds both run locks in share mode, and has had storage's part verified. With `check_heap` also
// that every visible row of the table is in the index, and that no live entry points to a line pointer that
// is not there. Damage that readers raise is reported like any other.
void verify_index(Relation heap, Relation index, const storage::RunKind *kind, const VerifySteps &steps,
                  bool check_heap, storage::ProblemReporter report, void *context);

}  // namespace pg_gpu::table
