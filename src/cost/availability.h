// Inside the client: which paths are there, and what is remembered of failures.
#pragma once

#include "rpc/connection.h"

namespace pg_gpu::client {

// Connected, and the engine is there: else false, and why is remembered. The first thing every request does.
bool ready_for(Path path);

// Connected, whatever its engines, to a server that is there already: for those who only look at it. Doesn't
// wait again for a server that has just been waited for in vain.
bool reach_server();

// As ready_for, but waits for a server that is being started, and for an engine that is being opened: at most
// pg_gpu.request_timeout.
bool await_engine(Path path);

// As await_engine, but doesn't start a server process: waits only where a supervisor is about to.
bool await_engine_without_starting(Path path);

// Is the path there, as far as this session knows, or to be found out?
bool may_be_there(Path path);

// Why the path rests after a failure; nullptr when it doesn't.
const char *resting_reason(Path path);

// Sleeps, unless the session is interrupted.
void pause_for(long milliseconds);

// A request was answered, with what the server needed.
void note_answered(RequestKind kind, Path path, uint64 items, uint64 bytes,
                   const protocol::ReplyHeader &reply);

// A request about this index was not answered: counts the fall-back with its reason, and lets the path cool
// down where another attempt would fail or wait again. Returns false.
bool note_failed(RequestKind kind, Path path, Oid index);
inline bool note_failed(RequestKind kind, const Choice &choice) {
    return note_failed(kind, choice.path, choice.index);
}

// The server has no such engine and nobody asked for it by name: the path cools down, and no fall-back is
// counted. Returns false.
bool avoid_absent(Path path);

}  // namespace pg_gpu::client
