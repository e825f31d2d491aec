// Inside the client: requests that the server process did not survive.
//
// A request that crashes the server process would crash the next one too. A process that ends by a fault, or
// gives up, names the request that it ends by (protocol::last_words), and the supervisor keeps that in shared
// memory. No session sends such a request to that engine for a minute where pg_gpu.path = auto leaves the
// choice, and twice as long each time, up to an hour. Such requests have their index, kind and shape in
// common.
#pragma once

#include "cost/cost.h"

namespace pg_gpu::client {

// The first session that meets it says so in the log.
bool is_in_quarantine(const Request &request, Path path);

// The session sends this request next, and names it to the server process.
void note_requested(const Request &request);

// A request of this kind was answered: the next time is the first again.
void note_survived(RequestKind kind, Path path);

}  // namespace pg_gpu::client
