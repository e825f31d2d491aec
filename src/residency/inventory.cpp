#include "residency/inventory.h"

#include "cost/cost.h"
#include "memory.h"

namespace pg_gpu::client {

// A server process that reports more rows than this is not believed.
static constexpr uint64 kMaxRows = 1 << 24;

const char *state_name(uint32 state) {
    switch (static_cast<protocol::EngineState>(state)) {
        case protocol::EngineState::opening:
            return "opening";
        case protocol::EngineState::ready:
            return "ready";
        case protocol::EngineState::lost:
            return "lost";
        default:
            return "absent";
    }
}

// Asks for all rows; they may become more between two attempts.
template <typename Row>
static bool list(protocol::Message type, bool reset, Inventory<Row> *inventory) {
    constexpr int kMaxAttempts = 10;
    *inventory = {};
    if (!reach_server())
        return false;
    uint64 capacity = 64;
    for (int attempt = 0; attempt < kMaxAttempts; attempt++) {
        const uint64 bytes = capacity * sizeof(Row);
        auto message = make_message<protocol::List>(type, Path::Host);
        protocol::ListReply reply;
        if (!need_buffer(bytes, bytes))
            return false;
        message.capacity = bytes;
        message.reset = reset ? 1 : 0;
        if (!exchange(&message, &reply))
            return false;
        if (result_of(reply.header) != protocol::ReplyResult::done)
            return fail_by_reply(reply.header);
        // After a reset the sums are gone: what has come is all there is.
        if (reply.rows <= capacity || reset) {
            inventory->count = Min(reply.rows, capacity);
            inventory->rows = allocate<Row>(inventory->count + 1);
            memcpy(inventory->rows, buffer_at(0), inventory->count * sizeof(Row));
            return true;
        }
        if (reply.rows > kMaxRows)
            return fail(RequestFailure::Refused, "the server process lists too many rows");
        capacity = reply.rows + reply.rows / 4;
    }
    return fail(RequestFailure::Refused, "the server process's rows change too fast");
}

bool list_devices(Inventory<protocol::DeviceRow> *devices) {
    // A device that is being opened will be there in a moment.
    *devices = {};
    if (!(await_engine_without_starting(Path::Cuda) || is_connected()) ||
        !list(protocol::Message::devices, false, devices))
        return false;
    // The texts are the server's word, and may lack their ends.
    for (uint64 i = 0; i < devices->count; i++) {
        protocol::DeviceRow &row = devices->rows[i];
        row.info.name[sizeof(row.info.name) - 1] = '\0';
        row.uuid[sizeof(row.uuid) - 1] = '\0';
        row.pci[sizeof(row.pci) - 1] = '\0';
        row.why_not[sizeof(row.why_not) - 1] = '\0';
    }
    return true;
}

bool list_mirrors(Inventory<protocol::MirrorRow> *mirrors) {
    return list(protocol::Message::mirrors, false, mirrors);
}

bool read_server_state(protocol::StateReply *state) {
    protocol::RequestHeader request = make_header(protocol::Message::state, Path::Host, sizeof(request));
    if (!send_request(&request, 0) || !receive_reply(&state->header, sizeof(*state)))
        return false;
    if (result_of(state->header) != protocol::ReplyResult::done)
        return fail_by_reply(state->header);
    state->version[sizeof(state->version) - 1] = '\0';
    state->why_no_device[sizeof(state->why_no_device) - 1] = '\0';
    return true;
}

bool list_statistics(Inventory<protocol::StatisticsRow> *statistics, bool reset) {
    return list(protocol::Message::statistics, reset, statistics);
}

}  // namespace pg_gpu::client
