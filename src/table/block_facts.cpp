// A set-associative table of block facts, which grows up to what hash tables may have (work_mem).
#include "table/block_facts.h"

#include "compat.h"
#include "settings.h"

namespace pg_gpu::table {

namespace {

constexpr uint32 kWays = 4;
constexpr uint32 kFewestSets = 64;
constexpr uint32 kTables = 64;

// Consecutive blocks lie in consecutive sets, so that a table as large as all sets together fits exactly.
struct Cache {
    KnownBlock *blocks;
    uint32 sets;  // a power of two
    uint64 used;
    uint32 last_round;
};

struct NumberedTable {
    PhysicalPlace place;
    uint32 number;
};

// The last few tables, in the order of their numbers; older ones' blocks are found no more.
struct Tables {
    NumberedTable table[kTables];
    uint32 last_number;
};

}  // namespace

static Cache cache = {};
static Tables tables = {};
static FactsUse use = {};

FactsUse *facts_use() {
    return &use;
}

bool may_use_block_facts(Relation heap, Snapshot snapshot) {
    return block_facts_enabled() && is_heap_table(heap) && snapshot->snapshot_type == SNAPSHOT_MVCC &&
           // Changes of temporary and unlogged tables, and of files that this transaction made under
           // wal_level = minimal, leave no LSN.
           RelationNeedsWAL(heap) && !RelationUsesLocalBuffers(heap) &&
           // Each row read must be locked, or looked at for conflicts.
           !IsolationIsSerializable() &&
           // Rows that this snapshot sees may be gone; whoever reads the page is told.
           !do_snapshots_expire();
}

// ---- the table of blocks ----------------------------------------------------------------------------------

static uint64 key_of(uint32 table, BlockNumber block) {
    return uint64{table} << 32 | block;
}

static uint32 set_of(uint64 key, uint32 sets) {
    constexpr uint32 kSpread = 0x9e3779b1;
    return (static_cast<uint32>(key >> 32) * kSpread + static_cast<uint32>(key)) & (sets - 1);
}

static size_t bytes_of(uint32 sets) {
    return size_t{sets} * kWays * sizeof(KnownBlock);
}

static void forget_all() {
    if (cache.blocks != nullptr)
        pfree(cache.blocks);
    cache.blocks = nullptr;
    cache.sets = 0;
    cache.used = 0;
}

static bool grow() {
    const uint32 sets = cache.sets == 0 ? kFewestSets : cache.sets * 2;
    if (cache.sets != 0 && bytes_of(sets) > get_hash_memory_limit())
        return false;
    auto *blocks = static_cast<KnownBlock *>(MemoryContextAllocExtended(
        TopMemoryContext, bytes_of(sets), MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO));
    if (blocks == nullptr)
        return false;
    // A set's blocks go to two sets, and so find room.
    for (uint64 i = 0; i < uint64{cache.sets} * kWays; i++)
        if (cache.blocks[i].key != 0)
            blocks[uint64{set_of(cache.blocks[i].key, sets)} * kWays + i % kWays] = cache.blocks[i];
    if (cache.blocks != nullptr)
        pfree(cache.blocks);
    cache.blocks = blocks;
    cache.sets = sets;
    return true;
}

uint32 begin_round() {
    if (cache.sets > kFewestSets && bytes_of(cache.sets) > get_hash_memory_limit())
        forget_all();
    if (unlikely(++cache.last_round == 0)) {
        // Rounds of long ago must not be taken for new ones.
        forget_all();
        cache.last_round = 1;
    }
    return cache.last_round;
}

KnownBlock *find_block(uint32 table, BlockNumber block) {
    if (cache.sets == 0)
        return nullptr;
    const uint64 key = key_of(table, block);
    KnownBlock *set = cache.blocks + uint64{set_of(key, cache.sets)} * kWays;
    for (uint32 way = 0; way < kWays; way++)
        if (set[way].key == key)
            return &set[way];
    return nullptr;
}

// The block's own place in its set, or else a free one, or else the one that went unused for longest.
static KnownBlock *choose_way(uint64 key) {
    KnownBlock *set = cache.blocks + uint64{set_of(key, cache.sets)} * kWays;
    KnownBlock *chosen = &set[0];
    for (uint32 way = 0; way < kWays; way++) {
        if (set[way].key == key)
            return &set[way];
        const bool is_better =
            set[way].key == 0 ? chosen->key != 0 : chosen->key != 0 && set[way].round < chosen->round;
        chosen = is_better ? &set[way] : chosen;
    }
    return chosen;
}

KnownBlock *take_place(uint32 table, BlockNumber block, uint32 round) {
    if (cache.sets == 0 && !grow())
        return nullptr;
    const uint64 key = key_of(table, block);
    KnownBlock *chosen = choose_way(key);
    if (chosen->key != 0 && chosen->key != key && cache.used * 2 >= uint64{cache.sets} * kWays && grow())
        chosen = choose_way(key);
    if (chosen->key != 0 && chosen->key != key && chosen->round == round)
        return nullptr;
    cache.used += chosen->key == 0 ? 1 : 0;
    if (chosen->key != key)
        *chosen = {key, round, InvalidBuffer, {InvalidXLogRecPtr, kNothingKnown, {}}};
    return chosen;
}

// ---- tables -----------------------------------------------------------------------------------------------

static bool is_same_place(const PhysicalPlace &a, const PhysicalPlace &b) {
    return a.tablespace == b.tablespace && a.database == b.database && a.relation == b.relation;
}

uint32 number_of_table(Relation heap) {
    const PhysicalPlace place = physical_place(heap);
    for (uint32 i = 0; i < kTables; i++)
        if (tables.table[i].number != 0 && is_same_place(tables.table[i].place, place))
            return tables.table[i].number;
    if (unlikely(++tables.last_number == 0)) {
        forget_all();
        memset(tables.table, 0, sizeof(tables.table));
        tables.last_number = 1;
    }
    tables.table[tables.last_number % kTables] = {place, tables.last_number};
    return tables.last_number;
}

}  // namespace pg_gpu::table
