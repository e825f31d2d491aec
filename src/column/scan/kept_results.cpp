#include "column/scan/kept_results.h"

#include "compat.h"
#include "memory.h"
#include "settings.h"

extern "C" {
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_language_d.h"
#include "utils/builtins.h"
#include "utils/bytea.h"
#include "utils/guc.h"
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
    bool quotes_all;
    const pg_tz *zone;
    const char *abbreviations;  // which names of zones there are

    bool operator==(const Settings &other) const {
        return float_digits == other.float_digits && bytea == other.bytea && interval == other.interval &&
               date == other.date && date_order == other.date_order && quotes_all == other.quotes_all &&
               zone == other.zone && strcmp(abbreviations, other.abbreviations) == 0;
    }
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
    uint64 transaction;  // that uses it where it lies: it must stay until that ends
    bool is_outdated;    // and isn't found any more
};

// The one that was used last is the last one.
struct Entries {
    MemoryContext context;  // nullptr: none has been kept yet
    Entry **entries;
    int count;
    int room;
    size_t bytes;
    uint64 changes;  // of functions and other objects that results depend on
    uint64 changes_seen;
    uint64 transaction;  // the session's present one, counted from 1 on
};

// Each has a memory context and is looked at when results are looked for.
constexpr int kMaxEntries = 1024;

}  // namespace

static Entries kept;

static void note_change(Datum, int, uint32) {
    kept.changes++;
}

static void note_transaction_end(XactEvent event, void *) {
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE ||
        event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_PARALLEL_ABORT)
        kept.transaction++;
}

static Settings current_settings() {
    const char *abbreviations = GetConfigOption("timezone_abbreviations", true, false);
    return {extra_float_digits, bytea_output,
            IntervalStyle,      DateStyle,
            DateOrder,          quote_all_identifiers,
            session_timezone,   abbreviations == nullptr ? "" : abbreviations};
}

uint64 count_changes() {
    return kept.changes;
}

bool gives_lasting_results(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool is_lasting = function < FirstUnpinnedObjectId && form->provolatile == PROVOLATILE_IMMUTABLE &&
                            form->prolang == INTERNALlanguageId;
    ReleaseSysCache(tuple);
    return is_lasting;
}

// ---- entries ----------------------------------------------------------------------------------------------

// Drops the first ones until so many bytes and entries are left, or only such that are in use.
static void leave_at_most(size_t bytes, int entries) {
    const bool all = kept.changes != kept.changes_seen;
    kept.changes_seen = kept.changes;
    int left = 0;
    const int count = kept.count;
    for (int i = 0; i < count; i++) {
        Entry *entry = kept.entries[i];
        entry->is_outdated = entry->is_outdated || all;
        const bool goes = entry->is_outdated || kept.bytes > bytes || kept.count > entries;
        if (!goes || entry->transaction == kept.transaction) {
            kept.entries[left++] = entry;
            continue;
        }
        kept.bytes -= entry->bytes;
        kept.count--;
        MemoryContextDelete(entry->context);
    }
}

static bool is_of_key(const Entry &entry, const KeptKey &key) {
    return entry.run_id == key.run_id && entry.column == key.column && entry.kind == key.kind &&
           entry.index == RelationGetRelid(key.index) && !entry.is_outdated;
}

static Entry *find_entry(const KeptKey &key) {
    leave_at_most(map_memory(), kMaxEntries);
    const PhysicalRelation physical = physical_relation(key.index);
    const Settings settings = current_settings();
    for (int i = kept.count - 1; i >= 0; i--) {
        Entry *entry = kept.entries[i];
        if (!is_of_key(*entry, key) || memcmp(&entry->physical, &physical, sizeof(physical)) != 0 ||
            !(entry->settings == settings) || !equal(entry->expression, key.expression))
            continue;
        memmove(kept.entries + i, kept.entries + i + 1,
                static_cast<size_t>(kept.count - 1 - i) * sizeof(Entry *));
        kept.entries[kept.count - 1] = entry;
        return entry;
    }
    return nullptr;
}

const void *find_results(const KeptKey &key) {
    const Entry *entry = find_entry(key);
    return entry == nullptr ? nullptr : entry->results;
}

const void *use_results(const KeptKey &key) {
    Entry *entry = find_entry(key);
    if (entry == nullptr)
        return nullptr;
    entry->transaction = kept.transaction;
    return entry->results;
}

static void begin_entries() {
    if (kept.context != nullptr)
        return;
    // Each new table has a type: changes of types mustn't drop everything.
    for (const int cache :
         {PROCOID, COLLOID, TSCONFIGOID, TSCONFIGMAP, TSDICTOID, TSPARSEROID, TSTEMPLATEOID})
        CacheRegisterSyscacheCallback(cache, note_change, Datum{0});
    RegisterXactCallback(note_transaction_end, nullptr);
    kept.transaction = 1;
    kept.context = AllocSetContextCreate(TopMemoryContext, "pg_gpu kept results", ALLOCSET_DEFAULT_SIZES);
}

// Makes room for one more entry.
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
MemoryContext begin_results(size_t bytes) {
    return bytes > map_memory()
               ? nullptr
               : AllocSetContextCreate(CurrentMemoryContext, "pg_gpu results", ALLOCSET_SMALL_SIZES);
}

// False: there is no room for them.
static bool add_entry(const KeptKey &key, MemoryContext context, const void *results, uint64 changes,
                      bool is_in_use) {
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *entry = allocate_zeroed<Entry>(1);
    entry->context = context;
    entry->index = RelationGetRelid(key.index);
    entry->physical = physical_relation(key.index);
    entry->run_id = key.run_id;
    entry->column = key.column;
    entry->kind = key.kind;
    entry->settings = current_settings();
    entry->settings.abbreviations = pstrdup(entry->settings.abbreviations);
    entry->expression = static_cast<const Node *>(copyObjectImpl(key.expression));
    entry->results = results;
    entry->bytes = MemoryContextMemAllocated(context, true);
    MemoryContextSwitchTo(caller);
    begin_entries();
    leave_at_most(map_memory() - Min(entry->bytes, map_memory()), kMaxEntries - 1);
    make_place();
    // A function that is looked up may have changed meanwhile. Others that are in use may take all of the
    // room.
    if (kept.changes != changes || kept.bytes + entry->bytes > map_memory() || kept.count >= kMaxEntries)
        return false;
    entry->transaction = is_in_use ? kept.transaction : 0;
    MemoryContextSetParent(context, kept.context);
    kept.entries[kept.count++] = entry;
    kept.bytes += entry->bytes;
    return true;
}

void add_results(const KeptKey &key, MemoryContext context, const void *results, uint64 changes) {
    if (!add_entry(key, context, results, changes, false))
        MemoryContextDelete(context);
}

bool share_results(const KeptKey &key, MemoryContext context, const void *results, uint64 changes) {
    return add_entry(key, context, results, changes, true);
}

static Entry *entry_of(const void *results) {
    for (int i = kept.count - 1; i >= 0; i--)
        if (kept.entries[i]->results == results)
            return kept.entries[i];
    return nullptr;
}

// More than that would make the results leave as soon as others are looked for.
bool may_grow(const void *results, size_t bytes) {
    const Entry *entry = entry_of(results);
    return entry != nullptr && !entry->is_outdated && entry->bytes + bytes <= map_memory() / 2;
}

void note_growth(const void *results) {
    Entry *entry = entry_of(results);
    if (entry == nullptr)
        return;
    kept.bytes -= entry->bytes;
    entry->bytes = MemoryContextMemAllocated(entry->context, true);
    kept.bytes += entry->bytes;
}

}  // namespace pg_gpu::column
