// Mirrors that are dropped otherwise than by the index that they belong to: those that nobody can ask for any
// more, and those that an administrator names.
#pragma once

#include "rpc/client.h"
#include "rpc/connection.h"

namespace pg_gpu::client {

// What tells a database from an earlier one of the same OID: the transaction that wrote its row in
// pg_database, also once that is frozen. InvalidTransactionId when there is no such database. ALTER DATABASE
// changes it too; that costs the time to load mirrors again. Needs a transaction, as catalog look-ups do.
uint32 database_incarnation(Oid database);

// Is this a run of the session's own database?
bool is_of_this_database(const protocol::RunName &name);

// The index that a run belongs to. InvalidOid where it lies in another database, is temporary, or has been
// dropped or rewritten.
Oid index_of_run(const protocol::RunName &name);

// Drops the mirrors that `is_wanted` says of, pinned ones too, and adds up the bytes they took. False, with
// last_reason(), when the server process did not answer to the end. Where none is running, there is nothing
// to drop.
using MirrorTest = bool (*)(const protocol::MirrorRow &mirror, void *context);
bool drop_mirrors(MirrorTest is_wanted, void *context, uint64 *bytes);

// Drops the mirrors of indexes, databases and sessions that are no more, pinned ones too: DROP, REINDEX,
// TRUNCATE and the like don't tell the server process. One that is in fact still made or rewritten by another
// transaction may go as well; that costs the time to load it. Sends requests, so it uses the transfer buffer;
// what goes wrong is only noted (last_reason).
void drop_gone_mirrors();

// Before a question to the set's index: tells the server process which runs are listed, when that has changed
// since this session last told, so that mirrors of runs that were merged away end with the next question of
// anybody. Every two seconds drops gone mirrors of all other indexes as well. Sends requests, as above.
void drop_outlived_mirrors(const RunSet &set);

}  // namespace pg_gpu::client
