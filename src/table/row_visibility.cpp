// Entries' rows: by block facts where the page has not changed, else by the heap, a page at a time.
#include "table/row_visibility.h"

#include "compat.h"
#include "sort.h"

namespace pg_gpu::table {

namespace {

// An entry that facts tell nothing about.
struct Unknown {
    uint64 place;  // heap block << 16 | offset
    uint64 entry;  // its number in the question
};

constexpr uint32 kEntriesBetweenInterrupts = 1u << 14;

}  // namespace

void open_row_visibility(RowVisibility *rows, Relation heap, Snapshot snapshot) {
    *rows = {};
    rows->heap = heap;
    rows->snapshot = snapshot;
    rows->by_page = is_heap_table(heap) && IsMVCCSnapshot(snapshot);
    if (!rows->by_page)
        open_heap_probe(&rows->probe, heap, snapshot);
}

void close_row_visibility(RowVisibility *rows) {
    close_heap_probe(&rows->probe);
    *rows = {};
}

// ---- facts ------------------------------------------------------------------------------------------------

// The full transaction id of one that is in the table or a snapshot, and so is no older than two billion.
static uint64 full_id(const RowVisibility &rows, TransactionId id) {
    return rows.next - static_cast<uint32>(static_cast<uint32>(rows.next) - id);
}

// A page that was found unchanged stays so for this snapshot, whoever changes it afterwards, but not once
// the transaction sees more of its own changes: then all pages are looked at anew.
static void begin_question(RowVisibility *rows) {
    if (rows->round != 0 && rows->command == rows->snapshot->curcid)
        return;
    rows->command = rows->snapshot->curcid;
    rows->uses_facts = may_use_block_facts(rows->heap, rows->snapshot);
    rows->round = begin_round();
    rows->table = number_of_table(rows->heap);
    rows->next = U64FromFullTransactionId(ReadNextFullTransactionId());
    rows->xmin = full_id(*rows, rows->snapshot->xmin);
}

// Pins and share-locks the page.
static Buffer lock_page(RowVisibility *rows, BlockNumber block, Buffer where) {
    Buffer buffer = where;
    if (where > 0 && where <= NBuffers &&
        ReadRecentBuffer(physical_relation(rows->heap), MAIN_FORKNUM, block, where)) {
        pgstat_count_buffer_read(rows->heap);
        pgstat_count_buffer_hit(rows->heap);
    } else {
        buffer = storage::read_near(rows->heap, block, nullptr, &rows->near);
    }
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    return buffer;
}

// What is known of the block under the snapshot; nullptr: nothing.
static const BlockFacts *look_at_block(RowVisibility *rows, BlockNumber block) {
    KnownBlock *known = find_block(rows->table, block);
    if (known == nullptr || known->facts.newest >= rows->xmin)
        return nullptr;
    if (known->round != rows->round) {
        CHECK_FOR_INTERRUPTS();
        const Buffer buffer = lock_page(rows, block, known->buffer);
        const XLogRecPtr lsn = BufferGetLSNAtomic(buffer);
        UnlockReleaseBuffer(buffer);
        known->buffer = buffer;
        facts_use()->pages++;
        if (lsn != known->facts.lsn)
            return nullptr;
        known->round = rows->round;
    }
    return &known->facts;
}

const BlockFacts *known_facts(RowVisibility *rows, BlockNumber block) {
    if (!rows->by_page)
        return nullptr;
    begin_question(rows);
    return rows->uses_facts ? look_at_block(rows, block) : nullptr;
}

// Is the outcome of all that was done to the page's rows known to every snapshot of this xmin or a later one?
// *newest is then the newest transaction that did any of it. Whoever only locked a row changed nothing of who
// sees it. Hint bits may be set meanwhile; none of them changes the answer.
static bool is_decided(Page page, TransactionId xmin, TransactionId *newest) {
    *newest = InvalidTransactionId;
    const auto is_finished = [xmin, newest](TransactionId id) {
        if (!TransactionIdIsNormal(id))
            return true;
        if (!TransactionIdIsNormal(*newest) || TransactionIdFollows(id, *newest))
            *newest = id;
        return TransactionIdPrecedes(id, xmin);
    };
    const OffsetNumber last = PageGetMaxOffsetNumber(page);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++) {
        const ItemId item = PageGetItemId(page, offset);
        if (!ItemIdIsNormal(item))
            continue;
        auto *tuple = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
        const uint16 mask = tuple->t_infomask;
        const bool is_frozen = (mask & HEAP_XMIN_FROZEN) == HEAP_XMIN_FROZEN;
        // VACUUM FULL of versions before 9.0 moved it.
        if ((mask & HEAP_MOVED) != 0 || (!is_frozen && !is_finished(HeapTupleHeaderGetRawXmin(tuple))))
            return false;
        if ((mask & HEAP_XMAX_INVALID) != 0 || HEAP_XMAX_IS_LOCKED_ONLY(mask))
            continue;
        const TransactionId xmax = (mask & HEAP_XMAX_IS_MULTI) != 0 ? HeapTupleGetUpdateXid(tuple)
                                                                    : HeapTupleHeaderGetRawXmax(tuple);
        if (!is_finished(xmax))
            return false;
    }
    return true;
}

// Does the entry lead to a row that the snapshot sees? The page is locked.
static bool is_entry_visible(const RowVisibility &rows, Buffer buffer, BlockNumber block,
                             OffsetNumber offset) {
    ItemPointerData tid;
    ItemPointerSet(&tid, block, offset);
    HeapTupleData tuple;
    return heap_hot_search_buffer(&tid, rows.heap, buffer, rows.snapshot, &tuple, nullptr, true);
}

