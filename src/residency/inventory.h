// The server's state, for functions and views: devices, mirrors, statistics, and the indexes that mirrors
// belong to.
#pragma once

#include "rpc/rpc.h"

namespace pg_gpu::client {

template <typename Row>
struct Inventory {
    Row *rows;  // palloc'd
    uint64 count;
};

// Returns the name of an engine's state (protocol::EngineState).
const char *state_name(uint32 state);

// These wait at most pg_gpu.request_timeout and start no server process. Rows are palloc'd. They return
// false, without rows, when no server answers; last_reason() then says why.
bool list_devices(Inventory<gpu_engine::protocol::DeviceRow> *devices);
bool list_mirrors(Inventory<gpu_engine::protocol::MirrorRow> *mirrors);
// Does the same for statistics. With `reset` the server's sums begin anew afterwards.
bool list_statistics(Inventory<gpu_engine::protocol::StatisticsRow> *statistics, bool reset);

// Reads the server's state for a session that is connected. It waits as the others do, and returns false when
// no answer came.
bool read_server_state(gpu_engine::protocol::StateReply *state);

// Returns the index that a run belongs to, or InvalidOid where the index lies in another database, is
// temporary, or has been dropped or rewritten.
Oid index_of_run(const protocol::RunName &name);

// Drops the mirrors for which `is_wanted` returns true, pinned ones too, and adds up the bytes they took.
// Returns false, with last_reason(), when the server process did not answer to the end. Where none is
// running, there is nothing to drop.
using MirrorTest = bool (*)(const protocol::MirrorRow &mirror, void *context);
bool drop_mirrors(MirrorTest is_wanted, void *context, uint64 *bytes);

}  // namespace pg_gpu::client
