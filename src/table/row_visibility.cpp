// Entries' rows: by block facts where the page has not changed, else by the heap, a page at a time.
#include "table/row_visibility.h"

#include "compat.h"
#include "sort.h"
#include "table/page_looks.h"
#include "table/rounds.h"

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
    rows->question = begin_facts_question();
    rows->table = number_of_table(rows->heap);
    rows->next = U64FromFullTransactionId(ReadNextFullTransactionId());
    rows->xmin = full_id(*rows, rows->snapshot->xmin);
    rows->moment = moment_of(rows->snapshot, full_id(*rows, rows->snapshot->xmax));
    rows->round = round_of(rows->snapshot, rows->xmin);
    rows->file = facts_file(rows->heap, shared_round());
}

// Of another question nothing is wanted any more, and in another round nothing holds yet.
static void enter_group(const RowVisibility &rows, FactsGroup *group) {
    if (group->question != rows.question) {
        group->question = rows.question;
        group->wanted = 0;
    }
    if (group->round != rows.round) {
        group->round = rows.round;
        group->holds = 0;
    }
}

static uint64 bit_of(BlockNumber block) {
    return UINT64CONST(1) << (block % kGroupBlocks);
}

// May facts tell of rows under this snapshot, if the page has not changed?
static bool do_facts_suit(const RowVisibility &rows, bool by_moment, uint64 since) {
    return by_moment ? since <= rows.moment : since < rows.xmin;
}

static bool do_facts_suit(const RowVisibility &rows, const FactsGroup &group, uint32 place) {
    return do_facts_suit(rows, (group.by_moment >> place & 1) != 0, group.since[place]);
}

static uint64 suiting_blocks(const RowVisibility &rows, const FactsGroup &group, uint64 blocks) {
    uint64 suiting = 0;
    for (uint64 left = blocks; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        suiting |= do_facts_suit(rows, group, place) ? bit_of(place) : 0;
    }
    return suiting;
}

// A group that is to be looked at, with what others have found out until this question; nullptr: nothing is
// known of its blocks.
static FactsGroup *find_group_of_all(RowVisibility *rows, uint32 number) {
    FactsGroup *group = find_group(rows->table, number);
    if (group == nullptr && has_shared_facts(rows->file, number))
        group = take_group(rows->table, number, rows->question);
    if (group == nullptr)
        return nullptr;
    enter_group(*rows, group);
    if (group->learned == rows->question)
        return group;
    group->learned = rows->question;
    uint64 unchanged;
    const bool all_fit = learn_shared_facts(rows->file, group, &unchanged);
    group->holds |= suiting_blocks(*rows, *group, unchanged);
    group->proven |= unchanged;
    if (all_fit || rows->wanted != nullptr)
        return group;
    // Pages have more rows than this session has met so far. Where some are wanted already, the others of
    // this group are left to a look of its own.
    widen_facts_rows();
    return find_group_of_all(rows, number);
}

// Facts that are missing are no reason to look at a page, and those that hold already none to look again.
static uint64 want_blocks(RowVisibility *rows, FactsGroup *group, uint64 blocks) {
    const uint64 wanted = blocks & group->known & ~group->holds;
    if (wanted == 0)
        return 0;
    if (group->wanted == 0) {
        group->next = rows->wanted;
        rows->wanted = group;
    }
    group->wanted |= wanted;
    return wanted;
}

void want_block(RowVisibility *rows, BlockNumber block) {
    if (!rows->by_page)
        return;
    begin_question(rows);
    FactsGroup *group = rows->uses_facts ? find_group_of_all(rows, block / kGroupBlocks) : nullptr;
    if (group != nullptr)
        want_blocks(rows, group, bit_of(block));
}

uint32 want_blocks_of_group(RowVisibility *rows, uint32 number, uint64 blocks) {
    if (!rows->by_page)
        return 0;
    begin_question(rows);
    FactsGroup *group = rows->uses_facts && blocks != 0 ? find_group_of_all(rows, number) : nullptr;
    return group == nullptr ? 0 : static_cast<uint32>(__builtin_popcountll(want_blocks(rows, group, blocks)));
}

void forget_wanted_blocks(RowVisibility *rows) {
    for (FactsGroup *group = rows->wanted; group != nullptr; group = group->next)
        group->wanted = 0;
    rows->wanted = nullptr;
}