// Looks at all entries of a page whose rows are decided.
static void make_facts(const RowVisibility &rows, Buffer buffer, BlockNumber block, BlockFacts *facts) {
    Page page = BufferGetPage(buffer);
    const OffsetNumber last = Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++) {
        const ItemId item = PageGetItemId(page, offset);
        const bool has_entry =
            ItemIdIsRedirected(item) ||
            (ItemIdIsNormal(item) &&
             !HeapTupleHeaderIsHeapOnly(reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item))));
        if (has_entry && is_entry_visible(rows, buffer, block, offset))
            facts->rows[(offset - 1) / 64] |= UINT64CONST(1) << ((offset - 1) % 64);
    }
}

// Is it worth making facts, which take a look at all rows? When many are asked about, and when the page has
// not changed since it was read last.
static bool is_worth_facts(const RowVisibility &rows, Page page, BlockNumber block, XLogRecPtr lsn,
                           uint64 asked) {
    constexpr uint64 kFewestAsked = 8;  // one in so many
    if (asked * kFewestAsked >= PageGetMaxOffsetNumber(page))
        return true;
    const KnownBlock *known = find_block(rows.table, block);
    return known != nullptr && known->facts.lsn == lsn;
}

// ---- the heap ---------------------------------------------------------------------------------------------

// Answers for entries of one block from its page, which is locked once for all of them.
static void read_rows(RowVisibility *rows, BlockNumber block, const Unknown *unknown, uint64 count,
                      bool *visible) {
    CHECK_FOR_INTERRUPTS();
    const Buffer buffer = storage::read_near(rows->heap, block, nullptr, &rows->near);
    heap_page_prune_opt(rows->heap, buffer);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    check_old_snapshot(rows->snapshot, rows->heap, page);
    // Before the rows: who sets a hint bit meanwhile may log the page and so change its LSN.
    BlockFacts facts = {BufferGetLSNAtomic(buffer), kNothingKnown, {}};
    // Pages without an LSN can't be told from each other.
    const bool keeps = rows->uses_facts && !XLogRecPtrIsInvalid(facts.lsn);
    TransactionId newest;
    if (keeps && is_worth_facts(*rows, page, block, facts.lsn, count) &&
        is_decided(page, rows->snapshot->xmin, &newest)) {
        make_facts(*rows, buffer, block, &facts);
        facts.newest = TransactionIdIsNormal(newest) ? full_id(*rows, newest) : 0;
    }
    for (uint64 i = 0; i < count; i++) {
        const auto offset = static_cast<OffsetNumber>(unknown[i].place & 0xffff);
        visible[unknown[i].entry] = facts.newest == kNothingKnown
                                        ? is_entry_visible(*rows, buffer, block, offset)
                                        : is_visible(facts, offset);
    }
    UnlockReleaseBuffer(buffer);
    rows->fetches += count;
    KnownBlock *place = keeps ? take_place(rows->table, block, rows->round) : nullptr;
    if (place != nullptr) {
        place->facts = facts;
        place->round = rows->round;
        place->buffer = buffer;
    }
}

static void read_pages(RowVisibility *rows, Unknown *unknown, uint64 count, bool *visible) {
    const auto less = [](const Unknown &a, const Unknown &b) { return a.place < b.place; };
    if (!std::is_sorted(unknown, unknown + count, less))
        sort_interruptibly(unknown, unknown + count, less);
    for (uint64 first = 0, end; first < count; first = end) {
        const uint64 block = unknown[first].place >> 16;
        for (end = first + 1; end < count && unknown[end].place >> 16 == block; end++) {}
        read_rows(rows, static_cast<BlockNumber>(block), unknown + first, end - first, visible);
    }
}

static void probe_rows(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible) {
    for (uint64 i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        if (visible[i])
            continue;
        visible[i] = is_visible(&rows->probe, tids[i]);
        rows->fetches++;
    }
    // Nothing stays pinned: VACUUM (FREEZE) would wait for an idle cursor.
    table_index_fetch_reset(rows->probe.fetch);
}

void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible) {
    if (!rows->by_page) {
        probe_rows(rows, tids, count, visible);
        return;
    }
    begin_question(rows);
    Unknown *unknown = nullptr;
    uint64 unknown_count = 0;
    BlockNumber block = InvalidBlockNumber;
    const BlockFacts *facts = nullptr;
    for (uint64 i = 0; i < count; i++) {
        if (i % kEntriesBetweenInterrupts == 0)
            CHECK_FOR_INTERRUPTS();
        if (visible[i])
            continue;
        if (ItemPointerGetBlockNumberNoCheck(&tids[i]) != block) {
            block = ItemPointerGetBlockNumberNoCheck(&tids[i]);
            facts = rows->uses_facts ? look_at_block(rows, block) : nullptr;
        }
        if (facts != nullptr) {
            visible[i] = is_visible(*facts, ItemPointerGetOffsetNumberNoCheck(&tids[i]));
            facts_use()->entries++;
            continue;
        }
        if (unknown == nullptr)
            unknown = allocate<Unknown>(count - i);
        unknown[unknown_count++] = {place_of_tid(tids[i]), i};
    }
    if (unknown == nullptr)
        return;
    read_pages(rows, unknown, unknown_count, visible);
    pfree(unknown);
}

}  // namespace pg_gpu::table
