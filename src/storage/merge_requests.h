// Which indexes wait for a merge worker or have one, for all sessions in shared memory: one worker an index,
// and few at once.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

struct MergeRequest {
    Oid database;
    Oid index;
};

// From _PG_init while preloading.
void reserve_merge_requests();

enum class Submission {
    Register,  // a worker is to be registered, and register_failed called if that doesn't work
    Noted,     // a worker has it in hand, or will come to it
    Refused,   // no worker will: a moment ago there was no free slot, or too many indexes wait
};

// A session asks for an index's merges.
Submission request_merge(const MergeRequest &request);
void register_failed(const MergeRequest &request);

// A worker begins. False when another one merges the index.
bool begin_request(const MergeRequest &request);

// The worker is done with its request: false when it was asked for again meanwhile, and is still the
// worker's.
bool end_request(const MergeRequest &request);
// It didn't get done: nobody is to try that again at once.
enum class Reason { GaveWay, Other };
void give_request_up(const MergeRequest &request, Reason reason);
// How often in turn workers have given way to others in the index's merges.
int times_given_way(const MergeRequest &request);

// Takes a request that waits for a worker, if there is one: the caller begins with it, or registers a
// worker for it. A worker can merge in its own database alone.
enum class Databases { This, Others };
bool take_waiting_request(Databases databases, MergeRequest *request);

}  // namespace pg_gpu::storage
