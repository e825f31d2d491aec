// Work whose errors the caller answers itself.
#pragma once

#include "compat.h"

namespace pg_gpu {

// May work that changes nothing be done in a subtransaction? A plan has parallel mode around all of its nodes
// if any of them starts workers.
inline bool may_try() {
    return !PG_GPU_LEAVES_PARALLEL_MODE || !IsInParallelMode() ||
           (!IsParallelWorker() && !ParallelContextActive());
}

// Returns how often parallel mode is to be entered again. Not inline for the same reason as run_out_of_line.
pg_noinline inline int leave_parallel_mode() {
    int levels = 0;
    for (; PG_GPU_LEAVES_PARALLEL_MODE && IsInParallelMode(); levels++)
        ExitParallelMode();
    return levels;
}

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
// copy is returned, palloc'd in the caller's context: for FreeErrorData or ReThrowError. To be called
// only if may_try() in parallel mode.
template <typename Work>
ErrorData *try_in_subtransaction(MemoryContext context, Work work, Changes changes = Changes::Keep) {
    MemoryContext caller_context = CurrentMemoryContext;
    ResourceOwner caller_owner = CurrentResourceOwner;
    ErrorData *volatile error = nullptr;
    const int levels = leave_parallel_mode();
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
    for (int i = 0; i < levels; i++)
        EnterParallelMode();
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
