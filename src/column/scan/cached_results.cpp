#include "column/scan/cached_results.h"

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
    const char *abbreviations;  // the set of names of time zones

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
    uint64 transaction;  // the transaction that uses it where it lies: it must stay until that ends
    bool is_outdated;    // and isn't found any more
};

// The one that was used last is the last one.
struct Entries {
    MemoryContext context;  // nullptr: none has been cached yet
    Entry **entries;
    int count;
    int room;
    size_t bytes;
    uint64 changes;  // number of changes of functions and other objects that results depend on
    uint64 changes_seen;
    uint64 transaction;  // the session's present one, counted from 1 on
};

// All results are looked at when one is looked for, and each has a memory context of its own, so there are
// few.
constexpr int kMaxEntries = 1024;

}  // namespace

static Entries cached;

static void note_change(Datum, int, uint32) {
    cached.changes++;
}

static void note_transaction_end(XactEvent event, void *) {
    if (event == XACT_EVENT_COMMIT || event == XACT_EVENT_ABORT || event == XACT_EVENT_PREPARE ||
        event == XACT_EVENT_PARALLEL_COMMIT || event == XACT_EVENT_PARALLEL_ABORT)
        cached.transaction++;
}

static Settings current_settings() {
    const char *abbreviations = GetConfigOption("timezone_abbreviations", true, false);
    return {extra_float_digits, bytea_output,
            IntervalStyle,      DateStyle,
            DateOrder,          quote_all_identifiers,
            session_timezone,   abbreviations == nullptr ? "" : abbreviations};
}

void describe_settings(StringInfo text) {
    const Settings settings = current_settings();
    appendStringInfo(text, " %d %d %d %d %d %d %s %s", settings.float_digits, settings.bytea,
                     settings.interval, settings.date, settings.date_order, settings.quotes_all ? 1 : 0,
                     pg_get_timezone_name(const_cast<pg_tz *>(settings.zone)), settings.abbreviations);
}

uint64 count_changes() {
    return cached.changes;
}

bool gives_cacheable_results(Oid function) {
    HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
    if (!HeapTupleIsValid(tuple))
        return false;
    const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
    const bool is_persistent = function < FirstUnpinnedObjectId &&
                               form->provolatile == PROVOLATILE_IMMUTABLE &&
                               form->prolang == INTERNALlanguageId;
    ReleaseSysCache(tuple);
    return is_persistent;
}

// ---- entries ----------------------------------------------------------------------------------------------

// Drops the first ones until so many bytes and entries are left, or only such that are in use.
static void leave_at_most(size_t bytes, int entries) {
    const bool all = cached.changes != cached.changes_seen;
    cached.changes_seen = cached.changes;
    int left = 0;
    const int count = cached.count;
    for (int i = 0; i < count; i++) {
        Entry *entry = cached.entries[i];
        entry->is_outdated = entry->is_outdated || all;
        const bool goes = entry->is_outdated || cached.bytes > bytes || cached.count > entries;
        if (!goes || entry->transaction == cached.transaction) {
            cached.entries[left++] = entry;
            continue;
        }
        cached.bytes -= entry->bytes;
        cached.count--;
        MemoryContextDelete(entry->context);
    }
}

static bool is_of_key(const Entry &entry, const CacheKey &key) {
    return entry.run_id == key.run_id && entry.column == key.column && entry.kind == key.kind &&
           entry.index == RelationGetRelid(key.index) && !entry.is_outdated;
}

static Entry *find_entry(const CacheKey &key) {
    leave_at_most(map_memory(), kMaxEntries);
    const PhysicalRelation physical = physical_relation(key.index);
    const Settings settings = current_settings();
    for (int i = cached.count - 1; i >= 0; i--) {
        Entry *entry = cached.entries[i];
        if (!is_of_key(*entry, key) || memcmp(&entry->physical, &physical, sizeof(physical)) != 0 ||
            !(entry->settings == settings) || !equal(entry->expression, key.expression))
            continue;
        memmove(cached.entries + i, cached.entries + i + 1,
                static_cast<size_t>(cached.count - 1 - i) * sizeof(Entry *));
        cached.entries[cached.count - 1] = entry;
        return entry;
    }
    return nullptr;
}

const void *find_results(const CacheKey &key) {
    const Entry *entry = find_entry(key);
    return entry == nullptr ? nullptr : entry->results;
}

const void *use_results(const CacheKey &key) {
    Entry *entry = find_entry(key);
    if (entry == nullptr)
        return nullptr;
    entry->transaction = cached.transaction;
    return entry->results;
}

static void begin_entries() {
    if (cached.context != nullptr)
        return;
    // The list leaves out types, because each new table has one: changes of types mustn't drop everything.
    for (const int cache :
         {PROCOID, COLLOID, TSCONFIGOID, TSCONFIGMAP, TSDICTOID, TSPARSEROID, TSTEMPLATEOID})
        CacheRegisterSyscacheCallback(cache, note_change, Datum{0});
    RegisterXactCallback(note_transaction_end, nullptr);
    cached.transaction = 1;
    cached.context = AllocSetContextCreate(TopMemoryContext, "pg_gpu cached results", ALLOCSET_DEFAULT_SIZES);
}

// Makes room for one more entry.
static void make_place() {
    constexpr int first_room = 64;
    if (cached.count < cached.room)
        return;
    const int room = Max(2 * cached.room, first_room);
    MemoryContext caller = MemoryContextSwitchTo(cached.context);
    cached.entries = cached.entries == nullptr ? allocate<Entry *>(static_cast<size_t>(room))
                                               : reallocate(cached.entries, static_cast<size_t>(room));
    cached.room = room;
    MemoryContextSwitchTo(caller);
}

// Everything belongs to the statement until nothing can fail any more.
MemoryContext begin_results(size_t bytes) {
    return bytes > map_memory()
               ? nullptr
               : AllocSetContextCreate(CurrentMemoryContext, "pg_gpu results", ALLOCSET_SMALL_SIZES);
}

// Adds results; returns false when there is no room for them.
static bool add_entry(const CacheKey &key, MemoryContext context, const void *results, uint64 changes,
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
    if (cached.changes != changes || cached.bytes + entry->bytes > map_memory() ||
        cached.count >= kMaxEntries)
        return false;
    entry->transaction = is_in_use ? cached.transaction : 0;
    MemoryContextSetParent(context, cached.context);
    cached.entries[cached.count++] = entry;
    cached.bytes += entry->bytes;
    return true;
}

void add_results(const CacheKey &key, MemoryContext context, const void *results, uint64 changes) {
    if (!add_entry(key, context, results, changes, false))
        MemoryContextDelete(context);
}

bool share_results(const CacheKey &key, MemoryContext context, const void *results, uint64 changes) {
    return add_entry(key, context, results, changes, true);
}

}  // namespace pg_gpu::column
