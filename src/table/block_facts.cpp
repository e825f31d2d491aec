// A set-associative table of groups of blocks, which grows up to what hash tables may have (work_mem).
#include "table/block_facts.h"

#include "compat.h"
#include "settings.h"

namespace pg_gpu::table {

namespace {

constexpr uint32 kWays = 4;
constexpr uint32 kFewestSets = 4;
constexpr uint32 kTables = 64;
constexpr size_t kCacheLine = 64;
constexpr uint32 kFewRowWords = Min(2U, kMaxRowWords);

// Consecutive groups lie in consecutive sets, so that a table as large as all sets together fits exactly.
// Keys lie by themselves, so that a search touches no group but the one it finds.
struct Cache {
    uint64 *keys;  // by place; 0: free
    FactsGroup **groups;
    uint32 sets;
    uint32 used;
    uint32 row_words;
    uint64 last_request;
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

static Cache cache = {nullptr, nullptr, 0, 0, kFewRowWords, 0};
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
           // A serializable transaction must lock each row it reads, or look at it for conflicts.
           !IsolationIsSerializable() &&
           // Rows that this snapshot sees may be gone; whoever reads the page is told.
           !do_snapshots_expire();
}

// ---- the table of groups ----------------------------------------------------------------------------------

static uint64 key_of(uint32 table, uint32 number) {
    return uint64{table} << 32 | number;
}

// There is a power of two of sets.
static uint32 first_place(uint64 key, uint32 sets) {
    constexpr uint32 kSpread = 0x9e3779b1;
    return ((static_cast<uint32>(key >> 32) * kSpread + static_cast<uint32>(key)) & (sets - 1)) * kWays;
}

static size_t group_bytes() {
    return sizeof(FactsGroup) + size_t{kGroupBlocks} * cache.row_words * sizeof(uint64);
}

// Returns a power of two times the fewest, so that what lay in a set has room in two after the table has
// grown: no group that a request is about goes.
static uint32 max_sets() {
    const size_t bytes_of_set = kWays * (group_bytes() + sizeof(uint64) + sizeof(FactsGroup *));
    const size_t room = Min(get_hash_memory_limit() / bytes_of_set, size_t{PG_INT32_MAX / kWays});
    return kFewestSets * pg_prevpower2_32(Max(static_cast<uint32>(room) / kFewestSets, 1U));
}

uint32 facts_row_words() {
    return cache.row_words;
}

void forget_block_facts() {
    for (uint32 place = 0; place < cache.sets * kWays; place++)
        if (cache.groups[place] != nullptr)
            pfree(cache.groups[place]);
    if (cache.sets > 0) {
        pfree(cache.keys);
        pfree(cache.groups);
    }
    cache.keys = nullptr;
    cache.groups = nullptr;
    cache.sets = 0;
    cache.used = 0;
}

void widen_facts_rows() {
    forget_block_facts();
    cache.row_words = kMaxRowWords;
}

static void *allocate_for_session(size_t bytes) {
    return MemoryContextAllocExtended(TopMemoryContext, bytes,
                                      MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM | MCXT_ALLOC_ZERO);
}

static bool grow() {
    const uint32 sets = cache.sets == 0 ? kFewestSets : cache.sets * 2;
    Assert((sets & (sets - 1)) == 0);
    if (sets > max_sets())
        return false;
    auto *keys = static_cast<uint64 *>(allocate_for_session(size_t{sets} * kWays * sizeof(uint64)));
    auto **groups =
        static_cast<FactsGroup **>(allocate_for_session(size_t{sets} * kWays * sizeof(FactsGroup *)));
    if (keys == nullptr || groups == nullptr) {
        if (keys != nullptr)
            pfree(keys);
        return false;
    }
    const Cache before = cache;
    cache.keys = keys;
    cache.groups = groups;
    cache.sets = sets;
    cache.used = 0;
    for (uint32 old = 0; old < before.sets * kWays; old++) {
        if (before.keys[old] == 0)
            continue;
        uint32 place = first_place(before.keys[old], sets);
        const uint32 end = place + kWays;
        while (place < end && keys[place] != 0)
            place++;
        Assert(place < end);
        keys[place] = before.keys[old];
        groups[place] = before.groups[old];
        cache.used++;
    }
    if (before.sets > 0) {
        pfree(before.keys);
        pfree(before.groups);
    }
    return true;
}

uint64 begin_facts_request() {
    if (cache.sets > Max(max_sets(), kFewestSets))
        forget_block_facts();
    return ++cache.last_request;
}

FactsGroup *find_group(uint32 table, uint32 number) {
    if (cache.sets == 0)
        return nullptr;
    const uint64 key = key_of(table, number);
    const uint32 first = first_place(key, cache.sets);
    for (uint32 place = first; place < first + kWays; place++)
        if (cache.keys[place] == key)
            return cache.groups[place];
    return nullptr;
}

void prefetch_group(uint32 table, uint32 number, uint64 blocks) {
    FactsGroup *group = find_group(table, number);
    if (group == nullptr)
        return;
    for (size_t byte = 0; byte < offsetof(FactsGroup, buffer); byte += kCacheLine)
        __builtin_prefetch(reinterpret_cast<const char *>(group) + byte);
    for (uint64 left = blocks; left != 0; left &= left - 1)
        __builtin_prefetch(rows_of(group, static_cast<uint32>(__builtin_ctzll(left))));
}

// Returns the group's own place in its set, or else a free one, or else that of the one that went unused for
// longest.
static uint32 choose_place(uint64 key) {
    const uint32 first = first_place(key, cache.sets);
    uint32 chosen = first;
    for (uint32 place = first; place < first + kWays; place++) {
        if (cache.keys[place] == key)
            return place;
        const bool chosen_is_free = cache.keys[chosen] == 0;
        const bool is_better = cache.keys[place] == 0 ? !chosen_is_free
                                                      : !chosen_is_free && cache.groups[place]->request <
                                                                               cache.groups[chosen]->request;
        chosen = is_better ? place : chosen;
    }
    return chosen;
}

FactsGroup *take_group(uint32 table, uint32 number, uint64 request) {
    if (cache.sets == 0 && !grow())
        return nullptr;
    const uint64 key = key_of(table, number);
    uint32 place = choose_place(key);
    if (cache.keys[place] != 0 && cache.keys[place] != key && cache.used * 2 >= cache.sets * kWays && grow())
        place = choose_place(key);
    FactsGroup *group = cache.groups[place];
    if (cache.keys[place] == key)
        return group;
    if (cache.keys[place] != 0 && group->request == request)
        return nullptr;
    if (group == nullptr) {
        group = static_cast<FactsGroup *>(allocate_for_session(group_bytes()));
        if (group == nullptr)
            return nullptr;
        cache.groups[place] = group;
        cache.used++;
    }
    memset(group, 0, sizeof(FactsGroup));
    group->key = cache.keys[place] = key;
    group->request = request;
    return group;
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
        forget_block_facts();
        memset(tables.table, 0, sizeof(tables.table));
        tables.last_number = 1;
    }
    tables.table[tables.last_number % kTables] = {place, tables.last_number};
    return tables.last_number;
}

}  // namespace pg_gpu::table
