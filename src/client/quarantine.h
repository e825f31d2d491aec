// Inside the client: requests that the server process did not survive.
//
// A request that crashes the server process would crash the next one too. So when the connection ends while
// the server answers a request, requests of this kind to this index are not sent to that engine again where
// pg_gpu.path = auto leaves the choice: for a minute, and twice as long each time, up to an hour. The session
// remembers that for itself.
#pragma once

#include "client/client.h"

namespace pg_gpu::client {

bool is_in_quarantine(const Request &request, Path path);

// The request that the session sends next, for put_in_quarantine and end_quarantine to know the index.
void note_asked(const Request &request, Path path);

// The server process is gone, which was answering a request of this kind. Says so in the log.
void put_in_quarantine(RequestKind kind, Path path);

// It was answered: the next time is the first again.
void end_quarantine(RequestKind kind, Path path);

}  // namespace pg_gpu::client
