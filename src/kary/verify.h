// gpu.verify's gpu_kary part.
#pragma once

#include "kary/kary.h"

namespace pg_gpu::kary {

// Order within and across leaves, separators, TIDs; with `check_heap` also that every visible row of the
// table is in the index with its key, and that no live entry points to a line pointer that is not there. The
// caller holds both run locks in share mode.
void verify_keys(Relation heap, Relation index, bool check_heap, storage::ProblemReporter report,
                 void *context);

}  // namespace pg_gpu::kary
