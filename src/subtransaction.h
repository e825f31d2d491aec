// Work whose errors the caller answers itself.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

// It has a frame of its own, because locals inlined beside sigsetjmp could be clobbered, or draw the warning
// that they might.
template <typename Work>
pg_noinline void run_out_of_line(Work &work) {
    work();
}

// Says whether the changes of work that went through stay.
enum class Changes { Keep, TakeBack };

// Runs `work` in a subtransaction, with `context` as the current memory context. Returns nullptr when it went
// through. After an error the subtransaction is rolled back, which gives back locks and pins, and the error's
// copy is returned, palloc'd in the caller's context: for FreeErrorData or ReThrowError. Not to be called in
// parallel mode, where no subtransaction can be started.
template <typename Work>
ErrorData *try_in_subtransaction(MemoryContext context, Work work, Changes changes = Changes::Keep) {
    MemoryContext caller_context = CurrentMemoryContext;
    ResourceOwner caller_owner = CurrentResourceOwner;
    ErrorData *volatile error = nullptr;
    BeginInternalSubTransaction(nullptr);
    MemoryContextSwitchTo(context);
    PG_TRY();
    {
        run_out_of_line(work);
        if (changes == Changes::Keep)
            ReleaseCurrentSubTransaction();
        else
            RollbackAndReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(caller_context);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(caller_context);
    CurrentResourceOwner = caller_owner;
    return error;
}

// Is it about a value? Such an error may come from a row that the query can't see, or wouldn't have
// evaluated.
inline bool is_about_values(int sqlerrcode) {
    const int category = ERRCODE_TO_CATEGORY(sqlerrcode);
    return category != ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION) &&
           category != ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES) &&
           category != ERRCODE_TO_CATEGORY(ERRCODE_SYSTEM_ERROR) &&
           category != ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR);
}

// Is it about what was worked on? Cancels and what the machine lacks are the whole statement's.
inline bool is_about_work(const ErrorData &error) {
    const int category = ERRCODE_TO_CATEGORY(error.sqlerrcode);
    return category != ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION) &&
           category != ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES);
}

}  // namespace pg_gpu