// Looks at the pages of those blocks whose facts suit the snapshot; returns which have not changed.
static uint64 look_at_blocks(const RowVisibility &rows, FactsGroup *group, uint64 blocks) {
    PageLook looks[kMaxLooks];
    const BlockNumber first = static_cast<uint32>(group->key) * kGroupBlocks;
    uint64 unchanged = 0;
    for (uint64 left = suiting_blocks(rows, *group, blocks); left != 0;) {
        uint32 count = 0;
        for (; left != 0 && count < kMaxLooks; left &= left - 1) {
            const auto place = static_cast<uint32>(__builtin_ctzll(left));
            looks[count++] = {first + place, group->buffer[place], group->lsn[place]};
        }
        facts_use()->pages += count;
        for (uint32 found = find_unchanged(rows.heap, looks, count); found != 0; found &= found - 1)
            unchanged |= bit_of(looks[__builtin_ctz(found)].block);
    }
    group->proven |= unchanged;
    return unchanged;
}

void look_at_wanted_blocks(RowVisibility *rows) {
    for (FactsGroup *group = rows->wanted; group != nullptr; group = group->next) {
        CHECK_FOR_INTERRUPTS();
        group->holds |= look_at_blocks(*rows, group, group->wanted);
        share_unchanged(rows->file, *group, group->holds & group->wanted);
    }
    forget_wanted_blocks(rows);
}

// nullptr: no facts of it hold in this round.
static FactsGroup *group_with_facts(const RowVisibility &rows, uint32 number) {
    FactsGroup *group = rows.uses_facts ? find_group(rows.table, number) : nullptr;
    return group != nullptr && group->round == rows.round ? group : nullptr;
}

uint64 blocks_with_facts(const RowVisibility &rows, uint32 number) {
    const FactsGroup *group = group_with_facts(rows, number);
    return group != nullptr ? group->holds : 0;
}

uint64 find_plain_blocks(RowVisibility *rows, uint32 number, uint64 blocks, uint64 *looks) {
    begin_question(rows);
    FactsGroup *group = rows->uses_facts && blocks != 0 ? find_group_of_all(rows, number) : nullptr;
    if (group == nullptr)
        return 0;
    const uint64 known = blocks & group->known & group->plain;
    *looks += static_cast<uint64>(__builtin_popcountll(known));
    // Whatever was found out before the view was taken doesn't tell of entries that have come since.
    const uint64 plain = look_at_blocks(*rows, group, known);
    for (uint64 left = plain; left != 0; left &= left - 1) {
        const uint64 *visible = rows_of(group, static_cast<uint32>(__builtin_ctzll(left)));
        for (uint32 word = 0; word < facts_row_words(); word++)
            facts_use()->entries += static_cast<uint64>(__builtin_popcountll(visible[word]));
    }
    return plain;
}

const uint64 *find_facts(const RowVisibility *rows, BlockNumber block) {
    FactsGroup *group = group_with_facts(*rows, block / kGroupBlocks);
    return group != nullptr && (group->holds & bit_of(block)) != 0 ? rows_of(group, block % kGroupBlocks)
                                                                   : nullptr;
}

namespace {

// How far what was done to a page's rows is settled.
struct Outcome {
    bool decided;          // for this snapshot, and later ones
    bool by_moment;        // some of it by a transaction that doesn't precede the snapshot's xmin
    TransactionId newest;  // that did any of it
};

}  // namespace

// Has a transaction that doesn't precede the snapshot's xmin ended before the snapshot was taken? This
// session's own ones are in no list of its snapshots.
static bool has_ended(const RowVisibility &rows, TransactionId id) {
    return rows.moment != 0 && !XidInMVCCSnapshot(id, rows.snapshot) &&
           !TransactionIdIsCurrentTransactionId(id);
}

