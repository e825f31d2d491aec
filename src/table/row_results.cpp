// Entries' rows: by block facts where the page has not changed, else by the heap, a page at a time.
#include "table/row_results.h"

#include "table/page_checks.h"

namespace pg_gpu::table {

namespace {

constexpr uint32 kEntriesBetweenInterrupts = 1u << 14;
// The facts of a group lie on a few cache lines, and those of an entry on one. They are prefetched, since
// they would come from memory one after the other otherwise.
constexpr uint32 kGroupsAhead = 8;
constexpr uint64 kEntriesAhead = 32;

}  // namespace

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
                entries[listed++] = {encode_tid(tids[i]), i};
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
            entries[next[group_of(i)]++] = {encode_tid(tids[i]), i};
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
static const Entry *prefetch_buffer(const RowVisibility &rows, const Entry *first, const Entry *end) {
    const GroupOfEntries group = next_group(first, end);
    prefetch_group(rows.table, first->group(), group.blocks);
    prefetch_changes(rows.file, first->group());
    return group.end;
}

// Learns what others know of the group, and has its pages come while the one before it is looked at.
static void expect_group(RowVisibility *rows, const GroupOfEntries &group) {
    const FactsGroup *facts = group.blocks != 0 ? find_group_of_all(rows, group.first->group()) : nullptr;
    if (facts == nullptr)
        return;
    for (uint64 left = group.blocks & facts->known & ~facts->holds; left != 0; left &= left - 1)
        prefetch_page_check(facts->buffer[__builtin_ctzll(left)]);
}

// Answers for entries that facts tell about, once their pages have been looked at. The others are written to
// `unknown`, which may lie where the entries do, but no further on; returns behind the last one.
static Entry *find_visible_in_group(const RowVisibility &rows, const GroupOfEntries &entries, Entry *unknown,
                                    bool *visible) {
    // The session may have forgotten this group when it learned of the next one.
    FactsGroup *group = group_with_facts(rows, entries.first->group());
    const uint64 wanted = group == nullptr ? 0 : entries.blocks & group->known & ~group->holds;
    if (wanted != 0)
        check_and_report(rows, group, wanted);
    const uint64 holds = group == nullptr ? 0 : group->holds;
    const uint32 words = facts_row_words();
    const uint64 *facts = group == nullptr ? nullptr : rows_of(group, 0);
    uint64 reported = 0;
    for (const Entry *entry = entries.first; entry < entries.end; entry++) {
        const uint32 place = entry->block() % kGroupBlocks;
        if ((holds >> place & 1) == 0) {
            *unknown++ = *entry;
            continue;
        }
        visible[entry->number] = is_visible(facts + size_t{place} * words, words, entry->offset());
        reported++;
    }
    facts_use()->entries += reported;
    return unknown;
}

// Answers by groups, one after the other; returns how many entries facts didn't tell about, and lists these.
static uint64 find_visible_by_group(RowVisibility *rows, const ItemPointerData *tids, uint64 count,
                                    Entry *entries, bool *visible) {
    const Entry *const end = entries + list_entries(tids, count, visible, entries);
    begin_request(rows);
    if (!rows->uses_facts)
        return static_cast<uint64>(end - entries);
    const Entry *nearby = entries;
    for (uint32 i = 0; i < kGroupsAhead && nearby < end; i++)
        nearby = prefetch_buffer(*rows, nearby, end);
    Entry *unknown = entries;
    GroupOfEntries next = next_group(entries, end);
    expect_group(rows, next);
    while (next.first < end) {
        CHECK_FOR_INTERRUPTS();
        if (nearby < end)
            nearby = prefetch_buffer(*rows, nearby, end);
        const GroupOfEntries group = next;
        next = next_group(group.end, end);
        expect_group(rows, next);
        unknown = find_visible_in_group(*rows, group, unknown, visible);
    }
    return static_cast<uint64>(unknown - entries);
}

// ---- entries in any order ---------------------------------------------------------------------------------

namespace {

struct KnownGroup {
    uint64 blocks;        // blocks that the request is about
    uint64 holds;         // those of all of its blocks that facts tell about
    const uint64 *facts;  // words in the layout of rows_of()
};

// Entries that aren't visible yet, and the groups that they lie in.
struct OpenEntries {
    uint64 count;
    uint32 group_count;
    KnownGroup *groups;
};

}  // namespace

static OpenEntries find_open_entries(const ItemPointerData *tids, uint64 count, const bool *visible) {
    OpenEntries open = {};
    BlockNumber last = 0;
    for (uint64 i = 0; i < count; i++) {
        if (visible[i])
            continue;
        last = Max(last, ItemPointerGetBlockNumberNoCheck(&tids[i]));
        open.count++;
    }
    open.group_count = last / kGroupBlocks + 1;
    return open;
}

static void list_groups(const ItemPointerData *tids, uint64 count, const bool *visible, OpenEntries *open) {
    open->groups = allocate_zeroed<KnownGroup>(open->group_count);
    for (uint64 i = 0; i < count; i++) {
        if (visible[i])
            continue;
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tids[i]);
        open->groups[block / kGroupBlocks].blocks |= bit_of(block);
    }
}

