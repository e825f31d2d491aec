#include "column/kept_results.h"

#include "compat.h"
#include "memory.h"
#include "settings.h"

extern "C" {
#include "catalog/pg_language_d.h"
#include "utils/bytea.h"
#include "utils/inval.h"
}

namespace pg_gpu::column {

namespace {

// Settings that functions show values by though they are declared to be immutable.
struct Settings {
    int float_digits;
    int bytea;
    int interval;
    int date;
    int date_order;
    const pg_tz *zone;

    bool operator==(const Settings &) const = default;
};

struct Entry {
    MemoryContext context;
    Oid index;
    PhysicalRelation physical;
    uint64 run_id;
    int column;
    int kind;
    Settings settings;
    const Node *expression;
    size_t bytes;
    const void *results;
};

// The one that was used last is the last one.
struct Entries {
    MemoryContext context;  // nullptr: none has been kept yet
    Entry **entries;
    int count;
    int room;
    size_t bytes;
    bool is_outdated;  // a function or collation has changed
};

}  // namespace

static Entries kept;

static void note_change(Datum, int, uint32) {
    kept.is_outdated = true;
}

static Settings current_settings() {
    return {extra_float_digits, bytea_output, IntervalStyle, DateStyle, DateOrder, session_timezone};
}

bool gives_lasting_results(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool is_lasting = form->provolatile == PROVOLATILE_IMMUTABLE &&
                            (form->prolang == INTERNALlanguageId || form->prolang == ClanguageId);
    ReleaseSysCache(tuple);
    return is_lasting;
}

// ---- entries ----------------------------------------------------------------------------------------------

static void drop_first() {
    Entry *entry = kept.entries[0];
    kept.count--;
    memmove(kept.entries, kept.entries + 1, static_cast<size_t>(kept.count) * sizeof(Entry *));
    kept.bytes -= entry->bytes;
    MemoryContextDelete(entry->context);
}

static void leave_at_most(size_t bytes) {
    if (kept.is_outdated)
        bytes = 0;
    kept.is_outdated = false;
    while (kept.bytes > bytes)
        drop_first();
}

static bool is_of(const Entry &entry, const KeptKey &key) {
    const PhysicalRelation physical = physical_relation(key.reader->index);
    return entry.run_id == key.reader->run.run_id && entry.column == key.column && entry.kind == key.kind &&
           entry.index == RelationGetRelid(key.reader->index) &&
           memcmp(&entry.physical, &physical, sizeof(physical)) == 0 &&
           entry.settings == current_settings() && equal(entry.expression, key.expression);
}

const void *find_results(const KeptKey &key) {
    leave_at_most(map_memory());
    for (int i = kept.count - 1; i >= 0; i--) {
        Entry *entry = kept.entries[i];
        if (!is_of(*entry, key))
            continue;
        kept.count--;
        memmove(kept.entries + i, kept.entries + i + 1,
                static_cast<size_t>(kept.count - i) * sizeof(Entry *));
        kept.entries[kept.count++] = entry;
        return entry->results;
    }
    return nullptr;
}

static void begin_entries() {
    if (kept.context != nullptr)
        return;
    // Each new table has a type: changes of types mustn't drop everything.
    for (const int cache : {PROCOID, COLLOID})
        CacheRegisterSyscacheCallback(cache, note_change, Datum{0});
    kept.context = AllocSetContextCreate(TopMemoryContext, "pg_gpu kept results", ALLOCSET_DEFAULT_SIZES);
}

static void make_place() {
    constexpr int first_room = 64;
    if (kept.count < kept.room)
        return;
    const int room = Max(2 * kept.room, first_room);
    MemoryContext caller = MemoryContextSwitchTo(kept.context);
    kept.entries = kept.entries == nullptr ? allocate<Entry *>(static_cast<size_t>(room))
                                           : reallocate(kept.entries, static_cast<size_t>(room));
    kept.room = room;
    MemoryContextSwitchTo(caller);
}

// Everything belongs to the statement until nothing can fail any more.
MemoryContext make_room_for_results(size_t bytes) {
    if (bytes > map_memory())
        return nullptr;
    begin_entries();
    leave_at_most(map_memory() - bytes);
    make_place();
    return AllocSetContextCreate(CurrentMemoryContext, "pg_gpu results", ALLOCSET_SMALL_SIZES);
}

void add_results(const KeptKey &key, MemoryContext context, const void *results, size_t bytes) {
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *entry = allocate_zeroed<Entry>(1);
    *entry = {context,
              RelationGetRelid(key.reader->index),
              physical_relation(key.reader->index),
              key.reader->run.run_id,
              key.column,
              key.kind,
              current_settings(),
              static_cast<const Node *>(copyObjectImpl(key.expression)),
              bytes,
              results};
    MemoryContextSwitchTo(caller);
    // A function that is looked up may have changed meanwhile.
    if (kept.is_outdated) {
        MemoryContextDelete(context);
        return;
    }
    MemoryContextSetParent(context, kept.context);
    kept.entries[kept.count++] = entry;
    kept.bytes += bytes;
}

}  // namespace pg_gpu::column
