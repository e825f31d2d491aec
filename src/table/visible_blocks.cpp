#include "table/visible_blocks.h"

#include "table/visible_count.h"

namespace pg_gpu::table {

using gpu_engine::BlockGroup;

static_assert(kMaxRowWords <= gpu_engine::KnownBlocks::max_row_words);

// Returns a bit for each of the group's blocks that the table has.
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

namespace {

// The number of entries that the last request about some rows of an index was about, for a guess at the next
// one's. Requests of one index are alike more often than those of one table: a list of keys and a box in turn
// aren't.
struct LastRequest {
    Oid index;
    uint64 entries;
};
constexpr uint32 kIndexes = 64;

}  // namespace

static LastRequest last_requests[kIndexes] = {};

static uint64 entries_in_last_request(Relation index) {
    const Oid id = RelationGetRelid(index);
    const LastRequest &last = last_requests[id % kIndexes];
    return last.index == id ? last.entries : 0;
}

namespace {

// The parts of a table that are read for one request.
struct Reading {
    RowVisibility *rows;
    BlockNumber blocks;
    BlockGroup *groups;  // have the blocks that are all-visible
    uint32 group_count;
    uint64 entries;  // entries that the request is about, as far as can be guessed
};

}  // namespace

// When the request is about fewer rows than pages would be looked at, the pages are left to be looked at once
// the answer names their rows.
static void look_at_groups(const Reading &reading) {
    uint64 wanted = 0;
    for (uint32 i = 0; i < reading.group_count; i++)
        wanted += want_blocks_of_group(reading.rows, i, hidden_blocks(reading.groups[i], reading.blocks, i));
    if (wanted <= reading.entries)
        look_at_wanted_blocks(reading.rows);
    else
        forget_wanted_blocks(reading.rows);
}

// Copies what is known of the blocks that aren't all-visible, of which there are so many.
static void read_all(const Reading &reading, uint64 hidden, gpu_engine::KnownBlocks *known) {
    look_at_groups(reading);
    const uint32 words = facts_row_words();
    auto *copy = allocate<uint64>(hidden * words + 1);
    uint64 slots = 0;
    for (uint32 i = 0; i < reading.group_count; i++) {
        BlockGroup *group = &reading.groups[i];
        const uint64 here = hidden_blocks(*group, reading.blocks, i);
        group->first_slot = slots;
        group->known = here == 0 ? 0 : copy_facts(*reading.rows, i, here, copy + slots * words);
        slots += static_cast<uint64>(__builtin_popcountll(group->known));
    }
    *known = {reading.groups, reading.group_count, copy, slots, words};
}

client::VisibleBlocks read_visible_blocks(RowVisibility *rows, Relation index, Scope scope, uint64 expected) {
    static constexpr uint64 kNoRows = 0;
    // Copying what is known of so many blocks takes as long as to look at one entry.
    constexpr uint64 kBlocksPerEntry = 8;
    client::VisibleBlocks visible = {};
    visible.all = is_table_all_visible(rows->heap);
    if (visible.all)
        return visible;
    Reading reading = {};
    reading.rows = rows;
    reading.blocks = RelationGetNumberOfBlocks(rows->heap);
    reading.group_count = reading.blocks / kGroupBlocks + (reading.blocks % kGroupBlocks != 0 ? 1 : 0);
    reading.groups = allocate_zeroed<BlockGroup>(uint64{reading.group_count} + 1);
    if (scope == Scope::AllRows)
        reading.entries = PG_UINT64_MAX;
    else
        reading.entries = expected > 0 ? expected : entries_in_last_request(index);
    const uint64 hidden = read_map(rows->heap, reading.blocks, reading.groups, reading.group_count);
    if (hidden / kBlocksPerEntry > reading.entries)
        visible.known = {reading.groups, reading.group_count, &kNoRows, 0, facts_row_words()};
    else
        read_all(reading, hidden, &visible.known);
    return visible;
}

void note_requested_rows(Relation index, uint64 entries) {
    const Oid id = RelationGetRelid(index);
    last_requests[id % kIndexes] = {id, entries};
}

}  // namespace pg_gpu::table
