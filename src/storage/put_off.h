// Merges that were put off for a lack of disk space, memory or block numbers: how many, and why the last one.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

struct PutOffMerges {
    uint64 count;
    Oid last_database;
    char last_reason[256];  // with the index's name
};

// From _PG_init while preloading.
void reserve_put_off_merges();

void count_put_off_merge(Relation index, const char *reason);

// Those of this session.
const PutOffMerges &session_put_off_merges();
void forget_session_put_off_merges();

// Those of all sessions and workers since PostgreSQL's start. Where shared memory has no room for them, they
// are those of this session.
PutOffMerges all_put_off_merges();
void forget_all_put_off_merges();

}  // namespace pg_gpu::storage
