#include "table/visible_blocks.h"

#include "table/visible_count.h"

namespace pg_gpu::table {

using gpu_engine::BlockGroup;

static_assert(kMaxRowWords <= gpu_engine::KnownBlocks::max_row_words);

// The table's blocks among those of a group.
static uint64 blocks_of_group(BlockNumber blocks, uint32 number) {
    const BlockNumber here = blocks - number * kGroupBlocks;
    return here >= kGroupBlocks ? PG_UINT64_MAX : (UINT64CONST(1) << here) - 1;
}

// Fills in which blocks are all-visible; returns how many aren't.
static uint64 read_map(Relation heap, BlockNumber blocks, BlockGroup *groups, uint32 group_count) {
    VisibilityMap map;
    open_visibility(&map, heap);
    uint64 hidden = 0;
    for (uint32 i = 0; i < group_count; i++) {
        const uint64 here = blocks_of_group(blocks, i);
        groups[i].all_visible = all_visible_in_group(&map, i) & here;
        hidden += static_cast<uint64>(__builtin_popcountll(here & ~groups[i].all_visible));
    }
    close_visibility(&map);
    return hidden;
}

static uint64 hidden_blocks(const BlockGroup &group, BlockNumber blocks, uint32 number) {
    return ~group.all_visible & blocks_of_group(blocks, number);
}

// Marks what facts hold of; returns how many blocks that are.
static uint64 find_known(const RowVisibility &rows, BlockNumber blocks, BlockGroup *groups,
                         uint32 group_count) {
    uint64 slots = 0;
    for (uint32 i = 0; i < group_count; i++) {
        const uint64 hidden = hidden_blocks(groups[i], blocks, i);
        groups[i].known = hidden == 0 ? 0 : hidden & blocks_with_facts(rows, i);
        groups[i].first_slot = slots;
        slots += static_cast<uint64>(__builtin_popcountll(groups[i].known));
    }
    return slots;
}

static uint64 *copy_facts(const RowVisibility &rows, const BlockGroup *groups, uint32 group_count,
                          uint64 slots) {
    const uint32 words = facts_row_words();
    auto *copy = allocate<uint64>(slots * words + 1);
    uint64 *next = copy;
    for (uint32 i = 0; i < group_count; i++) {
        if (groups[i].known == 0)
            continue;
        FactsGroup *group = find_group(rows.table, i);
        for (uint64 left = groups[i].known; left != 0; left &= left - 1, next += words)
            memcpy(next, rows_of(group, static_cast<uint32>(__builtin_ctzll(left))), words * sizeof(uint64));
    }
    return copy;
}

namespace {

// How many entries the last question about some rows was about, for a guess at the next one. Questions of one
// index are alike more often than those of one table: a list of keys and a box in turn aren't.
struct LastQuestion {
    Oid index;
    uint64 entries;
};
constexpr uint32 kIndexes = 64;

}  // namespace

static LastQuestion last_questions[kIndexes] = {};

static uint64 entries_in_last_question(Relation index) {
    const Oid id = RelationGetRelid(index);
    const LastQuestion &last = last_questions[id % kIndexes];
    return last.index == id ? last.entries : 0;
}

client::VisibleBlocks read_visible_blocks(RowVisibility *rows, Relation index, Scope scope) {
    client::VisibleBlocks visible = {};
    visible.all = is_table_all_visible(rows->heap);
    if (visible.all)
        return visible;
    const BlockNumber blocks = RelationGetNumberOfBlocks(rows->heap);
    const uint32 group_count = blocks / kGroupBlocks + (blocks % kGroupBlocks != 0 ? 1 : 0);
    auto *groups = allocate_zeroed<BlockGroup>(uint64{group_count} + 1);
    const uint64 hidden = read_map(rows->heap, blocks, groups, group_count);
    expect_looks(rows, hidden);
    uint64 wanted = 0;
    for (uint32 i = 0; i < group_count && hidden > 0; i++)
        wanted += want_blocks_of_group(rows, i, hidden_blocks(groups[i], blocks, i));
    // For few rows fewer pages are looked at when the answer names them.
    if (scope == Scope::AllRows || wanted <= entries_in_last_question(index))
        look_at_wanted_blocks(rows);
    else
        forget_wanted_blocks(rows);
    visible.known.groups = groups;
    visible.known.group_count = group_count;
    // To copy what is known of some blocks takes as long as to look at one entry.
    constexpr uint64 kBlocksPerEntry = 8;
    const uint64 slots = rows->uses_facts ? find_known(*rows, blocks, groups, group_count) : 0;
    if (scope == Scope::SomeRows && slots / kBlocksPerEntry > entries_in_last_question(index))
        for (uint32 i = 0; i < group_count; i++)
            groups[i].known = 0;
    else
        visible.known.slots = slots;
    visible.known.row_words = facts_row_words();
    visible.known.rows = copy_facts(*rows, groups, group_count, visible.known.slots);
    return visible;
}

void note_rows_in_question(Relation index, uint64 entries) {
    const Oid id = RelationGetRelid(index);
    last_questions[id % kIndexes] = {id, entries};
}

}  // namespace pg_gpu::table
