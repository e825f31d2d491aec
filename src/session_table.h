// Tables of what a session remembers, by keys that are hashed as bytes.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu {

// An entry's first member is its key. A table that has as many as it may begins anew.
template <typename Key, typename Entry>
struct SessionTable {
    const char *name;
    long most;
    HTAB *entries = nullptr;
};

// A new entry has zeros behind its key. nullptr: there is none, and none is entered.
template <typename Key, typename Entry>
Entry *search(SessionTable<Key, Entry> *table, const Key &key, HASHACTION action) {
    if (action == HASH_ENTER && table->entries != nullptr &&
        hash_get_num_entries(table->entries) >= table->most) {
        hash_destroy(table->entries);
        table->entries = nullptr;
    }
    if (table->entries == nullptr) {
        if (action != HASH_ENTER)
            return nullptr;
        HASHCTL control = {};
        control.keysize = sizeof(Key);
        control.entrysize = sizeof(Entry);
        control.hcxt = TopMemoryContext;
        table->entries = hash_create(table->name, 32, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    bool found;
    auto *entry = static_cast<char *>(hash_search(table->entries, &key, action, &found));
    if (action == HASH_ENTER && !found)
        memset(entry + sizeof(Key), 0, sizeof(Entry) - sizeof(Key));
    return reinterpret_cast<Entry *>(entry);
}

}  // namespace pg_gpu
