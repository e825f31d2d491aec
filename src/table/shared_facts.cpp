// A set-associative table of groups of blocks. Each set has a lock, which is held while words are copied and
// for nothing else.
#include "table/shared_facts.h"

#include "shared_memory.h"

namespace pg_gpu::table {

namespace {

constexpr uint32 kWays = 8;
constexpr uint32 kFewestSets = 8;
// A thousand sets of 8 groups each hold 4 GB of table in 30 MB.
constexpr uint32 kMaxSets = 2048;
// The number of a group's blocks of which it is noted that others have told something last.
constexpr uint32 kRecent = 32;
// Groups that were looked for in the last so many seconds stay: where there is no room for all, the first
// ones are of use, instead of none.
constexpr uint32 kSecondsOfUse = 2;
// Requests about few blocks of a group and about all of them alternate.
constexpr uint32 kCachedChecks = 4;

struct GroupKey {
    PhysicalPlace file;  // its relation is 0: free
    uint32 number;
};

// These blocks' pages were found unchanged after round `round` had begun, and so in it and all before it.
struct Checks {
    uint64 round;
    uint64 unchanged;
};

struct SharedGroup {
    uint64 known;
    uint64 by_moment;
    uint64 plain;
    Checks checks[kCachedChecks];  // the latest first
    uint8 recent[kRecent];         // change number n told of the block in place recent[n % kRecent]
    Buffer buffer[kGroupBlocks];
    XLogRecPtr lsn[kGroupBlocks];
    uint64 since[kGroupBlocks];
    uint64 rows[kGroupBlocks][kMaxRowWords];
};

// Keys lie by themselves, so that a search touches no group but the one it finds.
struct SharedSet {
    LWLock lock;
    uint32 used[kWays];  // in which second it was looked for last
    GroupKey keys[kWays];
};

// The number of the last change of what is known of the group in a place. They never begin again: who has
// seen what is known under a version has nothing to learn while it is the same.
struct GroupChanges {
    pg_atomic_uint64 version;
    pg_atomic_uint64 checks;  // the same of the blocks that were found unchanged
};

struct AllFacts {
    int tranche;
    uint32 sets;
    SharedSet set[FLEXIBLE_ARRAY_MEMBER];
    // Behind them lie the changes of all first ways, of all second ones and so on: a session that asks of all
    // of a table's groups whether they have changed reads what lies together. Then come the groups, which
    // nobody touches until they are needed.
};

}  // namespace

static uint32 wanted_sets() {
    // More groups than fit into the buffers would be of no use, since pages are looked at there.
    const auto sets = static_cast<uint32>(NBuffers) / (kGroupBlocks * kWays);
    return Max(Min(sets, kMaxSets), kFewestSets);
}

static size_t bytes_before_changes(uint32 sets) {
    return MAXALIGN(offsetof(AllFacts, set) + sets * sizeof(SharedSet));
}

static size_t bytes_before_groups(uint32 sets) {
    return bytes_before_changes(sets) + size_t{sets} * kWays * sizeof(GroupChanges);
}

static GroupChanges *changes_at(AllFacts *all, uint32 set, uint32 way) {
    auto *changes =
        reinterpret_cast<GroupChanges *>(reinterpret_cast<char *>(all) + bytes_before_changes(all->sets));
    return &changes[size_t{way} * all->sets + set];
}

static void add(pg_atomic_uint64 *number, uint64 more) {
    pg_atomic_write_u64(number, pg_atomic_read_u64(number) + more);
}

static void initialise(void *place) {
    auto *all = static_cast<AllFacts *>(place);
    const uint32 sets = wanted_sets();
    memset(place, 0, bytes_before_groups(sets));
    all->tranche = LWLockNewTrancheId();
    all->sets = sets;
    for (uint32 i = 0; i < sets; i++) {
        LWLockInitialize(&all->set[i].lock, all->tranche);
        for (uint32 way = 0; way < kWays; way++) {
            pg_atomic_init_u64(&changes_at(all, i, way)->version, 0);
            pg_atomic_init_u64(&changes_at(all, i, way)->checks, 0);
        }
    }
}

static SharedStructure structure = {"pg_gpu block facts", 0, initialise, nullptr, false};

void reserve_shared_facts() {
    const uint32 sets = wanted_sets();
    structure.bytes = bytes_before_groups(sets) + size_t{sets} * kWays * sizeof(SharedGroup);
    reserve_shared(structure);
}

static AllFacts *all_facts() {
    if (structure.bytes == 0)
        return nullptr;
    static bool is_registered = false;
    auto *all = static_cast<AllFacts *>(find_shared(&structure));
    if (all != nullptr && !is_registered) {
        LWLockRegisterTranche(all->tranche, "pg_gpu_block_facts");
        is_registered = true;
    }
    return all;
}

// ---- groups -----------------------------------------------------------------------------------------------

static bool is_key(const GroupKey &key, const PhysicalPlace &file, uint32 number) {
    return key.number == number && key.file.relation == file.relation && key.file.database == file.database &&
           key.file.tablespace == file.tablespace;
}

// Returns a group's set. Consecutive groups lie in consecutive sets, so that a table as large as all sets
// together fits exactly.
static uint32 set_of(const AllFacts &all, const PhysicalPlace &file, uint32 number) {
    const uint32 hash =
        hash_combine(murmurhash32(file.relation), hash_combine(file.database, file.tablespace));
    return (hash + number) % all.sets;
}

static SharedGroup *group_at(AllFacts *all, uint32 set, uint32 way) {
    auto *groups =
        reinterpret_cast<SharedGroup *>(reinterpret_cast<char *>(all) + bytes_before_groups(all->sets));
    return &groups[set * kWays + way];
}

// The set must be locked. Returns kWays when the group isn't there.
static uint32 find_way(const SharedSet &set, const PhysicalPlace &file, uint32 number) {
    uint32 way = 0;
    while (way < kWays && !is_key(set.keys[way], file, number))
        way++;
    return way;
}

FactsFile facts_file(Relation heap, uint64 round) {
    return {physical_place(heap), round, static_cast<uint32>(GetCurrentTimestamp() / USECS_PER_SEC)};
}

// Sessions that note different seconds at a time do no harm.
static void note_use(SharedSet *set, uint32 way, uint32 second) {
    if (set->used[way] != second)
        set->used[way] = second;
}

// Others may have noted a later second than that in which this request began.
static uint32 seconds_unused(const SharedSet &set, uint32 way, uint32 second) {
    return static_cast<uint32>(Max(static_cast<int32>(second - set.used[way]), 0));
}

// Returns the group's own place, or else a free one, or else that of the one that went unused for longest;
// kWays when all are in use. The set is locked exclusively.
static uint32 take_way(SharedSet *set, const FactsFile &file, uint32 number, AllFacts *all) {
    const uint32 own = find_way(*set, file.place, number);
    if (own < kWays)
        return own;
    uint32 chosen = 0;
    for (uint32 way = 0; way < kWays && OidIsValid(set->keys[chosen].file.relation); way++)
        if (!OidIsValid(set->keys[way].file.relation) ||
            seconds_unused(*set, way, file.second) > seconds_unused(*set, chosen, file.second))
            chosen = way;
    if (OidIsValid(set->keys[chosen].file.relation) &&
        seconds_unused(*set, chosen, file.second) < kSecondsOfUse)
        return kWays;
    set->keys[chosen] = {file.place, number};
    SharedGroup *group = group_at(all, static_cast<uint32>(set - all->set), chosen);
    group->known = 0;
    memset(group->checks, 0, sizeof(group->checks));
    // Sessions that know the group that was here, or this one from before it went, look at all of it.
    add(&changes_at(all, static_cast<uint32>(set - all->set), chosen)->version, kRecent + 1);
    return chosen;
}

// ---- what is known ----------------------------------------------------------------------------------------

static uint64 bit_at(uint32 place) {
    return UINT64CONST(1) << place;
}

// Tells whether one of two findings about a page is worth more: the one that holds for more snapshots.
static bool is_worth_more(bool by_moment, uint64 since, bool than_by_moment, uint64 than_since) {
    return by_moment == than_by_moment ? since < than_since : than_by_moment;
}

// Is what others know of a block news?
static bool is_news(const SharedGroup &shared, const FactsGroup &group, uint32 place) {
    const uint64 bit = bit_at(place);
    if (shared.lsn[place] < group.lsn[place])
        return false;
    return shared.lsn[place] != group.lsn[place] || (group.known & bit) == 0 ||
           is_worth_more((shared.by_moment & bit) != 0, shared.since[place], (group.by_moment & bit) != 0,
                         group.since[place]);
}

static uint64 with_bit(uint64 mask, uint64 bit, uint64 from) {
    return (mask & ~bit) | (from & bit);
}

static bool fits(const uint64 *rows) {
    for (uint32 word = facts_row_words(); word < kMaxRowWords; word++)
        if (rows[word] != 0)
            return false;
    return true;
}

// Others have written it a moment ago, so it lies far away: all of it comes together.
static uint64 find_news(const SharedGroup &shared, const FactsGroup &group, uint64 blocks) {
    uint64 news = 0;
    for (uint64 left = shared.known & blocks; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        if (!is_news(shared, group, place))
            continue;
        news |= bit_at(place);
        __builtin_prefetch(shared.rows[place]);
        __builtin_prefetch(&shared.since[place]);
    }
    return news;
}

// Learns what is news of some blocks, but for those that hold in the group's round.
static bool learn(const SharedGroup &shared, uint64 blocks, FactsGroup *group) {
    bool all_fit = true;
    const uint64 news = find_news(shared, *group, blocks);
    group->missed = (group->missed & ~blocks) | (news & group->holds);
    for (uint64 left = news & ~group->holds; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        const uint64 bit = bit_at(place);
        if (!fits(shared.rows[place])) {
            group->missed |= bit;
            all_fit = false;
            continue;
        }
        if (shared.lsn[place] != group->lsn[place])
            group->proven &= ~bit;
        group->known |= bit;
        group->by_moment = with_bit(group->by_moment, bit, shared.by_moment);
        group->plain = with_bit(group->plain, bit, shared.plain);
        group->lsn[place] = shared.lsn[place];
        group->since[place] = shared.since[place];
        note_since(group, (shared.by_moment & bit) != 0, shared.since[place]);
        group->buffer[place] = shared.buffer[place];
        memcpy(rows_of(group, place), shared.rows[place], facts_row_words() * sizeof(uint64));
    }
    return all_fit;
}

// Returns those of some blocks of which both know the same page.
static uint64 same_pages(const SharedGroup &shared, const FactsGroup &group, uint64 blocks) {
    uint64 same = 0;
    for (uint64 left = blocks & shared.known & group.known; left != 0; left &= left - 1) {
        const auto place = static_cast<uint32>(__builtin_ctzll(left));
        same |= shared.lsn[place] == group.lsn[place] ? bit_at(place) : 0;
    }
    return same;
}

// Returns the blocks that others found unchanged in a round or since.
static uint64 unchanged_since(const SharedGroup &shared, uint64 round) {
    uint64 unchanged = 0;
    for (const Checks &checks : shared.checks)
        unchanged |= checks.round >= round ? checks.unchanged : 0;
    return unchanged;
}

// Keeps those earlier looks that say of some block what later ones don't.
static void add_looks(SharedGroup *shared, const Checks &checks) {
    Checks kept[kCachedChecks + 1] = {};
    uint32 count = 0;
    bool is_added = false;
    uint64 said = 0;
    const auto keep = [&](const Checks &next) {
        if ((next.unchanged & ~said) == 0)
            return;
        kept[count++] = next;
        said |= next.unchanged;
    };
    for (const Checks &other : shared->checks) {
        if (!is_added && checks.round >= other.round) {
            keep(checks);
            is_added = true;
        }
        keep(other);
    }
    if (!is_added)
        keep(checks);
    memcpy(shared->checks, kept, sizeof(shared->checks));
}

// Returns the blocks of which others may have told something since the session learned of the group in this
// place.
static uint64 reported_since(const SharedGroup &shared, const FactsGroup &group, uint32 way, uint64 version) {
    if (way != group.shared_way || version - group.shared_version > kRecent)
        return PG_UINT64_MAX;
    uint64 blocks = group.missed;
    for (uint64 change = group.shared_version + 1; change <= version; change++)
        blocks |= bit_at(shared.recent[change % kRecent]);
    return blocks;
}

// Has nothing been told of the group in this place since the session learned of it?
static bool has_learned_all(GroupChanges &changes, const FactsGroup &group) {
    return pg_atomic_read_u64(&changes.version) == group.shared_version &&
           pg_atomic_read_u64(&changes.checks) == group.shared_checks;
}

bool learn_shared_facts(const FactsFile &file, FactsGroup *group, uint64 *unchanged) {
    *unchanged = 0;
    AllFacts *all = all_facts();
    if (all == nullptr)
        return true;
    const auto number = static_cast<uint32>(group->key);
    const uint32 at = set_of(*all, file.place, number);
    SharedSet *set = &all->set[at];
    if (group->shared_way < kWays && (group->missed & ~group->holds) == 0 &&
        has_learned_all(*changes_at(all, at, group->shared_way), *group)) {
        note_use(set, group->shared_way, file.second);
        return true;
    }
    LWLockAcquire(&set->lock, LW_SHARED);
    const uint32 way = find_way(*set, file.place, number);
    bool all_fit = true;
    if (way < kWays) {
        const SharedGroup &shared = *group_at(all, at, way);
        const uint64 version = pg_atomic_read_u64(&changes_at(all, at, way)->version);
        const uint64 reported = reported_since(shared, *group, way, version);
        all_fit = learn(shared, reported, group);
        group->same = (group->same & ~reported) | same_pages(shared, *group, reported);
        if (file.round != 0)
            *unchanged = unchanged_since(shared, file.round) & group->same;
        group->shared_version = version;
        group->shared_checks = pg_atomic_read_u64(&changes_at(all, at, way)->checks);
        note_use(set, way, file.second);
    }
    LWLockRelease(&set->lock);
    group->shared_way = way;
    return all_fit;
}

void prefetch_changes(const FactsFile &file, uint32 number) {
    AllFacts *all = all_facts();
    if (all != nullptr)
        __builtin_prefetch(&all->set[set_of(*all, file.place, number)]);
}

bool has_shared_facts(const FactsFile &file, uint32 number) {
    AllFacts *all = all_facts();
    if (all == nullptr)
        return false;
    SharedSet *set = &all->set[set_of(*all, file.place, number)];
    LWLockAcquire(&set->lock, LW_SHARED);
    const bool found = find_way(*set, file.place, number) < kWays;
    LWLockRelease(&set->lock);
    return found;
}

bool find_shared_facts(const FactsFile &file, BlockNumber block, XLogRecPtr lsn, BlockFacts *facts) {
    AllFacts *all = all_facts();
    if (all == nullptr)
        return false;
    const uint32 number = block / kGroupBlocks;
    const uint32 place = block % kGroupBlocks;
    const uint32 at = set_of(*all, file.place, number);
    SharedSet *set = &all->set[at];
    LWLockAcquire(&set->lock, LW_SHARED);
    const uint32 way = find_way(*set, file.place, number);
    const SharedGroup *shared = way < kWays ? group_at(all, at, way) : nullptr;
    const bool found = shared != nullptr && (shared->known & bit_at(place)) != 0 && shared->lsn[place] == lsn;
    if (found) {
        *facts = {lsn,
                  shared->since[place],
                  (shared->by_moment & bit_at(place)) != 0,
                  (shared->plain & bit_at(place)) != 0,
                  {}};
        memcpy(facts->rows, shared->rows[place], sizeof(facts->rows));
    }
    LWLockRelease(&set->lock);
    return found;
}

// The caller has the set locked exclusively, so that nobody sees half of a change. No error can be raised on
// the way.
static void put_facts(SharedGroup *shared, uint32 place, Buffer buffer, const BlockFacts &facts,
                      uint64 read_in) {
    const uint64 bit = bit_at(place);
    const bool is_same_page = (shared->known & bit) != 0 && shared->lsn[place] == facts.lsn;
    // The page's reader found it so in all rounds up to `read_in`. Looks of later rounds were at another
    // page.
    for (Checks &checks : shared->checks) {
        if (checks.round <= read_in)
            checks.unchanged |= bit;
        else if (!is_same_page)
            checks.unchanged &= ~bit;
    }
    shared->known |= bit;
    shared->by_moment = with_bit(shared->by_moment, bit, facts.by_moment ? bit : 0);
    shared->plain = with_bit(shared->plain, bit, facts.plain ? bit : 0);
    shared->buffer[place] = buffer;
    shared->lsn[place] = facts.lsn;
    shared->since[place] = facts.since;
    memcpy(shared->rows[place], facts.rows, sizeof(facts.rows));
}

static void note_change(GroupChanges *changes, SharedGroup *shared, uint32 place) {
    const uint64 change = pg_atomic_read_u64(&changes->version) + 1;
    shared->recent[change % kRecent] = static_cast<uint8>(place);
    pg_atomic_write_u64(&changes->version, change);
}

// A page that was read by somebody slow may have been changed, and read again, meanwhile.
static bool is_worth_keeping(const SharedGroup &shared, uint32 place, const BlockFacts &facts) {
    const uint64 bit = bit_at(place);
    if ((shared.known & bit) == 0 || shared.lsn[place] < facts.lsn)
        return true;
    return shared.lsn[place] == facts.lsn &&
           is_worth_more(facts.by_moment, facts.since, (shared.by_moment & bit) != 0, shared.since[place]);
}

void share_facts(const FactsFile &file, BlockNumber block, Buffer buffer, const BlockFacts &facts,
                 uint64 read_in) {
    AllFacts *all = all_facts();
    if (all == nullptr)
        return;
    const uint32 number = block / kGroupBlocks;
    const uint32 place = block % kGroupBlocks;
    const uint32 at = set_of(*all, file.place, number);
    SharedSet *set = &all->set[at];
    LWLockAcquire(&set->lock, LW_EXCLUSIVE);
    const uint32 way = take_way(set, file, number, all);
    SharedGroup *shared = way < kWays ? group_at(all, at, way) : nullptr;
    if (shared != nullptr && is_worth_keeping(*shared, place, facts)) {
        put_facts(shared, place, buffer, facts, read_in);
        note_change(changes_at(all, at, way), shared, place);
        note_use(set, way, file.second);
    }
    LWLockRelease(&set->lock);
}

void share_unchanged(const FactsFile &file, const FactsGroup &group, uint64 unchanged, uint64 looked_in) {
    AllFacts *all = looked_in == 0 || unchanged == 0 ? nullptr : all_facts();
    if (all == nullptr)
        return;
    const auto number = static_cast<uint32>(group.key);
    const uint32 at = set_of(*all, file.place, number);
    SharedSet *set = &all->set[at];
    LWLockAcquire(&set->lock, LW_EXCLUSIVE);
    const uint32 way = find_way(*set, file.place, number);
    if (way < kWays) {
        SharedGroup *shared = group_at(all, at, way);
        const bool has_learned =
            way == group.shared_way &&
            pg_atomic_read_u64(&changes_at(all, at, way)->version) == group.shared_version;
        const uint64 same = has_learned ? unchanged & group.same : same_pages(*shared, group, unchanged);
        add_looks(shared, {looked_in, same});
        add(&changes_at(all, at, way)->checks, 1);
    }
    LWLockRelease(&set->lock);
}

}  // namespace pg_gpu::table
