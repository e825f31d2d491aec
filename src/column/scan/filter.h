// Selects the rows of a view that match a condition.
#pragma once

#include "column/scan/cached_matches.h"
#include "column/scan/view.h"

namespace pg_gpu::column {

enum class KeysToApply { Safe, Unsafe };

// Returns the keys of a column that are applied together. In the current memory context.
ColumnKeys keys_of_column(const Condition &condition, int column, KeysToApply which);

// Takes away the rows that don't match. Unsafe keys' operators see the values of selected rows only.
void select_matching(ColumnView *view, const Condition &condition, KeysToApply which);

// Returns a bit for each code of the run, as an earlier statement has found out which match, so that no
// operator is asked; nullptr: it isn't known. Good until the transaction ends.
const uint64 *use_cached_codes(ColumnView *view, int run, int column, const Condition &condition,
                               KeysToApply which);

// Does the session keep which rows match each condition that operators are asked about, or is it going to?
bool are_rows_cached(ColumnView *view, const Condition &condition);

// Looks at those of a run's codes whose byte is set, and clears those whose values don't match the column's
// keys. For runs with a dictionary, and integers in at most kMaxListedBits.
inline constexpr uint32 kMaxListedBits = 16;
static_assert(kMaxListedBits < kLeastScaledBits);
void match_codes(ColumnView *view, int run, int column, const Condition &condition, KeysToApply which,
                 uint8 *match);

// Selects the rows that the snapshot sees and that match, for `work`, which may run several
// times, in the view's memory context, and must leave nothing of a run that was stale. Returns heap fetches.
template <typename Work>
uint64 with_rows(Relation heap, Relation index, Snapshot snapshot, const Format *format,
                 const Condition &condition, Work work) {
    storage::CachedRuns cached;
    storage::begin_cached(&cached);
    uint64 heap_fetches = 0;
    for (bool done = false; !done;) {
        CHECK_FOR_INTERRUPTS();
        ColumnView *view = open_view(heap, index, snapshot, format, condition, &cached);
        MemoryContext caller = MemoryContextSwitchTo(view->context);
        bool valid = !is_stale(view);
        if (valid) {
            select_matching(view, condition, KeysToApply::Safe);
            valid = select_visible(view);
        }
        if (valid) {
            select_matching(view, condition, KeysToApply::Unsafe);
            if (!is_stale(view))
                work(view);
        }
        MemoryContextSwitchTo(caller);
        uint32 position;
        const storage::RunEntry *recycled = recycled_run(view, &position);
        if (recycled != nullptr)
            storage::confirm_recycled(index, run_kind(), view->view, *recycled, position);
        done = valid && recycled == nullptr;
        heap_fetches = view->heap_fetches;
        if (done)
            count_skipped_runs(*view);
        close_view(view);
    }
    storage::end_cached(&cached);
    return heap_fetches;
}

}  // namespace pg_gpu::column
