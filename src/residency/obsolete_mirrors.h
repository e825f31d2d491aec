// Mirrors that are dropped otherwise than by the index that they belong to: those that nobody can ask for any
// more, and those that an administrator names.
#pragma once

#include "residency/inventory.h"
#include "residency/residency.h"

namespace pg_gpu::client {

// Returns a number that distinguishes a database from an earlier one of the same OID, by the first file that
// was written for it; 0 when there is no such database. It stays for as long as the database does, unless
// that moves to another tablespace. The caller is in a transaction, which catalog look-ups need.
uint32 database_incarnation(Oid database);

// Drops the mirrors of indexes, databases and sessions that are no more, pinned ones too: DROP, REINDEX,
// TRUNCATE and the like don't tell the server process. Sends requests, so it uses the transfer buffer; what
// goes wrong is only noted (last_reason).
void drop_obsolete_mirrors();

// Is called before a request to the set's index. Reports to the server process which runs are listed, when
// that has changed since this session last reported it, so that mirrors of runs that were merged away end
// with the next request of anybody. Every two seconds it drops obsolete mirrors of all other indexes as well.
// Sends requests, so it uses the transfer buffer.
void drop_outlived_mirrors(const RunSet &set);

}  // namespace pg_gpu::client
