// Rows of the table are found for index entries, a page at a time.
#include "kary/heap_rows.h"

#include "compat.h"

namespace pg_gpu::kary {

void open_heap_rows(HeapRows *rows, Relation heap, Snapshot snapshot, const LookupResult *lookup) {
    rows->heap = heap;
    rows->snapshot = snapshot;
    rows->lookup = lookup;
    rows->next_match = 0;
    rows->first_match = 0;
    rows->batch = 0;
    rows->at = 0;
    rows->buffer = InvalidBuffer;
    rows->next_buffer = InvalidBuffer;
    rows->nearby = {};
    rows->requested_for = 0;
    rows->is_heap = table::is_heap_table(heap);
    rows->probe = {};
    if (!rows->is_heap)
        open_heap_probe(&rows->probe, heap, snapshot);
}

void close_heap_rows(HeapRows *rows) {
    if (BufferIsValid(rows->buffer))
        ReleaseBuffer(rows->buffer);
    if (BufferIsValid(rows->next_buffer))
        ReleaseBuffer(rows->next_buffer);
    rows->buffer = rows->next_buffer = InvalidBuffer;
    close_heap_probe(&rows->probe);
}

static const HeapTupleHeaderData *tuple_header(Page page, OffsetNumber offset) {
    return reinterpret_cast<HeapTupleHeader>(PageGetItem(page, PageGetItemId(page, offset)));
}

// Returns the line pointer that an entry leads to: its own, or the one that it is redirected to. Entries may
// be older than the page. Their line pointers are unused or dead by now and lead nowhere.
static OffsetNumber follow_line_pointer(Page page, OffsetNumber offset, bool *redirected) {
    if (offset == InvalidOffsetNumber || offset > PageGetMaxOffsetNumber(page))
        return InvalidOffsetNumber;
    ItemId item = PageGetItemId(page, offset);
    *redirected = ItemIdIsRedirected(item);
    if (*redirected) {
        offset = static_cast<OffsetNumber>(ItemIdGetRedirect(item));
        item = PageGetItemId(page, offset);
    }
    return ItemIdIsNormal(item) ? offset : InvalidOffsetNumber;
}

// Finds the visible rows that entries lead to on an all-visible page. Tuples are far apart: all headers are
// on their way before the first is looked at.
static void find_all_visible_rows(Page page, const LookupMatch *matches, uint32 count, OffsetNumber *rows) {
    bool redirected[MaxHeapTuplesPerPage] = {};
    for (uint32 i = 0; i < count; i++) {
        rows[i] = follow_line_pointer(page, match_offset(matches[i]), &redirected[i]);
        if (rows[i] != InvalidOffsetNumber)
            __builtin_prefetch(tuple_header(page, rows[i]));
    }
    // Only a redirection leads to a heap-only tuple: an old entry may meet a tuple of another chain.
    for (uint32 i = 0; i < count; i++)
        if (rows[i] != InvalidOffsetNumber &&
            HeapTupleHeaderIsHeapOnly(tuple_header(page, rows[i])) != redirected[i])
            rows[i] = InvalidOffsetNumber;
}

// Returns how many of the matches, the first of which begins a page, lie on that page.
static uint32 matches_on_page(const LookupMatch *matches, uint64 left) {
    const BlockNumber block = match_block(*matches);
    uint32 count = 0;
    while (count < left && count < MaxHeapTuplesPerPage && match_block(matches[count]) == block)
        count++;
    return count;
}

// Pins the page of the next matches. Its line pointers are on their way while the current page is looked at.
static void pin_next_page(HeapRows *rows, const LookupMatch *matches, uint64 left) {
    if (left == 0)
        return;
    rows->next_buffer = storage::read_nearby(rows->heap, match_block(*matches), nullptr, &rows->nearby);
    Page page = BufferGetPage(rows->next_buffer);
    __builtin_prefetch(page);
    const uint32 count = matches_on_page(matches, left);
    for (uint32 i = 0; i < count; i++)
        if (match_offset(matches[i]) <= MaxHeapTuplesPerPage)
            __builtin_prefetch(PageGetItemId(page, match_offset(matches[i])));
}

// Prefetches positions of keys: rows in the order of the table have their keys anywhere in memory. The place
// where the positions of a match's key begin is prefetched some pages ahead, and the first position when the
// match's own page is read.
static void request_positions(HeapRows *rows, const LookupMatch *matches, uint32 count) {
    constexpr uint64 kMatchesAhead = 64;
    const LookupResult &lookup = *rows->lookup;
    if (lookup.first_position == nullptr)
        return;
    const uint64 end = Min(lookup.count, rows->next_match + count + kMatchesAhead);
    for (; rows->requested_for < end; rows->requested_for++)
        __builtin_prefetch(&lookup.first_position[lookup.matches[rows->requested_for].key]);
    for (uint32 i = 0; i < count; i++)
        __builtin_prefetch(&lookup.positions[lookup.first_position[matches[i].key]]);
}

// Finds the rows of the next page's matches.
static void read_page(HeapRows *rows) {
    const LookupMatch *matches = rows->lookup->matches + rows->next_match;
    const BlockNumber block = match_block(*matches);
    const uint64 left = rows->lookup->count - rows->next_match;
    const uint32 count = matches_on_page(matches, left);
    CHECK_FOR_INTERRUPTS();
    if (BufferIsValid(rows->buffer))
        ReleaseBuffer(rows->buffer);
    rows->buffer = BufferIsValid(rows->next_buffer)
                       ? rows->next_buffer
                       : storage::read_nearby(rows->heap, block, nullptr, &rows->nearby);
    rows->next_buffer = InvalidBuffer;
    pin_next_page(rows, matches + count, left - count);
    request_positions(rows, matches, count);
    heap_page_prune_opt(rows->heap, rows->buffer);
    LockBuffer(rows->buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(rows->buffer);
    check_old_snapshot(rows->snapshot, rows->heap, page);
    // The page's own flag may be trusted on a primary, and where the snapshot was not taken on a standby, as
    // heapgetpage trusts it. The slot of a row that has gone since this snapshot was taken cannot hold a row
    // that everybody sees.
    const bool all_visible = PageIsAllVisible(page) && !rows->snapshot->takenDuringRecovery;
    if (all_visible)
        find_all_visible_rows(page, matches, count, rows->rows);
    for (uint32 i = 0; !all_visible && i < count; i++) {
        ItemPointerData tid;
        ItemPointerSet(&tid, block, match_offset(matches[i]));
        const bool found = heap_hot_search_buffer(&tid, rows->heap, rows->buffer, rows->snapshot,
                                                  &rows->tuple, nullptr, true);
        rows->rows[i] = found ? ItemPointerGetOffsetNumber(&tid) : InvalidOffsetNumber;
    }
    LockBuffer(rows->buffer, BUFFER_LOCK_UNLOCK);
    rows->first_match = rows->next_match;
    rows->next_match += count;
    rows->batch = count;
    rows->at = 0;
}

static const LookupMatch *next_probed_row(HeapRows *rows, ItemPointerData *tid) {
    while (rows->next_match < rows->lookup->count) {
        const LookupMatch *match = &rows->lookup->matches[rows->next_match++];
        CHECK_FOR_INTERRUPTS();
        ItemPointerSet(tid, match_block(*match), match_offset(*match));
        if (is_visible(&rows->probe, *tid, tid)) {
            rows->tuple.t_self = *tid;
            return match;
        }
    }
    return nullptr;
}

const LookupMatch *next_row(HeapRows *rows, ItemPointerData *tid) {
    if (!rows->is_heap)
        return next_probed_row(rows, tid);
    for (;;) {
        while (rows->at < rows->batch) {
            const OffsetNumber row = rows->rows[rows->at];
            const LookupMatch *match = &rows->lookup->matches[rows->first_match + rows->at];
            rows->at++;
            if (row == InvalidOffsetNumber)
                continue;
            ItemPointerSet(tid, match_block(*match), row);
            rows->tuple.t_self = *tid;
            return match;
        }
        if (rows->next_match == rows->lookup->count)
            return nullptr;
        read_page(rows);
    }
}

bool has_more_on_page(const HeapRows &rows) {
    for (uint32 at = rows.at; at < rows.batch; at++)
        if (rows.rows[at] != InvalidOffsetNumber)
            return true;
    return false;
}

void store_row(HeapRows *rows, TupleTableSlot *slot) {
    if (!rows->is_heap) {
        if (!table_tuple_fetch_row_version(rows->heap, &rows->tuple.t_self, rows->snapshot, slot))
            ereport(ERROR,
                    (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not read a visible row of table \"%s\"",
                                                             RelationGetRelationName(rows->heap))));
        return;
    }
    Page page = BufferGetPage(rows->buffer);
    ItemId item = PageGetItemId(page, ItemPointerGetOffsetNumber(&rows->tuple.t_self));
    rows->tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
    rows->tuple.t_len = ItemIdGetLength(item);
    rows->tuple.t_tableOid = RelationGetRelid(rows->heap);
    ExecStoreBufferHeapTuple(&rows->tuple, slot, rows->buffer);
}

}  // namespace pg_gpu::kary
