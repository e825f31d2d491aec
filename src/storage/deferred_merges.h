// Statistics of merges that were deferred for a lack of disk space, memory or block numbers: their number,
// and the reason of the last one.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

struct DeferredMerges {
    uint64 count;
    Oid last_database;
    char last_reason[256];  // with the index's name
};

// _PG_init calls it while preloading.
void reserve_deferred_merges();

void count_deferred_merge(Relation index, const char *reason);

// Both are about the deferred merges of this session.
const DeferredMerges &session_deferred_merges();
void forget_session_deferred_merges();

// Both are about all sessions and workers since PostgreSQL's start. Where shared memory has no room for them,
// they are about this session.
DeferredMerges all_deferred_merges();
void forget_all_deferred_merges();

}  // namespace pg_gpu::storage
