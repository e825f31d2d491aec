// Inside the client: which paths are there, what is remembered of failures, and the session's counters.
#pragma once

#include "client/connection.h"

namespace pg_gpu::client {

// Connected, and the engine is there: else false, and why is remembered. The first thing every request does.
bool ready_for(Path path);

// Connected, whatever its engines. Doesn't wait again for a server that has just been waited for in vain.
bool reach_server();

// As ready_for, but waits for a server that is being started, and for an engine that is being opened: at most
// pg_gpu.request_timeout.
bool await_engine(Path path);

// Sleeps, unless the session is interrupted.
void pause_for(long milliseconds);

// A request was answered, with what the server needed.
void note_answered(RequestKind kind, Path path, uint64 items, uint64 bytes,
                   const protocol::ReplyHeader &reply);

// A request was not answered: counts the fall-back with its reason, and lets the path cool down where another
// attempt would fail or wait again. Returns false.
bool note_failed(RequestKind kind, Path path);

// For the server's dispatcher: what a search is expected to take, queues apart. Nothing where the path is
// forced.
protocol::ExpectedCost expected_cost(const Request &request, Path path);

// ---- counters ---------------------------------------------------------------------------------------------

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

}  // namespace pg_gpu::client
