// gpu.verify: damage that readers raise as an error, as an answer.
#pragma once

#include "storage/storage.h"

namespace pg_gpu::storage {

// Of its own frame: locals inlined beside sigsetjmp could be clobbered, or draw the warning that they might.
template <typename Work>
pg_noinline void run_out_of_line(Work &work) {
    work();
}

// Runs `work`, and reports what it finds damaged. A subtransaction gives back the pages it had pinned.
template <typename Work>
void report_damage_of(BlockNumber block, ProblemReporter report, void *context, Work work) {
    MemoryContext caller_context = CurrentMemoryContext;
    ResourceOwner caller_owner = CurrentResourceOwner;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(caller_context);
    PG_TRY();
    {
        run_out_of_line(work);
        ReleaseCurrentSubTransaction();
        MemoryContextSwitchTo(caller_context);
        CurrentResourceOwner = caller_owner;
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller_context);
        ErrorData *error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
        MemoryContextSwitchTo(caller_context);
        CurrentResourceOwner = caller_owner;
        if (error->sqlerrcode != ERRCODE_INDEX_CORRUPTED)
            ReThrowError(error);
        report(block, nullptr, error->detail, context);
        FreeErrorData(error);
    }
    PG_END_TRY();
}

}  // namespace pg_gpu::storage
