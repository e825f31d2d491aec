// gpu.verify reports as rows what readers raise as errors.
#pragma once

#include "storage/runs.h"
#include "subtransaction.h"

namespace pg_gpu::storage {

// Runs `work`, and reports the damage that it raises; other errors are raised again. It runs in a
// subtransaction, which gives back the pages it had pinned.
template <typename Work>
void report_damage_of(BlockNumber block, ProblemReporter report, void *context, Work work) {
    ErrorData *error = try_in_subtransaction(CurrentMemoryContext, work);
    if (error == nullptr)
        return;
    if (error->sqlerrcode != ERRCODE_INDEX_CORRUPTED)
        ReThrowError(error);
    report(block, nullptr, error->detail, context);
    FreeErrorData(error);
}

}  // namespace pg_gpu::storage
