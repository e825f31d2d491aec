#include "table/page_rows.h"

#include "compat.h"

namespace pg_gpu::table {

// Has a transaction that doesn't precede the snapshot's xmin ended before the snapshot was taken? This
// session's own ones are in no list of its snapshots.
static bool has_ended(const RowVisibility &rows, TransactionId id) {
    return rows.moment != 0 && !XidInMVCCSnapshot(id, rows.snapshot) &&
           !TransactionIdIsCurrentTransactionId(id);
}

// A lock alone on a row changes nothing of who sees it. Hint bits may be set meanwhile; none of them changes
// the answer.
PageOutcome outcome_of(const RowVisibility &rows, Page page) {
    PageOutcome outcome = {false, false, InvalidTransactionId};
    const TransactionId xmin = rows.snapshot->xmin;
    const auto is_finished = [&](TransactionId id) {
        if (!TransactionIdIsNormal(id))
            return true;
        if (!TransactionIdIsNormal(outcome.newest) || TransactionIdFollows(id, outcome.newest))
            outcome.newest = id;
        if (TransactionIdPrecedes(id, xmin))
            return true;
        outcome.by_moment = true;
        return has_ended(rows, id);
    };
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++) {
        const ItemId item = PageGetItemId(page, offset);
        if (!ItemIdIsNormal(item))
            continue;
        auto *tuple = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        const uint16 mask = tuple->t_infomask;
        const bool is_frozen = (mask & HEAP_XMIN_FROZEN) == HEAP_XMIN_FROZEN;
        // VACUUM FULL of versions before 9.0 moved such a row.
        if ((mask & HEAP_MOVED) != 0 || (!is_frozen && !is_finished(HeapTupleHeaderGetRawXmin(tuple))))
            return outcome;
        if ((mask & HEAP_XMAX_INVALID) != 0 || HEAP_XMAX_IS_LOCKED_ONLY(mask))
            continue;
        const TransactionId xmax = (mask & HEAP_XMAX_IS_MULTI) != 0 ? HeapTupleGetUpdateXid(tuple)
                                                                    : HeapTupleHeaderGetRawXmax(tuple);
        if (!is_finished(xmax))
            return outcome;
    }
    outcome.decided = true;
    return outcome;
}

bool is_entry_visible(const RowVisibility &rows, Buffer buffer, BlockNumber block, OffsetNumber offset) {
    ItemPointerData tid;
    ItemPointerSet(&tid, block, offset);
    HeapTupleData tuple;
    return heap_hot_search_buffer(&tid, rows.heap, buffer, rows.snapshot, &tuple, nullptr, true);
}

// Decides about an entry's row by hint bits alone, once all that was done to the page has ended before the
// snapshot. They suffice for most rows: those that nobody has changed, and those that were deleted and have
// no later version on the page.
static bool do_hints_decide(Page page, OffsetNumber offset, bool *visible) {
    const ItemId item = PageGetItemId(page, offset);
    if (!ItemIdIsNormal(item))
        return false;
    const auto *header = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
    const uint16 mask = header->t_infomask;
    *visible = (mask & HEAP_XMAX_INVALID) != 0;
    const bool is_deleted = (mask & (HEAP_XMAX_COMMITTED | HEAP_XMAX_IS_MULTI)) == HEAP_XMAX_COMMITTED &&
                            !HEAP_XMAX_IS_LOCKED_ONLY(mask) && !HeapTupleHeaderIsHotUpdated(header);
    return (mask & HEAP_XMIN_COMMITTED) != 0 && (*visible || is_deleted);
}

void make_facts(const RowVisibility &rows, Buffer buffer, BlockNumber block, uint64 *words) {
    Page page = BufferGetPage(buffer);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last_offset(page); offset++) {
        if (!may_lead_to_row(page, offset))
            continue;
        bool visible;
        if (!do_hints_decide(page, offset, &visible))
            visible = is_entry_visible(rows, buffer, block, offset);
        if (visible)
            set_bit(words, offset);
    }
}

}  // namespace pg_gpu::table
