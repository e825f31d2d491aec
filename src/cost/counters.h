// Counters of requests: their time, the reasons of their fall-backs, and their latest waits.
#pragma once

#include "cost/cost.h"

namespace pg_gpu::client {

// The times that requests took the session are counted in buckets that double from 16 microseconds on: bucket
// i has those of up to latency_bound(i), the last one all others.
inline constexpr int kLatencyBuckets = 22;
constexpr uint64 latency_bound(int bucket) {
    return uint64{16} << bucket;
}

// The counters of one kind of request on one path.
struct Counters {
    uint64 requests;
    uint64 items;
    uint64 bytes;
    double milliseconds;  // computing
    uint64 fallbacks;
    TimestampTz last_fallback;
    uint16 last_reason;  // storage::reason_of_number
    uint64 latencies[kLatencyBuckets];
};

// _PG_init calls it while preloading, which makes room for more users.
void reserve_counters();

// Sums the counters of all sessions and workers since PostgreSQL's start, its recovery from a crash, or the
// last reset, of those users for whom `may_see` returns true. The counters of further users than there is
// room for are user 0's. Where shared memory has no room at all, the result is the session's own.
Counters sum_counters(Path path, RequestKind kind, bool (*may_see)(Oid user));
// Resets the counters of a user, or, with InvalidOid, of all users.
void reset_counters(Oid user);

// A request was answered. It took so many microseconds to compute, and so many from the request to the
// answer.
void count_request(Path path, RequestKind kind, uint64 items, uint64 bytes, double computing, double latency);

// Notes why this path didn't answer a request about this index, if it is about one.
void note_reason(Path path, RequestKind kind, Oid index, const char *reason);

// lately_waited returns the microseconds that requests lately waited beside their work: in the server's
// queue, or, on pages, for a processor or a page. note_wait notes one such wait.
double lately_waited(Path path);
void note_wait(Path path, double microseconds);

}  // namespace pg_gpu::client
