// Requests for merge workers, for all sessions in shared memory. An index has one worker, and few workers run
// at once.
#pragma once

#include "postgres_headers.h"

namespace pg_gpu::storage {

struct MergeRequest {
    Oid database;
    Oid index;
};

// _PG_init calls it while preloading.
void reserve_merge_requests();

enum class Submission {
    Register,  // a worker is to be registered, and register_failed called if that doesn't work
    Noted,     // a worker has it in hand, or will come to it
    Refused,   // no worker will: a moment ago there was no free slot, or too many indexes wait
};

// A session calls request_merge for an index's merges, and register_failed when it couldn't register the
// worker that it was told to register.
Submission request_merge(const MergeRequest &request);
void register_failed(const MergeRequest &request);

// A worker calls it when it begins. Returns false when another one merges the index.
bool begin_request(const MergeRequest &request);

// A worker calls it when it has done what was requested. Returns false when the merges were requested again
// meanwhile: then the request is still the worker's.
bool end_request(const MergeRequest &request);
// A worker calls it when it could not do what was requested. The index isn't tried again at once.
enum class Reason { GaveWay, Other };
void give_request_up(const MergeRequest &request, Reason reason);
// Returns how many workers in turn have given way to others in the index's merges.
int times_given_way(const MergeRequest &request);

// Takes a request that waits for a worker and returns true, if there is one. The caller begins with it, or
// registers a worker for it, since a worker can merge in its own database alone.
enum class Databases { This, Others };
bool take_waiting_request(Databases databases, MergeRequest *request);

}  // namespace pg_gpu::storage
