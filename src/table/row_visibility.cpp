// The facts of blocks whose pages have not changed, for one request (block_facts.h).
#include "residency/residency.h"
#include "table/page_checks.h"
#include "table/rounds.h"
#include "table/row_results.h"

namespace pg_gpu::table {

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

void begin_request(RowVisibility *rows) {
    if (rows->round != 0 && rows->command == rows->snapshot->curcid)
        return;
    rows->command = rows->snapshot->curcid;
    rows->uses_facts = may_use_block_facts(rows->heap, rows->snapshot);
    rows->request = begin_facts_request();
    rows->table = number_of_table(rows->heap);
    rows->next = U64FromFullTransactionId(ReadNextFullTransactionId());
    rows->xmin = full_id(*rows, rows->snapshot->xmin);
    rows->moment = moment_of(rows->snapshot, full_id(*rows, rows->snapshot->xmax));
    rows->round = round_of(rows->snapshot, rows->xmin);
    rows->file = facts_file(rows->heap, shared_round());
}

void enter_group(const RowVisibility &rows, FactsGroup *group) {
    if (group->request != rows.request) {
        group->request = rows.request;
        group->wanted = 0;
    }
    if (group->round != rows.round) {
        group->round = rows.round;
        group->holds = 0;
    }
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

FactsGroup *find_group_of_all(RowVisibility *rows, uint32 number) {
    FactsGroup *group = find_group(rows->table, number);
    if (group == nullptr && has_shared_facts(rows->file, number))
        group = take_group(rows->table, number, rows->request);
    if (group == nullptr)
        return nullptr;
    enter_group(*rows, group);
    if (group->learned == rows->request)
        return group;
    group->learned = rows->request;
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
    begin_request(rows);
    FactsGroup *group = rows->uses_facts ? find_group_of_all(rows, block / kGroupBlocks) : nullptr;
    if (group != nullptr)
        want_blocks(rows, group, bit_of(block));
}

uint32 want_blocks_of_group(RowVisibility *rows, uint32 number, uint64 blocks) {
    if (!rows->by_page)
        return 0;
    begin_request(rows);
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
    PageCheck checks[kMaxPageChecks];
    const BlockNumber first = static_cast<uint32>(group->key) * kGroupBlocks;
    uint64 unchanged = 0;
    for (uint64 left = suiting_blocks(rows, *group, blocks); left != 0;) {
        uint32 count = 0;
        for (; left != 0 && count < kMaxPageChecks; left &= left - 1) {
            const auto place = static_cast<uint32>(__builtin_ctzll(left));
            checks[count++] = {first + place, group->buffer[place], group->lsn[place]};
        }
        facts_use()->pages += count;
        for (uint32 found = find_unchanged(rows.heap, checks, count); found != 0; found &= found - 1)
            unchanged |= bit_of(checks[__builtin_ctz(found)].block);
    }
    group->proven |= unchanged;
    return unchanged;
}

void check_and_report(const RowVisibility &rows, FactsGroup *group, uint64 blocks) {
    const uint64 looked_in = last_shared_round();
    const uint64 unchanged = look_at_blocks(rows, group, blocks);
    group->holds |= unchanged;
    share_unchanged(rows.file, *group, unchanged, looked_in);
}

// The rest of what others know by now is left to be learned by the next request.
static void look_at_group(const RowVisibility &rows, FactsGroup *group) {
    CHECK_FOR_INTERRUPTS();
    learn_group(rows, group);
    const uint64 wanted = group->wanted & ~group->holds;
    if (wanted != 0)
        check_and_report(rows, group, wanted);
}

// Sessions that look at the same table each begin at another of its groups, so that a group that one has
// looked at is one less for the others.
static uint32 first_group_to_look_at(const RowVisibility &rows) {
    constexpr uint32 kGoldenRatio = 0x9e3779b9;  // of 2^32: its multiples lie evenly
    static uint32 fraction = static_cast<uint32>(MyProcPid) * kGoldenRatio;
    fraction += kGoldenRatio;
    const auto groups = uint64{static_cast<uint32>(rows.wanted->key)} + 1;
    return static_cast<uint32>(groups * fraction >> 32);
}

void look_at_wanted_blocks(RowVisibility *rows) {
    if (rows->wanted == nullptr)
        return;
    instr_time began;
    INSTR_TIME_SET_CURRENT(began);
    const uint32 first = first_group_to_look_at(*rows);
    for (const bool before : {false, true})
        for (FactsGroup *group = rows->wanted; group != nullptr; group = group->next)
            if ((static_cast<uint32>(group->key) < first) == before)
                look_at_group(*rows, group);
    forget_wanted_blocks(rows);
    client::leave_out(client::microseconds_since(began));
}

FactsGroup *group_with_facts(const RowVisibility &rows, uint32 number) {
    FactsGroup *group = rows.uses_facts ? find_group(rows.table, number) : nullptr;
    return group != nullptr && group->round == rows.round ? group : nullptr;
}

uint64 copy_facts(const RowVisibility &rows, uint32 number, uint64 blocks, uint64 *copy) {
    FactsGroup *group = group_with_facts(rows, number);
    if (group == nullptr)
        return 0;
    const uint64 copied = blocks & group->holds;
    const uint32 words = facts_row_words();
    // Most often all blocks of a group, or nearly all, have facts.
    for (uint64 left = copied; left != 0;) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        const uint64 others = ~(left >> place);
        const uint32 count = others == 0 ? kGroupBlocks : static_cast<uint32>(__builtin_ctzll(others));
        memcpy(copy, rows_of(group, place), size_t{count} * words * sizeof(uint64));
        copy += size_t{count} * words;
        left = place + count < kGroupBlocks ? left & (PG_UINT64_MAX << (place + count)) : 0;
    }
    return copied;
}

uint64 find_plain_blocks(RowVisibility *rows, uint32 number, uint64 blocks, uint64 *checks) {
    begin_request(rows);
    FactsGroup *group = rows->uses_facts && blocks != 0 ? find_group_of_all(rows, number) : nullptr;
    if (group == nullptr)
        return 0;
    const uint64 known = blocks & group->known & group->plain;
    *checks += static_cast<uint64>(__builtin_popcountll(known));
    // Facts from before the view was taken say nothing of entries that have come since.
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

}  // namespace pg_gpu::table
