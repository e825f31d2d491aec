// Entries' rows by the heap, a page at a time, and the facts that are made of pages meanwhile.
#include "compat.h"
#include "sort.h"
#include "table/page_checks.h"
#include "table/page_rows.h"
#include "table/rounds.h"
#include "table/row_results.h"

namespace pg_gpu::table {

namespace {

// The facts found of a page. Its LSN is known in any case.
struct PageFacts : BlockFacts {
    bool known;
    bool is_new;     // to all sessions
    uint64 read_in;  // the last round of all sessions then
};

}  // namespace

// Is it worth making facts, which take a look at all rows? When many are asked about, when the page has
// not changed since it was read last, and when facts of it, which it has outlived, were of use.
static bool is_worth_facts(const FactsGroup *group, uint32 place, Page page, XLogRecPtr lsn,
                           uint64 requested) {
    constexpr uint64 kFewestRequested = 8;  // one in so many
    if (requested * kFewestRequested >= PageGetMaxOffsetNumber(page))
        return true;
    return group != nullptr && (group->lsn[place] == lsn || (group->proven & bit_of(place)) != 0);
}

// Makes facts of a locked page, unless they are there and the page has only moved to another buffer.
static void find_page_facts(const RowVisibility &rows, FactsGroup *group, Buffer buffer, BlockNumber block,
                            uint64 requested, PageFacts *facts) {
    const uint32 place = block % kGroupBlocks;
    Page page = BufferGetPage(buffer);
    facts->read_in = last_shared_round();
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
        *facts = {shared, true, false, facts->read_in};
        return;
    }
    if (!is_worth_facts(group, place, page, facts->lsn, requested))
        return;
    const PageOutcome outcome = outcome_of(rows, page);
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
        share_facts(rows.file, block, buffer, facts, facts.read_in);
    FactsGroup *group = take_group(rows.table, block / kGroupBlocks, rows.request);
    if (group == nullptr)
        return;
    enter_group(rows, group);
    group->buffer[place] = buffer;
    // A snapshot that is older than what is known leaves it to others.
    if (!facts.known && group->lsn[place] == facts.lsn)
        return;
    if (group->lsn[place] != facts.lsn)
        group->same &= ~bit;
    group->lsn[place] = facts.lsn;
    group->since[place] = facts.since;
    note_since(group, facts.by_moment, facts.since);
    group->by_moment = facts.by_moment ? group->by_moment | bit : group->by_moment & ~bit;
    group->known = facts.known ? group->known | bit : group->known & ~bit;
    group->plain = facts.plain ? group->plain | bit : group->plain & ~bit;
    group->holds = facts.known ? group->holds | bit : group->holds & ~bit;
    if (facts.is_new)
        group->proven &= ~bit;
    memcpy(rows_of(group, place), facts.rows, facts_row_words() * sizeof(uint64));
}

// Looks first in the buffer that had the page last, since it most likely is still there.
static Buffer read_page(RowVisibility *rows, BlockNumber block) {
    const FactsGroup *group = rows->uses_facts ? find_group(rows->table, block / kGroupBlocks) : nullptr;
    const Buffer buffer = group != nullptr ? group->buffer[block % kGroupBlocks] : InvalidBuffer;
    if (buffer <= 0 || buffer > NBuffers ||
        !ReadRecentBuffer(physical_relation(rows->heap), MAIN_FORKNUM, block, buffer))
        return storage::read_nearby(rows->heap, block, nullptr, &rows->nearby);
    pgstat_count_buffer_read(rows->heap);
    pgstat_count_buffer_hit(rows->heap);
    return buffer;
}

// Answers for entries of one block from its page, which is locked once for all of them.
static void read_rows(RowVisibility *rows, BlockNumber block, const Entry *entries, uint64 count,
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
        const OffsetNumber offset = entries[i].offset();
        visible[entries[i].number] =
            facts.known ? get_bit(facts.rows, offset) : is_entry_visible(*rows, buffer, block, offset);
    }
    UnlockReleaseBuffer(buffer);
    rows->fetches += count;
    if (!XLogRecPtrIsInvalid(facts.lsn))
        keep_facts(*rows, buffer, block, facts);
}

bool find_invisible(RowVisibility *rows, BlockNumber block, char *copy, uint64 *invisible) {
    CHECK_FOR_INTERRUPTS();
    begin_request(rows);
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
static void prefetch_page(const RowVisibility &rows, BlockNumber block, bool with_rows) {
    const FactsGroup *group = rows.uses_facts ? find_group(rows.table, block / kGroupBlocks) : nullptr;
    const Buffer buffer = group != nullptr ? group->buffer[block % kGroupBlocks] : InvalidBuffer;
    if (!with_rows) {
        prefetch_buffer(buffer);
    } else if (buffer > 0 && buffer <= NBuffers && (group->proven & bit_of(block)) != 0) {
        Page page = BufferGetPage(buffer);
        const OffsetNumber last = last_offset(page);
        for (OffsetNumber offset = FirstOffsetNumber; offset <= last; offset++)
            __builtin_prefetch(static_cast<const char *>(page) +
                               ItemIdGetOffset(PageGetItemId(page, offset)));
    }
}

void read_pages(RowVisibility *rows, Entry *entries, uint64 count, bool *visible) {
    constexpr uint64 kAhead = 4;
    const auto less = [](const Entry &a, const Entry &b) { return a.encoded_tid < b.encoded_tid; };
    if (!std::is_sorted(entries, entries + count, less))
        sort_interruptibly(entries, entries + count, less);
    uint64 nearby = 0;
    for (uint64 first = 0, end; first < count; first = end) {
        const BlockNumber block = entries[first].block();
        for (end = first + 1; end < count && entries[end].block() == block; end++) {}
        for (nearby = Max(nearby, end); nearby < Min(end + kAhead, count); nearby++)
            prefetch_page(*rows, entries[nearby].block(), false);
        if (end < count)
            prefetch_page(*rows, entries[end].block(), true);
        read_rows(rows, block, entries + first, end - first, visible);
    }
}

void probe_rows(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible) {
    for (uint64 i = 0; i < count; i++) {
        CHECK_FOR_INTERRUPTS();
        if (visible[i])
            continue;
        visible[i] = is_visible(&rows->probe, tids[i]);
        rows->fetches++;
    }
    // No page stays pinned, since VACUUM (FREEZE) would wait for an idle cursor.
    table_index_fetch_reset(rows->probe.fetch);
}

}  // namespace pg_gpu::table
