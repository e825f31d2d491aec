// What the server tells of itself: devices, mirrors, statistics.
#pragma once

#include "rpc/client.h"
#include "gpu_engine/protocol.h"

namespace pg_gpu::client {

template <typename Row>
struct Inventory {
    Row *rows;  // palloc'd
    uint64 count;
};

// Each waits at most pg_gpu.request_timeout, starts no server process, and gives no rows when no server
// answers; last_reason() then says why. False then.
bool list_devices(Inventory<gpu_engine::protocol::DeviceRow> *devices);
bool list_mirrors(Inventory<gpu_engine::protocol::MirrorRow> *mirrors);
// With `reset` the server's sums begin anew afterwards.
bool list_statistics(Inventory<gpu_engine::protocol::StatisticsRow> *statistics, bool reset);

// The session must be connected. Waits as the others do, and returns false when no answer came.
bool read_server_state(gpu_engine::protocol::StateReply *state);

}  // namespace pg_gpu::client
