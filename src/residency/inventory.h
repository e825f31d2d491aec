// The server's state, for functions and views: devices, mirrors, statistics; and whose mirrors these are.
#pragma once

#include "rpc/rpc.h"

namespace pg_gpu::client {

template <typename Row>
struct Inventory {
    Row *rows;  // palloc'd
    uint64 count;
};

// An engine's state (protocol::EngineState) in a word.
const char *state_name(uint32 state);

// Each waits at most pg_gpu.request_timeout, starts no server process, and gives no rows when no server
// answers; last_reason() then says why. False then.
bool list_devices(Inventory<gpu_engine::protocol::DeviceRow> *devices);
bool list_mirrors(Inventory<gpu_engine::protocol::MirrorRow> *mirrors);
// With `reset` the server's sums begin anew afterwards.
bool list_statistics(Inventory<gpu_engine::protocol::StatisticsRow> *statistics, bool reset);

// The session must be connected. Waits as the others do, and returns false when no answer came.
bool read_server_state(gpu_engine::protocol::StateReply *state);

// The index that a run belongs to. InvalidOid where it lies in another database, is temporary, or has been
// dropped or rewritten.
Oid index_of_run(const protocol::RunName &name);

// Drops the mirrors that `is_wanted` says of, pinned ones too, and adds up the bytes they took. False, with
// last_reason(), when the server process did not answer to the end. Where none is running, there is nothing
// to drop.
using MirrorTest = bool (*)(const protocol::MirrorRow &mirror, void *context);
bool drop_mirrors(MirrorTest is_wanted, void *context, uint64 *bytes);

}  // namespace pg_gpu::client
