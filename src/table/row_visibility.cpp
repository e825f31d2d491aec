// Entries' rows: by block facts where the page has not changed, else by the heap, a page at a time.
#include "table/row_visibility.h"

#include "client/client.h"
#include "compat.h"
#include "sort.h"
#include "table/block_picture.h"
#include "table/page_looks.h"
#include "table/page_rows.h"
#include "table/rounds.h"

namespace pg_gpu::table {

namespace {

// An entry of which something is to be found out.
struct Entry {
    uint64 place;   // heap block << 16 | offset
    uint64 number;  // in the question

    BlockNumber block() const { return static_cast<BlockNumber>(place >> 16); }
    uint32 group() const { return block() / kGroupBlocks; }
    OffsetNumber offset() const { return static_cast<OffsetNumber>(place & 0xffff); }
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
    if (rows->picture_user != 0)
        leave_pictures(rows->picture_user);
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

void expect_looks(RowVisibility *rows, uint64 looks) {
    if (!rows->by_page)
        return;
    begin_question(rows);
    if (rows->uses_facts && !rows->file.is_followed)
        rows->file.is_followed = follow_wal(rows->snapshot, looks);
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
    return do_facts_suit(facts_suit(rows), by_moment, since);
}

static bool do_facts_suit(const RowVisibility &rows, const FactsGroup &group, uint32 place) {
    return do_facts_suit(rows, (group.by_moment >> place & 1) != 0, group.since[place]);
}

static uint64 suiting_blocks(const RowVisibility &rows, const FactsGroup &group, uint64 blocks) {
    if (do_facts_suit(rows, false, group.newest_id) && do_facts_suit(rows, true, group.newest_moment))
        return blocks;
    uint64 suiting = 0;
    for (uint64 left = blocks; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        suiting |= do_facts_suit(rows, group, place) ? bit_of(place) : 0;
    }
    return suiting;
}

// False where there is no room for all of a block's rows.
static bool learn_group(const RowVisibility &rows, FactsGroup *group) {
    uint64 unchanged;
    const bool all_fit = learn_shared_facts(rows.file, group, &unchanged);
    group->holds |= suiting_blocks(rows, *group, unchanged);
    group->proven |= unchanged;
    return all_fit;
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
    const bool all_fit = learn_group(*rows, group);
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

// Looks at the pages of those blocks whose facts suit the snapshot, with their locks or without; returns
// which have not changed.
static uint64 look_at_blocks(const RowVisibility &rows, FactsGroup *group, uint64 blocks, bool locked) {
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
        for (uint32 found = locked ? find_unchanged_locked(rows.heap, looks, count)
                                   : find_unchanged(rows.heap, looks, count);
             found != 0; found &= found - 1)
            unchanged |= bit_of(looks[__builtin_ctz(found)].block);
    }
    group->proven |= unchanged;
    return unchanged;
}

static void look_and_tell(const RowVisibility &rows, FactsGroup *group, uint64 blocks) {
    const uint64 looked_in = last_shared_round();
    // Where WAL is followed one look with the page's lock spares all others.
    const WalReading reading = rows.file.is_followed && is_shared(*group) ? last_wal_reading() : WalReading{};
    const uint64 unchanged = look_at_blocks(rows, group, blocks, reading.epoch != 0);
    group->holds |= unchanged;
    share_unchanged(rows.file, *group, unchanged, looked_in, reading);
}

// The rest of what others know by now is left to be learned by the next question.
static void look_at_group(const RowVisibility &rows, FactsGroup *group) {
    CHECK_FOR_INTERRUPTS();
    learn_group(rows, group);
    const uint64 wanted = group->wanted & ~group->holds;
    if (wanted != 0)
        look_and_tell(rows, group, wanted);
}

// Where several sessions look at the same table, each begins at another of its groups, so that what one has
// looked at is one less for the others.
static uint32 first_group_to_look_at(const RowVisibility &rows) {
    constexpr uint32 kGoldenRatio = 0x9e3779b9;  // of 2^32: its multiples lie evenly
    static uint32 fraction = static_cast<uint32>(MyProcPid) * kGoldenRatio;
    fraction += kGoldenRatio;
    const auto groups = uint64{static_cast<uint32>(rows.wanted->key)} + 1;
    return static_cast<uint32>(groups * fraction >> 32);
}

static uint64 count_wanted(const RowVisibility &rows) {
    uint64 wanted = 0;
    for (const FactsGroup *group = rows.wanted; group != nullptr; group = group->next)
        wanted += static_cast<uint64>(__builtin_popcountll(group->wanted));
    return wanted;
}

void look_at_wanted_blocks(RowVisibility *rows) {
    if (rows->wanted == nullptr)
        return;
    instr_time began;
    INSTR_TIME_SET_CURRENT(began);
    expect_looks(rows, count_wanted(*rows));
    const uint32 first = first_group_to_look_at(*rows);
    for (const bool before : {false, true})
        for (FactsGroup *group = rows->wanted; group != nullptr; group = group->next)
            if ((static_cast<uint32>(group->key) < first) == before)
                look_at_group(*rows, group);
    forget_wanted_blocks(rows);
    client::leave_out(client::microseconds_since(began));
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

CopiedFacts copy_facts(const RowVisibility &rows, uint32 number, uint64 blocks, uint64 *copy) {
    CopiedFacts copied = {};
    copied.mark = kNoMark;
    if (!rows.uses_facts)
        return copied;
    FactsGroup *group = group_with_facts(rows, number);
    if (group == nullptr)
        return copy_current_facts(rows.file, number, blocks, facts_suit(rows), copy);
    copied.blocks = blocks & group->holds;
    const uint32 words = facts_row_words();
    // Most often all blocks of a group, or nearly all, have facts.
    for (uint64 left = copied.blocks; left != 0;) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        const uint64 others = ~(left >> place);
        const uint32 count = others == 0 ? kGroupBlocks : static_cast<uint32>(__builtin_ctzll(others));
        memcpy(copy, rows_of(group, place), size_t{count} * words * sizeof(uint64));
        copy += size_t{count} * words;
        left = place + count < kGroupBlocks ? left & (PG_UINT64_MAX << (place + count)) : 0;
    }
    copied.newest_id = group->newest_id;
    copied.newest_moment = group->newest_moment;
    // What holds in this round alone, or was missed, is found out again next time.
    if (is_shared(*group) && group->missed == 0 && copied.blocks == current_blocks(rows.file, *group))
        copied.mark = {group->shared_version, group->shared_looks, group->shared_way};
    return copied;
}

uint64 find_plain_blocks(RowVisibility *rows, uint32 number, uint64 blocks, uint64 *looks) {
    begin_question(rows);
    FactsGroup *group = rows->uses_facts && blocks != 0 ? find_group_of_all(rows, number) : nullptr;
    if (group == nullptr)
        return 0;
    const uint64 known = blocks & group->known & group->plain;
    *looks += static_cast<uint64>(__builtin_popcountll(known));
    // Whatever was found out before the view was taken doesn't tell of entries that have come since.
    const uint64 plain = look_at_blocks(*rows, group, known, false);
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

// ---- the heap ---------------------------------------------------------------------------------------------

namespace {

// What was found out of a page. Its LSN is known in any case.
struct PageFacts : BlockFacts {
    bool known;
    bool is_new;         // to all sessions
    uint64 read_in;      // the last round of all sessions then
    WalReading reading;  // and the last reading of WAL
};

}  // namespace

// Is it worth making facts, which take a look at all rows? When many are asked about, when the page has
// not changed since it was read last, and when facts of it, which it has outlived, were of use. Where the
// session has noted nothing of the page, for want of room or because it reads it first, questions for which
// WAL is followed, which are large ones, make them for all sessions.
static bool is_worth_facts(const RowVisibility &rows, const FactsGroup *group, uint32 place, Page page,
                           XLogRecPtr lsn, uint64 asked) {
    constexpr uint64 kFewestAsked = 8;  // one in so many
    if (asked * kFewestAsked >= PageGetMaxOffsetNumber(page))
        return true;
    return group == nullptr ? rows.file.is_followed
                            : group->lsn[place] == lsn || (group->proven & bit_of(place)) != 0;
}

// Makes facts of a locked page, unless they are there and the page has only moved to another buffer.
static void find_page_facts(const RowVisibility &rows, FactsGroup *group, Buffer buffer, BlockNumber block,
                            uint64 asked, PageFacts *facts) {
    const uint32 place = block % kGroupBlocks;
    Page page = BufferGetPage(buffer);
    facts->read_in = last_shared_round();
    facts->reading = last_wal_reading();
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
        *facts = {shared, true, false, facts->read_in, facts->reading};
        return;
    }
    if (!is_worth_facts(rows, group, place, page, facts->lsn, asked))
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
        share_facts(rows.file, block, buffer, facts, facts.read_in, facts.reading);
    FactsGroup *group = take_group(rows.table, block / kGroupBlocks, rows.question);
    if (group == nullptr) {
        if (facts.known && !facts.is_new)
            share_current(rows.file, block, facts.lsn, facts.reading);
        return;
    }
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

static void read_pages(RowVisibility *rows, Entry *entries, uint64 count, bool *visible) {
    constexpr uint64 kAhead = 4;
    const auto less = [](const Entry &a, const Entry &b) { return a.place < b.place; };
    if (!std::is_sorted(entries, entries + count, less))
        sort_interruptibly(entries, entries + count, less);
    uint64 near = 0;
    for (uint64 first = 0, end; first < count; first = end) {
        const BlockNumber block = entries[first].block();
        for (end = first + 1; end < count && entries[end].block() == block; end++) {}
        for (near = Max(near, end); near < Min(end + kAhead, count); near++)
            bring_page_near(*rows, entries[near].block(), false);
        if (end < count)
            bring_page_near(*rows, entries[end].block(), true);
        read_rows(rows, block, entries + first, end - first, visible);
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

// ---- entries in the order of their groups -----------------------------------------------------------------

// Lists the entries that aren't visible yet, by group, so that each group is looked at once, and is near
// then. They stay in their order where it is that of groups already, or where they are many times fewer than
// groups.
static uint64 list_entries(const ItemPointerData *tids, uint64 count, const bool *visible, Entry *entries) {
    constexpr uint64 kGroupsPerEntry = 64;
    const auto group_of = [tids](uint64 i) {
        return ItemPointerGetBlockNumberNoCheck(&tids[i]) / kGroupBlocks;
    };
    uint32 last = 0;
    bool is_sorted = true;
    for (uint64 i = 0, before = 0; i < count; i++) {
        if (i % kEntriesBetweenInterrupts == 0)
            CHECK_FOR_INTERRUPTS();
        const uint32 group = group_of(i);
        is_sorted = is_sorted && group >= before;
        before = group;
        last = Max(last, group);
    }
    uint64 listed = 0;
    if (is_sorted || last / kGroupsPerEntry > count) {
        for (uint64 i = 0; i < count; i++)
            if (!visible[i])
                entries[listed++] = {place_of_tid(tids[i]), i};
        return listed;
    }
    auto *next = allocate_zeroed<uint64>(uint64{last} + 2);
    for (uint64 i = 0; i < count; i++)
        next[group_of(i) + 1] += visible[i] ? 0 : 1;
    for (uint32 group = 1; group <= last + 1; group++)
        next[group] += next[group - 1];
    listed = next[uint64{last} + 1];
    for (uint64 i = 0; i < count; i++)
        if (!visible[i])
            entries[next[group_of(i)]++] = {place_of_tid(tids[i]), i};
    pfree(next);
    return listed;
}

namespace {

// Entries [first, end) of one group, and the blocks that they lie on.
struct GroupOfEntries {
    const Entry *first;
    const Entry *end;
    uint64 blocks;
};

}  // namespace

static GroupOfEntries next_group(const Entry *first, const Entry *end) {
    GroupOfEntries group = {first, first, 0};
    for (; group.end < end && group.end->group() == first->group(); group.end++)
        group.blocks |= bit_of(group.end->block());
    return group;
}

// Returns where the next group begins.
static const Entry *bring_near(const RowVisibility &rows, const Entry *first, const Entry *end) {
    const GroupOfEntries group = next_group(first, end);
    bring_group_near(rows.table, first->group(), group.blocks);
    bring_changes_near(rows.file, first->group());
    return group.end;
}

// Learns what others know of the group, and has its pages come while the one before it is looked at.
static void expect_group(RowVisibility *rows, const GroupOfEntries &group) {
    const FactsGroup *facts = group.blocks != 0 ? find_group_of_all(rows, group.first->group()) : nullptr;
    if (facts == nullptr)
        return;
    for (uint64 left = group.blocks & facts->known & ~facts->holds; left != 0; left &= left - 1)
        expect_look(facts->buffer[__builtin_ctzll(left)]);
}

// Answers for entries that facts tell about, once their pages have been looked at. The others are written to
// `unknown`, which may lie where the entries do, but no further on; returns behind the last one.
static Entry *find_visible_in_group(const RowVisibility &rows, const GroupOfEntries &entries, Entry *unknown,
                                    bool *visible) {
    // What was learned of the next group may have made the session forget this one.
    FactsGroup *group = group_with_facts(rows, entries.first->group());
    const uint64 wanted = group == nullptr ? 0 : entries.blocks & group->known & ~group->holds;
    if (wanted != 0)
        look_and_tell(rows, group, wanted);
    const uint64 holds = group == nullptr ? 0 : group->holds;
    const uint32 words = facts_row_words();
    const uint64 *facts = group == nullptr ? nullptr : rows_of(group, 0);
    uint64 told = 0;
    for (const Entry *entry = entries.first; entry < entries.end; entry++) {
        const uint32 place = entry->block() % kGroupBlocks;
        if ((holds >> place & 1) == 0) {
            *unknown++ = *entry;
            continue;
        }
        visible[entry->number] = is_visible(facts + size_t{place} * words, words, entry->offset());
        told++;
    }
    facts_use()->entries += told;
    return unknown;
}

void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible) {
    if (!rows->by_page) {
        probe_rows(rows, tids, count, visible);
        return;
    }
    // What is known of a group lies on a few lines, which come from memory one after the other otherwise.
    constexpr int kGroupsAhead = 8;
    auto *entries = allocate<Entry>(count);
    const Entry *const end = entries + list_entries(tids, count, visible, entries);
    expect_looks(rows,
                 Min(static_cast<uint64>(end - entries), uint64{RelationGetNumberOfBlocks(rows->heap)}));
    Entry *unknown = rows->uses_facts ? entries : entries + (end - entries);
    if (rows->uses_facts) {
        const Entry *near = entries;
        for (int i = 0; i < kGroupsAhead && near < end; i++)
            near = bring_near(*rows, near, end);
        GroupOfEntries next = next_group(entries, end);
        expect_group(rows, next);
        while (next.first < end) {
            CHECK_FOR_INTERRUPTS();
            if (near < end)
                near = bring_near(*rows, near, end);
            const GroupOfEntries group = next;
            next = next_group(group.end, end);
            expect_group(rows, next);
            unknown = find_visible_in_group(*rows, group, unknown, visible);
        }
    }
    read_pages(rows, entries, static_cast<uint64>(unknown - entries), visible);
    pfree(entries);
}

}  // namespace pg_gpu::table
