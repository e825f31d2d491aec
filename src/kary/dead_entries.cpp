// A few indexes' knowledge, forgotten when PostgreSQL says that the index has changed.
#include "kary/dead_entries.h"

#include <algorithm>

extern "C" {
#include "utils/inval.h"
}

namespace pg_gpu::kary {

static constexpr int kIndexes = 8;
static DeadEntries known_indexes[kIndexes] = {};
static uint64 last_use = 0;

static void forget(DeadEntries *known) {
    if (known->entries != nullptr)
        pfree(known->entries);
    *known = {};
}

// TRUNCATE may empty an index in place, and its number may be given to another one.
static void forget_changed(Datum, Oid relation) {
    for (DeadEntries &known : known_indexes)
        if (known.index != InvalidOid && (relation == InvalidOid || relation == known.index))
            forget(&known);
}

static void register_once() {
    static bool registered = false;
    if (!registered)
        CacheRegisterRelcacheCallback(forget_changed, Datum{0});
    registered = true;
}

DeadEntries *known_dead_entries(Relation index, uint64 vacuum_seq) {
    register_once();
    DeadEntries *found = nullptr;
    DeadEntries *oldest = &known_indexes[0];
    for (DeadEntries &known : known_indexes) {
        if (known.index == RelationGetRelid(index))
            found = &known;
        if (known.used < oldest->used)
            oldest = &known;
    }
    if (found == nullptr || found->vacuum_seq != vacuum_seq) {
        if (found == nullptr)
            found = oldest;
        forget(found);
        found->index = RelationGetRelid(index);
        found->vacuum_seq = vacuum_seq;
    }
    found->used = ++last_use;
    return found;
}

static bool is_before(const DeadEntry &a, const DeadEntry &b) {
    return a.place < b.place;
}

const DeadEntry *find_dead_entry(const DeadEntries &known, uint64 place) {
    DeadEntry wanted = {};
    wanted.place = place;
    const DeadEntry *end = known.entries + known.count;
    const DeadEntry *found = std::lower_bound<const DeadEntry *>(known.entries, end, wanted, is_before);
    return found != end && found->place == place ? found : nullptr;
}

void add_dead_entries(DeadEntries *known, const DeadEntry *entries, uint64 count) {
    MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
    const uint64 room = known->count + count;
    known->entries = known->entries == nullptr ? allocate<DeadEntry>(room) : reallocate(known->entries, room);
    MemoryContextSwitchTo(caller);
    memcpy(known->entries + known->count, entries, count * sizeof(DeadEntry));
    known->count = room;
    std::sort(known->entries, known->entries + room, is_before);
}

}  // namespace pg_gpu::kary