// Is the outcome of all that was done to the page's rows known to this snapshot and every later one? Whoever
// only locked a row changed nothing of who sees it. Hint bits may be set meanwhile; none of them changes the
// answer.
static Outcome outcome_of(const RowVisibility &rows, Page page) {
    Outcome outcome = {false, false, InvalidTransactionId};
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
        // VACUUM FULL of versions before 9.0 moved it.
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

// Does the entry lead to a row that the snapshot sees? The page is locked.
static bool is_entry_visible(const RowVisibility &rows, Buffer buffer, BlockNumber block,
                             OffsetNumber offset) {
    ItemPointerData tid;
    ItemPointerSet(&tid, block, offset);
    HeapTupleData tuple;
    return heap_hot_search_buffer(&tid, rows.heap, buffer, rows.snapshot, &tuple, nullptr, true);
}

static void set_bit(uint64 *words, OffsetNumber offset) {
    words[(offset - 1) / 64] |= UINT64CONST(1) << ((offset - 1) % 64);
}

static bool get_bit(const uint64 *words, OffsetNumber offset) {
    return (words[(offset - 1) / 64] >> ((offset - 1) % 64) & 1) != 0;
}

// Can an index entry lead to this line pointer, and from there to a row?
static bool may_lead_to_row(Page page, OffsetNumber offset) {
    const ItemId item = PageGetItemId(page, offset);
    return ItemIdIsRedirected(item) ||
           (ItemIdIsNormal(item) &&
            !HeapTupleHeaderIsHeapOnly(reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item))));
}

static OffsetNumber last_offset(Page page) {
    return static_cast<OffsetNumber>(Min(PageGetMaxOffsetNumber(page), MaxHeapTuplesPerPage));
}

// What hint bits alone tell of an entry's row, once all that was done to the page has ended before the
// snapshot. They tell of most rows: of those that nobody has changed, and of those that were deleted and have
// no later version on the page.
static bool do_hints_tell(Page page, OffsetNumber offset, bool *visible) {
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

// Looks at all entries of a page whose rows are decided.
static void make_facts(const RowVisibility &rows, Buffer buffer, BlockNumber block, uint64 *words) {
    Page page = BufferGetPage(buffer);
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last_offset(page); offset++) {
        if (!may_lead_to_row(page, offset))
            continue;
        bool visible;
        if (!do_hints_tell(page, offset, &visible))
            visible = is_entry_visible(rows, buffer, block, offset);
        if (visible)
            set_bit(words, offset);
    }
}

// Marks line pointers that entries can lead to but that have no visible row; false when there are none.
template <typename IsVisible>
static bool mark_invisible(Page page, uint64 *invisible, IsVisible is_row_visible) {
    bool any = false;
    for (OffsetNumber offset = FirstOffsetNumber; offset <= last_offset(page); offset++) {
        if (!ItemIdIsDead(PageGetItemId(page, offset)) &&
            (!may_lead_to_row(page, offset) || is_row_visible(offset)))
            continue;
        set_bit(invisible, offset);
        any = true;
    }
    return any;
}

// ---- the heap ---------------------------------------------------------------------------------------------

namespace {

// What was found out of a page. Its LSN is known in any case.
struct PageFacts : BlockFacts {
    bool known;
    bool is_new;  // to all sessions
};

}  // namespace

// Is it worth making facts, which take a look at all rows? When many are asked about, when the page has
// not changed since it was read last, and when facts of it, which it has outlived, were of use.
static bool is_worth_facts(const FactsGroup *group, uint32 place, Page page, XLogRecPtr lsn, uint64 asked) {
    constexpr uint64 kFewestAsked = 8;  // one in so many
    return asked * kFewestAsked >= PageGetMaxOffsetNumber(page) ||
           (group != nullptr && (group->lsn[place] == lsn || (group->proven & bit_of(place)) != 0));
}

// Makes facts of a locked page, unless they are there and the page has only moved to another buffer.
static void find_page_facts(const RowVisibility &rows, FactsGroup *group, Buffer buffer, BlockNumber block,
                            uint64 asked, PageFacts *facts) {
    const uint32 place = block % kGroupBlocks;
    Page page = BufferGetPage(buffer);
    // Before the rows: who sets a hint bit meanwhile may log the page and so change its LSN.
    facts->lsn = BufferGetLSNAtomic(buffer);
    // Pages without an LSN can't be told from each other.
    if (XLogRecPtrIsInvalid(facts->lsn))
        return;
    if (group != nullptr && (group->known & bit_of(block)) != 0 && group->lsn[place] == facts->lsn &&
        do_facts_suit(rows, *group, place)) {
        facts->known = true;
        facts->by_moment = (group->by_moment & bit_of(block)) != 0;
        facts->plain = (group->plain & bit_of(block)) != 0;
        facts->since = group->since[place];
        memcpy(facts->rows, rows_of(group, place), facts_row_words() * sizeof(uint64));
        return;
    }
    BlockFacts shared;
    if (find_shared_facts(rows.file, block, facts->lsn, &shared) &&
        do_facts_suit(rows, shared.by_moment, shared.since)) {
        *facts = {shared, true, false};
        return;
    }
    if (!is_worth_facts(group, place, page, facts->lsn, asked))
        return;
    const Outcome outcome = outcome_of(rows, page);
    if (!outcome.decided)
        return;
    make_facts(rows, buffer, block, facts->rows);
    uint64 invisible[kMaxRowWords] = {};
    facts->plain = !mark_invisible(page, invisible,
                                   [facts](OffsetNumber offset) { return get_bit(facts->rows, offset); });
    facts->known = true;
    facts->is_new = true;
    facts->by_moment = outcome.by_moment;
    if (outcome.by_moment)
        facts->since = rows.moment;
    else
        facts->since = TransactionIdIsNormal(outcome.newest) ? full_id(rows, outcome.newest) : 0;
}

