// gpu.server: the server process, whether there is one or not.
#include "rpc/rpc.h"
#include "residency/inventory.h"
#include "supervisor/supervisor.h"
#include "compat.h"
#include "functions/rows.h"
#include "settings.h"
#include "version.h"

PG_GPU_FUNCTION(pg_gpu_server_row);

using namespace pg_gpu;
namespace protocol = gpu_engine::protocol;

namespace {

// The state of the server process, as the supervisor or this session's connection knows it.
struct Known {
    bool responds;  // then `state` is the server's
    protocol::StateReply state;
    bool recorded;  // then `record` is the supervisor's
    client::SupervisorRecord record;
};

struct Description {
    const char *state;
    const char *reason;
};

// The row's columns, in order.
enum Column : int {
    kPid,
    kStarted,
    kVersion,
    kState,
    kReason,
    kHost,
    kCuda,
    kCudaReason,
    kHostMemoryUsed,
    kHostMemoryLimit,
    kDeviceMemoryUsed,
    kDeviceMemoryLimit,
    kTransferMemoryUsed,
    kTransferMemoryLimit,
    kConnections,
    kQueued,
    kLoads,
    kEvictions,
    kRefusals,
    kTurnedAway,
    kRestarts,
    kLastError,
    kLastErrorAt,
    kColumns
};

struct Row {
    Datum values[kColumns];
    bool nulls[kColumns];
};

}  // namespace

// Starts nothing, and asks the process even if this session has just met it in trouble.
static Known find_out() {
    Known known = {};
    known.responds = client::connect_to_server() && client::read_server_state(&known.state);
    known.recorded = client::read_supervisor_record(&known.record);
    return known;
}

static Description describe(const Known &known) {
    if (known.responds)
        return {"running", nullptr};
    if (!server_wanted())
        return {"off", "pg_gpu.server is off"};
    if (!client::is_supervisor_running())
        return {"not started", "the first request that needs it starts it"};
    if (known.recorded && known.record.server == 0)
        return {"down", "it has ended or could not be started; the supervisor tries again"};
    return {client::last_failure() == client::RequestFailure::NoServer ? "starting" : "not answering",
            client::last_reason()};
}

static void put(Row *row, Column column, Datum value) {
    row->values[column] = value;
    row->nulls[column] = false;
}

static void put_text(Row *row, Column column, const char *text) {
    if (text != nullptr && text[0] != '\0')
        put(row, column, CStringGetTextDatum(text));
}

static void put_number(Row *row, Column column, uint64 number) {
    put(row, column, Int64GetDatum(static_cast<int64>(number)));
}

static void put_state(Row *row, const protocol::StateReply &state) {
    const protocol::EngineStanding &host = state.engines[static_cast<int>(protocol::EngineName::host)];
    const protocol::EngineStanding &cuda = state.engines[static_cast<int>(protocol::EngineName::cuda)];
    put(row, kPid, Int32GetDatum(state.process));
    put(row, kStarted, functions::to_timestamp(state.started_at));
    put_text(row, kVersion, state.version);
    put_text(row, kHost, client::state_name(host.state));
    put_text(row, kCuda, client::state_name(cuda.state));
    if (static_cast<protocol::EngineState>(cuda.state) == protocol::EngineState::absent)
        put_text(row, kCudaReason,
                 state.why_no_device[0] != '\0' ? state.why_no_device : "pg_gpu was built without CUDA");
    put_number(row, kHostMemoryUsed, host.memory_used);
    put_number(row, kHostMemoryLimit, host.memory_limit);
    if (cuda.memory_limit > 0) {
        put_number(row, kDeviceMemoryUsed, cuda.memory_used);
        put_number(row, kDeviceMemoryLimit, cuda.memory_limit);
    }
    put_number(row, kTransferMemoryUsed, state.transfer_used);
    put_number(row, kTransferMemoryLimit, state.transfer_limit);
    put(row, kConnections, Int32GetDatum(static_cast<int32>(state.connections)));
    put(row, kQueued, Int32GetDatum(static_cast<int32>(host.waiting + cuda.waiting)));
    put_number(row, kLoads, host.loads + cuda.loads);
    put_number(row, kEvictions, host.evictions + cuda.evictions);
    put_number(row, kRefusals, host.refusals + cuda.refusals);
    put_number(row, kTurnedAway, host.busy + cuda.busy);
}

// Errors name files and causes, as the server log does.
static void put_record(Row *row, const client::SupervisorRecord &record) {
    if (record.server != 0 && row->nulls[kPid]) {
        put(row, kPid, Int32GetDatum(record.server));
        put(row, kStarted, TimestampTzGetDatum(record.started_at));
    }
    put_number(row, kRestarts, record.restarts);
    if (record.last_error[0] == '\0' || !functions::may_see_all_rows())
        return;
    put_text(row, kLastError, record.last_error);
    put(row, kLastErrorAt, TimestampTzGetDatum(record.failed_at));
}

Datum pg_gpu_server_row(PG_FUNCTION_ARGS) {
    require_matching_objects();
    TupleDesc description;
    if (get_call_result_type(fcinfo, nullptr, &description) != TYPEFUNC_COMPOSITE ||
        description->natts != kColumns)
        elog(ERROR, "gpu.server_row has other columns than its library");
    const Known known = find_out();
    const Description reported = describe(known);
    Row row = {};
    memset(row.nulls, true, sizeof(row.nulls));
    put_text(&row, kState, reported.state);
    put_text(&row, kReason, reported.reason);
    if (known.responds)
        put_state(&row, known.state);
    if (known.recorded)
        put_record(&row, known.record);
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(description), row.values, row.nulls)));
}