static void look_at_groups(RowVisibility *rows, const OpenEntries &open) {
    for (uint32 i = 0; i < open.group_count; i++) {
        CHECK_FOR_INTERRUPTS();
        prefetch_group(rows->table, i + kGroupsAhead, 0);
        prefetch_changes(rows->file, i + kGroupsAhead);
        const uint64 blocks = open.groups[i].blocks;
        FactsGroup *group = blocks != 0 ? find_group_of_all(rows, i) : nullptr;
        const uint64 wanted = group == nullptr ? 0 : blocks & group->known & ~group->holds;
        if (wanted != 0)
            check_and_report(*rows, group, wanted);
    }
    // The groups are looked up only now, because what was learned of one may have made the session forget
    // another one.
    for (uint32 i = 0; i < open.group_count; i++) {
        FactsGroup *group = open.groups[i].blocks != 0 ? group_with_facts(*rows, i) : nullptr;
        if (group == nullptr)
            continue;
        open.groups[i].holds = group->holds;
        open.groups[i].facts = rows_of(group, 0);
    }
}

// Does the same as find_visible_by_group without sorting entries, of which there are many more than groups.
static uint64 find_visible_in_any_order(RowVisibility *rows, const ItemPointerData *tids, uint64 count,
                                        OpenEntries *open, Entry *entries, bool *visible) {
    list_groups(tids, count, visible, open);
    begin_request(rows);
    if (rows->uses_facts)
        look_at_groups(rows, *open);
    const uint32 words = facts_row_words();
    const KnownGroup *groups = open->groups;
    const auto facts_of = [groups, words](const ItemPointerData &tid) {
        const BlockNumber block = ItemPointerGetBlockNumberNoCheck(&tid);
        const KnownGroup &group = groups[block / kGroupBlocks];
        return (group.holds & bit_of(block)) != 0 ? group.facts + size_t{block % kGroupBlocks} * words
                                                  : nullptr;
    };
    uint64 unknown = 0;
    for (uint64 i = 0; i < count; i++) {
        if (i % kEntriesBetweenInterrupts == 0)
            CHECK_FOR_INTERRUPTS();
        if (visible[i])
            continue;
        if (i + kEntriesAhead < count)
            __builtin_prefetch(facts_of(tids[i + kEntriesAhead]));
        const uint64 *facts = facts_of(tids[i]);
        if (facts != nullptr)
            visible[i] = is_visible(facts, words, ItemPointerGetOffsetNumberNoCheck(&tids[i]));
        else
            entries[unknown++] = {encode_tid(tids[i]), i};
    }
    facts_use()->entries += open->count - unknown;
    pfree(open->groups);
    return unknown;
}

void find_visible(RowVisibility *rows, const ItemPointerData *tids, uint64 count, bool *visible) {
    // With so many groups for the entries, sorting takes longer than to look groups up again.
    constexpr uint64 kEntriesPerGroup = 8;
    if (!rows->by_page) {
        probe_rows(rows, tids, count, visible);
        return;
    }
    auto *entries = allocate<Entry>(count);
    OpenEntries open = find_open_entries(tids, count, visible);
    const uint64 unknown = open.group_count * kEntriesPerGroup <= open.count
                               ? find_visible_in_any_order(rows, tids, count, &open, entries, visible)
                               : find_visible_by_group(rows, tids, count, entries, visible);
    read_pages(rows, entries, unknown, visible);
    pfree(entries);
}

}  // namespace pg_gpu::table