static void keep_facts(const RowVisibility &rows, Buffer buffer, BlockNumber block, const PageFacts &facts) {
    const uint32 place = block % kGroupBlocks;
    const uint64 bit = bit_of(block);
    for (uint32 word = facts_row_words(); word < kMaxRowWords; word++)
        if (facts.rows[word] != 0) {
            widen_facts_rows();
            break;
        }
    if (facts.is_new)
        share_facts(rows.file, block, buffer, facts);
    FactsGroup *group = take_group(rows.table, block / kGroupBlocks, rows.question);
    if (group == nullptr)
        return;
    enter_group(rows, group);
    group->buffer[place] = buffer;
    // A snapshot that is older than what is known leaves it to others.
    if (!facts.known && group->lsn[place] == facts.lsn)
        return;
    group->lsn[place] = facts.lsn;
    group->since[place] = facts.since;
    group->by_moment = facts.by_moment ? group->by_moment | bit : group->by_moment & ~bit;
    group->known = facts.known ? group->known | bit : group->known & ~bit;
    group->plain = facts.plain ? group->plain | bit : group->plain & ~bit;
    group->holds = facts.known ? group->holds | bit : group->holds & ~bit;
    if (facts.is_new)
        group->proven &= ~bit;
    memcpy(rows_of(group, place), facts.rows, facts_row_words() * sizeof(uint64));
}

// Where a page was last it most likely is.
static Buffer read_page(RowVisibility *rows, BlockNumber block) {
    const FactsGroup *group = rows->uses_facts ? find_group(rows->table, block / kGroupBlocks) : nullptr;
    const Buffer buffer = group != nullptr ? group->buffer[block % kGroupBlocks] : InvalidBuffer;
    if (buffer <= 0 || buffer > NBuffers ||
        !ReadRecentBuffer(physical_relation(rows->heap), MAIN_FORKNUM, block, buffer))
        return storage::read_near(rows->heap, block, nullptr, &rows->near);
    pgstat_count_buffer_read(rows->heap);
    pgstat_count_buffer_hit(rows->heap);
    return buffer;
}

// Answers for entries of one block from its page, which is locked once for all of them.
static void read_rows(RowVisibility *rows, BlockNumber block, const Unknown *unknown, uint64 count,
                      bool *visible) {
    CHECK_FOR_INTERRUPTS();
    const Buffer buffer = read_page(rows, block);
    heap_page_prune_opt(rows->heap, buffer);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    check_old_snapshot(rows->snapshot, rows->heap, BufferGetPage(buffer));
    PageFacts facts = {};
    if (rows->uses_facts)
        find_page_facts(*rows, find_group(rows->table, block / kGroupBlocks), buffer, block, count, &facts);
    for (uint64 i = 0; i < count; i++) {
        const auto offset = static_cast<OffsetNumber>(unknown[i].place & 0xffff);
        visible[unknown[i].entry] =
            facts.known ? get_bit(facts.rows, offset) : is_entry_visible(*rows, buffer, block, offset);
    }
    UnlockReleaseBuffer(buffer);
    rows->fetches += count;
    if (!XLogRecPtrIsInvalid(facts.lsn))
        keep_facts(*rows, buffer, block, facts);
}

