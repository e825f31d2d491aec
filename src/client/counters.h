// Inside the client: the session's counters, and what requests lately waited.
#pragma once

#include "client/client.h"

namespace pg_gpu::client {

struct Counters {
    uint64 requests;
    uint64 items;
    uint64 bytes;
    double milliseconds;
    uint64 fallbacks;
    char last_reason[128];
};

// This session's, since its start or the last reset.
const Counters &counters(Path path, RequestKind kind);
void reset_counters();

// A request was answered, in so many microseconds.
void count_request(Path path, RequestKind kind, uint64 items, uint64 bytes, double microseconds);

// A request was not answered by this path.
void note_reason(Path path, RequestKind kind, const char *reason);

// Microseconds that requests lately waited beside their work: in the server's queue, or, on pages, for a
// processor or a page.
double lately_waited(Path path);
void note_wait(Path path, double microseconds);

// Of which requests are waits beside the work known?
bool are_waits_known(RequestKind kind);

}  // namespace pg_gpu::client
