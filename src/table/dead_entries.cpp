#include "table/dead_entries.h"

#include <algorithm>

#include "table/known_indexes.h"

namespace pg_gpu::table {

static void release(DeadEntries *known) {
    if (known->entries != nullptr)
        pfree(known->entries);
    if (known->rows != nullptr)
        pfree(known->rows);
}

static KnownIndexes<DeadEntries, release> known_indexes;

DeadEntries *known_dead_entries(Relation index, uint64 vacuum_seq) {
    DeadEntries *found = known_indexes.find(index);
    if (found == nullptr || found->vacuum_seq != vacuum_seq)
        found = known_indexes.begin(index, vacuum_seq);
    known_indexes.use(found);
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