bool find_invisible(RowVisibility *rows, BlockNumber block, char *copy, uint64 *invisible) {
    CHECK_FOR_INTERRUPTS();
    begin_question(rows);
    memset(invisible, 0, kMaxRowWords * sizeof(uint64));
    const Buffer buffer = read_page(rows, block);
    LockBuffer(buffer, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    PageFacts facts = {};
    if (rows->uses_facts)
        find_page_facts(*rows, find_group(rows->table, block / kGroupBlocks), buffer, block,
                        MaxHeapTuplesPerPage, &facts);
    const bool any =
        !(facts.known && facts.plain) && mark_invisible(page, invisible, [&](OffsetNumber offset) {
            return facts.known ? get_bit(facts.rows, offset) : is_entry_visible(*rows, buffer, block, offset);
        });
    if (any)
        memcpy(copy, page, BLCKSZ);
    UnlockReleaseBuffer(buffer);
    if (!XLogRecPtrIsInvalid(facts.lsn))
        keep_facts(*rows, buffer, block, facts);
    return any;
}

// Has a page's head come from memory while others are read, and then the heads of its rows, where facts are
// likely to be made of them. Nobody minds if the buffer has another page by now: nothing is done with what
// comes.
static void bring_page_near(const RowVisibility &rows, BlockNumber block, bool with_rows) {
    const FactsGroup *group = rows.uses_facts ? find_group(rows.table, block / kGroupBlocks) : nullptr;
    const Buffer buffer = group != nullptr ? group->buffer[block % kGroupBlocks] : InvalidBuffer;
    if (!with_rows) {
        bring_near(buffer);
    } else if (buffer > 0 && buffer <= NBuffers && (group->proven & bit_of(block)) != 0) {
        Page page = BufferGetPage(buffer);
        const OffsetNumber last = last_offset(page);
        for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
            __builtin_prefetch(static_cast<const char *>(page) +
                               ItemIdGetOffset(PageGetItemId(page, offset)));
    }
}

static void read_pages(RowVisibility *rows, Unknown *unknown, uint64 count, bool *visible) {
    constexpr uint64 kAhead = 4;
    const auto less = [](const Unknown &a, const Unknown &b) { return a.place < b.place; };
    if (!std::is_sorted(unknown, unknown + count, less))
        sort_interruptibly(unknown, unknown + count, less);
    uint64 near = 0;
    for (uint64 first = 0, end; first < count; first = end) {
        const uint64 block = unknown[first].place >> 16;
        for (end = first + 1; end < count && unknown[end].place >> 16 == block; end++) {}
        for (near = Max(near, end); near < Min(end + kAhead, count); near++)
            bring_page_near(*rows, static_cast<BlockNumber>(unknown[near].place >> 16), false);
        if (end < count)
            bring_page_near(*rows, static_cast<BlockNumber>(unknown[end].place >> 16), true);
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

// Has the pages looked at that entries lie on; true when facts may tell anything.
static bool look_at_blocks_of(RowVisibility *rows, const ItemPointerData *tids, uint64 count,
                              const bool *visible) {
    if (!rows->uses_facts)
        return false;
    for (uint64 i = 0; i < count; i++) {
        if (i % kEntriesBetweenInterrupts == 0)
            CHECK_FOR_INTERRUPTS();
        if (visible[i])
            continue;
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tids[i]);
        FactsGroup *group = find_group_of_all(rows, block / kGroupBlocks);
        if (group != nullptr)
            want_blocks(rows, group, bit_of(block));
    }
    look_at_wanted_blocks(rows);
    return true;
}

void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible) {
    if (!rows->by_page) {
        probe_rows(rows, tids, count, visible);
        return;
    }
    begin_question(rows);
    const bool may_know = look_at_blocks_of(rows, tids, count, visible);
    Unknown *unknown = nullptr;
    uint64 unknown_count = 0;
    BlockNumber block = InvalidBlockNumber;
    const uint64 *facts = nullptr;
    for (uint64 i = 0; i < count; i++) {
        if (i % kEntriesBetweenInterrupts == 0)
            CHECK_FOR_INTERRUPTS();
        if (visible[i])
            continue;
        if (may_know && ItemPointerGetBlockNumberNoCheck(&tids[i]) != block) {
            block = ItemPointerGetBlockNumberNoCheck(&tids[i]);
            facts = find_facts(rows, block);
        }
        if (facts != nullptr) {
            visible[i] = is_visible(facts, ItemPointerGetOffsetNumberNoCheck(&tids[i]));
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
