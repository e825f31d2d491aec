// Inside the client: mirrors that nobody can ask for any more.
#pragma once

#include "client/connection.h"

namespace pg_gpu::client {

// Drops the mirrors of indexes, databases and sessions that are no more, pinned ones too: DROP, REINDEX,
// TRUNCATE and the like don't tell the server process. One that is in fact still made or rewritten by another
// transaction may go as well; that costs the time to load it. Sends requests, so it uses the transfer buffer;
// what goes wrong is only noted (last_reason).
void drop_gone_mirrors();

}  // namespace pg_gpu::client
