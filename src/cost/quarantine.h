// Inside the client: requests that the server process did not survive.
//
// A request that crashes the server process would crash the next one too. So when the connection ends while
// the server answers a request, requests of this kind to this index are not sent to that engine again where
// pg_gpu.path = auto leaves the choice, until it is known how the process ended, a minute at most. After a
// crash that is so for a minute, and twice as long each time, up to an hour. A process that was stopped or
// killed leaves no suspicion. The session remembers that for itself.
#pragma once

#include "cost/cost.h"

namespace pg_gpu::client {

bool is_in_quarantine(const Request &request, Path path);

// Notes the request that the session sends next, from which suspect and end_quarantine know the index.
void note_requested(const Request &request, Path path);

// The connection to the server process is lost, which was answering a request of this kind. Once the process
// is known to have crashed the log says so.
void suspect(RequestKind kind, Path path);

// It was answered: the next time is the first again.
void end_quarantine(RequestKind kind, Path path);

}  // namespace pg_gpu::client
