#include "table/server_count.h"

#include "table/invisible_entries.h"
#include "table/visible_count.h"

namespace pg_gpu::table {

// The index whose last attempt to count all was in vain, and how many counts will do without one.
static struct {
    Oid index;
    uint32 left;
} in_vain = {InvalidOid, 0};

void begin_row_checker(RowChecker *checker, Relation heap, Relation index, Snapshot snapshot) {
    checker->index = index;
    checker->heap_blocks = 0;
    open_row_visibility(&checker->rows, heap, snapshot);
}

void end_row_checker(RowChecker *checker) {
    close_row_visibility(&checker->rows);
}

void check_rows(RowChecker *checker, BlockNumber index_block, const ItemPointerData *tids, uint64 count,
                bool *visible) {
    for (uint64 i = 0; i < count; i++)
        if (unlikely(!is_possible_tid(checker->rows.heap, &checker->heap_blocks, tids[i])))
            storage::report_corruption(checker->index, index_block, "An entry's TID lies outside the table.");
    memset(visible, 0, count * sizeof(bool));
    find_visible(&checker->rows, tids, count, visible);
}

uint64 entries_on_pages(client::Path path, uint64 entries) {
    // A request's way there and back.
    constexpr double kFewest = 4096;
    const CostConstants &costs = cost_constants();
    const double on_pages = costs.entry[static_cast<int>(client::Path::Paged)];
    const double on_path = costs.entry[static_cast<int>(path)];
    const double share = on_path < on_pages ? on_path / on_pages : 1;
    return static_cast<uint64>(Max(kFewest, static_cast<double>(entries) * share));
}

bool may_count_all(const RowChecker &checker, client::Path path, uint64 most) {
    Relation heap = checker.rows.heap;
    if (!may_find_invisible(heap, checker.rows.snapshot) || is_table_all_visible(heap))
        return false;
    if (in_vain.index == RelationGetRelid(checker.index) && in_vain.left > 0) {
        in_vain.left--;
        return false;
    }
    return may_pay_to_find_invisible(heap, entries_on_pages(path, most));
}

void note_counted_all(const RowChecker &checker, Outcome outcome) {
    // While so many blocks have changed that it doesn't pay, only one count in kWithout + 1 tries.
    constexpr uint32 kWithout = 7;
    if (outcome == Outcome::Unknown)
        in_vain = {RelationGetRelid(checker.index), kWithout};
}

// Adds the visible ones among one run's entries that the server could not tell about. What it says may
// change while it is looked at.
static void add_hidden(RowChecker *checker, BlockNumber index_block, const client::RunResult &hidden,
                       uint64 items, int64 *counts) {
    const uint64 entries = hidden.entries;
    auto *tids = allocate<ItemPointerData>(entries);
    auto *visible = allocate<bool>(entries);
    memcpy(tids, hidden.tids, entries * sizeof(ItemPointerData));
    check_rows(checker, index_block, tids, entries, visible);
    for (uint64 i = 0; i < items; i++) {
        const uint64 end = Min(hidden.offsets[i + 1], entries);
        for (uint64 at = hidden.offsets[i]; at < end; at++)
            counts[i] += visible[at] ? 1 : 0;
    }
    pfree(visible);
    pfree(tids);
}

void add_server_counts(RowChecker *checker, const client::RunSet &set, const client::CountResult &result,
                       int64 *counts) {
    uint64 entries = 0;
    for (uint64 i = 0; i < result.items; i++) {
        counts[i] += static_cast<int64>(result.counts[i]);
        entries += result.counts[i];
    }
    for (int run = 0; result.hidden && run < set.count; run++) {
        CHECK_FOR_INTERRUPTS();
        entries += result.runs[run].entries;
        if (result.runs[run].entries > 0)
            add_hidden(checker, storage::run_block(set.runs[run], 0), result.runs[run], result.items, counts);
    }
    note_requested_rows(checker->index, entries);
}

}  // namespace pg_gpu::table
