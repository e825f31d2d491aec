// A few indexes' knowledge, forgotten when PostgreSQL says that the index has changed.
#include "table/dead_entries.h"

#include <algorithm>

#include "memory.h"

extern "C" {
#include "utils/inval.h"
}

namespace pg_gpu::table {

static constexpr int kIndexes = 8;
static DeadEntries known_indexes[kIndexes] = {};
static uint64 last_use = 0;

static void forget(DeadEntries *known) {
    if (known->entries != nullptr)
        pfree(known->entries);
    if (known->rows != nullptr)
        pfree(known->rows);
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
    return a.encoded_tid < b.encoded_tid;
}

const DeadEntry *find_dead_entry(const DeadEntries &known, uint64 encoded_tid) {
    DeadEntry wanted = {};
    wanted.encoded_tid = encoded_tid;
    const DeadEntry *end = known.entries + known.count;
    const DeadEntry *found = std::lower_bound<const DeadEntry *>(known.entries, end, wanted, is_before);
    return found != end && found->encoded_tid == encoded_tid ? found : nullptr;
}

// Makes room for more behind `count` values, which may be none.
template <typename Value>
static Value *with_room(Value *values, uint64 count, uint64 more) {
    MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext);
    Value *result =
        values == nullptr ? allocate<Value>(count + more + 1) : reallocate(values, count + more + 1);
    MemoryContextSwitchTo(caller);
    return result;
}

void add_dead_entries(DeadEntries *known, const DeadEntry *entries, uint64 count, const uint64 *rows,
                      uint64 row_count, uint64 row_words) {
    known->entries = with_room(known->entries, known->count, count);
    known->rows = with_room(known->rows, known->row_count * row_words, row_count * row_words);
    if (row_count > 0)
        memcpy(known->rows + known->row_count * row_words, rows, row_count * row_words * sizeof(uint64));
    for (uint64 i = 0; i < count; i++) {
        DeadEntry entry = entries[i];
        if (entry.row != DeadEntry::kNoRow)
            entry.row += known->row_count;
        known->entries[known->count + i] = entry;
    }
    known->count += count;
    known->row_count += row_count;
    std::sort(known->entries, known->entries + known->count, is_before);
}

}  // namespace pg_gpu::table
