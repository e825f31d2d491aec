// What a session knows of a few indexes. It is forgotten when PostgreSQL says that the index has changed:
// TRUNCATE may empty one in place, and its number may be given to another one.
#pragma once

#include "memory.h"
#include "postgres_headers.h"

extern "C" {
#include "utils/inval.h"
}

namespace pg_gpu::table {

// `Known` has an index (InvalidOid: free), the vacuum_seq that it is known as of, and the time of its last
// use; release() frees what it points to. For objects that live as long as the session.
template <typename Known, void (*release)(Known *)>
struct KnownIndexes {
    static constexpr int kIndexes = 8;
    Known known[kIndexes];
    uint64 last_use;
    bool is_registered;

    void forget(Known *one) {
        release(one);
        *one = {};
    }

    Known *find(Relation index) {
        for (Known &one : known)
            if (one.index == RelationGetRelid(index))
                return &one;
        return nullptr;
    }

    void use(Known *one) { one->used = ++last_use; }

    // Begins anew, in place of what was known of the index, or else of that used longest ago.
    Known *begin(Relation index, uint64 vacuum_seq) {
        if (!is_registered)
            CacheRegisterRelcacheCallback(forget_changed, PointerGetDatum(this));
        is_registered = true;
        Known *one = find(index);
        if (one == nullptr) {
            one = &known[0];
            for (Known &other : known)
                if (other.used < one->used)
                    one = &other;
        }
        forget(one);
        one->index = RelationGetRelid(index);
        one->vacuum_seq = vacuum_seq;
        return one;
    }

  private:
    static void forget_changed(Datum all, Oid relation) {
        auto *indexes = reinterpret_cast<KnownIndexes *>(DatumGetPointer(all));
        for (Known &one : indexes->known)
            if (OidIsValid(one.index) && (!OidIsValid(relation) || relation == one.index))
                indexes->forget(&one);
    }
};

}  // namespace pg_gpu::table
