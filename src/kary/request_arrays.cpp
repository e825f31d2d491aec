// Arrays on the server that one session sorts or merges, and reads back.
#include "kary/request.h"
#include "residency/submission.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

using namespace client;

static constexpr uint64 kStreamBuffer = uint64{8} << 20;

static uint64 entry_bytes(int key_bits) {
    return static_cast<uint64>(key_bits) / 8 + sizeof(ItemPointerData);
}

// Entries that half of the buffer takes, keys before TIDs.
static uint64 entries_per_half(const DoubleBuffer &double_buffer, int key_bits) {
    return (double_buffer.bytes - protocol::buffer_alignment) / entry_bytes(key_bits);
}

static double sort_estimate(uint64 entries, Path path) {
    return static_cast<double>(entries) * cost_constants().sort[static_cast<int>(path)];
}

static double transfer_estimate(uint64 bytes) {
    return static_cast<double>(bytes) / kMebibyte * cost_constants().transfer;
}

constinit const RequestCost sort_cost = {
    false,
    [](const Request &request) { return static_cast<double>(request.items) * entry_bytes(request) * 2; },
    [](const Request &request, Path path) { return sort_estimate(request.items, path); }};

constinit const RequestCost merge_cost = {
    true, [](const Request &request) { return static_cast<double>(request.items) * entry_bytes(request); },
    [](const Request &request, Path path) { return sort_estimate(request.items, path); }};

static bool is_alive(const ServerArray &array) {
    return (array.handle != 0 && array.connection == connection_number() && is_connected()) ||
           fail(RequestFailure::Lost, "the connection to the server process was lost meanwhile");
}

// ---- sorting ----------------------------------------------------------------------------------------------

// Between two calls the server may still be taking entries out of one half of the buffer.
static DoubleBuffer sort_halves;

static bool fail_sort(ServerArray *array) {
    // A failed array isn't worth a request to drop it; its memory goes with the connection.
    if (array->handle != 0 && array->connection == connection_number())
        disconnect();
    array->handle = 0;
    return note_failed(RequestKind::SortKary, array->path, array->index);
}

bool begin_sort(const Choice &choice, int key_bits, uint64 entries, ServerArray *array) {
    *array = {0, 0, entries, RequestKind::SortKary, choice.path, choice.index, key_bits};
    if (!ready_for(choice.path) ||
        !open_double_buffer(&sort_halves, 2 * BLCKSZ,
                            Min(kStreamBuffer, 2 * entries * entry_bytes(key_bits) + 4 * BLCKSZ)))
        return fail_sort(array);
    auto message = make_message<protocol::BeginKary>(protocol::Message::begin_kary, choice.path);
    message.entries = entries;
    message.key_bits = static_cast<uint32>(key_bits);
    message.holder = holder_of_mirrors(false);
    protocol::BeginReply reply;
    if (!exchange(&message, &reply))
        return fail_sort(array);
    if (result_of(reply.header) != protocol::ReplyResult::done) {
        fail_by_reply(reply.header);
        return fail_sort(array);
    }
    hold_on_server();
    array->connection = connection_number();
    array->handle = reply.handle;
    return true;
}

bool append_to_sort(ServerArray *array, const void *keys, const ItemPointerData *tids, uint64 count) {
    if (!is_alive(*array))
        return fail_sort(array);
    const uint64 width = static_cast<uint64>(array->key_bits) / 8;
    const uint64 most = entries_per_half(sort_halves, array->key_bits);
    auto message = make_message<protocol::AppendKary>(protocol::Message::append_kary, array->path);
    message.handle = array->handle;
    for (uint64 done = 0; done < count; done += message.count) {
        CHECK_FOR_INTERRUPTS();
        message.count = Min(count - done, most);
        message.keys_offset = next_half(&sort_halves);
        message.tids_offset = align_offset(message.keys_offset + message.count * width);
        memcpy(buffer_at(message.keys_offset), static_cast<const char *>(keys) + done * width,
               message.count * width);
        memcpy(buffer_at(message.tids_offset), tids + done, message.count * sizeof(ItemPointerData));
        if (!send_half(&sort_halves, &message.header, transfer_estimate(sort_halves.bytes)))
            return fail_sort(array);
    }
    return true;
}

bool finish_sort(ServerArray *array) {
    if (!is_alive(*array) || !finish_double_buffer(&sort_halves))
        return fail_sort(array);
    auto message = make_message<protocol::HandleRequest>(protocol::Message::finish, array->path);
    message.handle = array->handle;
    protocol::HandleReply reply;
    if (!exchange(&message, &reply, sort_estimate(array->entries, array->path)))
        return fail_sort(array);
    if (result_of(reply.header) != protocol::ReplyResult::done) {
        fail_by_reply(reply.header);
        return fail_sort(array);
    }
    if (reply.entries != array->entries) {
        fail(RequestFailure::Refused, "the server process has sorted another number of entries");
        return fail_sort(array);
    }
    note_answered(RequestKind::SortKary, array->path, array->entries,
                  array->entries * entry_bytes(array->key_bits), reply.header);
    return true;
}

// ---- merging ----------------------------------------------------------------------------------------------

static bool submit_merge(const RunSet &set, const Choice &choice, ServerArray *array) {
    const LiveRuns live = live_runs(set);
    if (live.count == 0)
        return fail(RequestFailure::NotWanted, "nothing to merge");
    if (!ready_for(choice.path) || !is_worth_a_request(set, live, choice))
        return false;
    uint64 entries = 0;
    for (int i = 0; i < live.count; i++)
        entries += set.format->mirrored_entries(set.runs[live.places[i]]);
    for (int attempt = 0; attempt < kMaxAttempts; attempt++) {
        auto message = make_message<protocol::MergeKary>(protocol::Message::merge_kary, choice.path);
        name_runs(set, live, &message);
        protocol::HandleReply reply;
        if (!exchange(&message, &reply, sort_estimate(entries, choice.path)))
            return false;
        bool again;
        switch (result_of(reply.header)) {
            case protocol::ReplyResult::done:
                // The run that is written of them has room for no more.
                if (reply.entries > entries) {
                    disconnect();
                    return fail(RequestFailure::Refused,
                                "the server process has merged more entries than there are");
                }
                hold_on_server();
                *array = {connection_number(), reply.handle, reply.entries,       RequestKind::MergeKary,
                          choice.path,         choice.index, set.format->key_bits};
                note_answered(RequestKind::MergeKary, choice.path, entries,
                              entries * entry_bytes(set.format->key_bits), reply.header);
                return true;
            case protocol::ReplyResult::not_resident:
                again = load_lacking(set, live, choice, reply.header.lacking);
                break;
            case protocol::ReplyResult::stale:
                again = refresh_dead(set, live, choice.path, reply.header.lacking);
                break;
            default:
                again = fail_by_reply(reply.header);
        }
        if (!again)
            return false;
    }
    return fail(RequestFailure::Refused, "mirrors change too fast");
}

bool merge_kary(const RunSet &set, const Choice &choice, ServerArray *array) {
    *array = {0, 0, 0, RequestKind::MergeKary, choice.path, choice.index, set.format->key_bits};
    return submit_merge(set, choice, array) || note_failed(RequestKind::MergeKary, choice);
}

// ---- reading, naming, dropping ----------------------------------------------------------------------------

static bool submit_entries(const ServerArray &array, uint64 first, uint64 most, const void **keys,
                           const ItemPointerData **tids, uint64 *count) {
    if (!is_alive(array) || !connect_to_server() || !is_alive(array) ||
        !need_buffer(2 * BLCKSZ, Min(kStreamBuffer, most * entry_bytes(array.key_bits) + BLCKSZ)))
        return false;
    if (first >= array.entries)
        return fail(RequestFailure::Refused, "entries beyond the array's end were asked for");
    most = Min(most, array.entries - first);
    const uint64 width = static_cast<uint64>(array.key_bits) / 8;
    auto message = make_message<protocol::ReadKary>(protocol::Message::read_kary, array.path);
    message.handle = array.handle;
    message.first = first;
    message.count = Min(most, (buffer_bytes() - protocol::buffer_alignment) / entry_bytes(array.key_bits));
    message.keys_offset = 0;
    message.tids_offset = align_offset(message.count * width);
    protocol::ReplyHeader reply;
    if (!exchange(&message, &reply, transfer_estimate(message.count * entry_bytes(array.key_bits))))
        return false;
    if (result_of(reply) != protocol::ReplyResult::done)
        return fail_by_reply(reply);
    *keys = buffer_at(message.keys_offset);
    *tids = reinterpret_cast<const ItemPointerData *>(buffer_at(message.tids_offset));
    *count = message.count;
    return true;
}

bool read_kary(const ServerArray &array, uint64 first, uint64 most, const void **keys,
               const ItemPointerData **tids, uint64 *count) {
    return submit_entries(array, first, most, keys, tids, count) ||
           note_failed(array.kind, array.path, array.index);
}

void name_kary(ServerArray *array, Relation index, const storage::RunEntry &run) {
    if (!is_alive(*array) || !connect_to_server() || !is_alive(*array))
        return;
    auto message = make_message<protocol::NameKary>(protocol::Message::name_kary, array->path);
    message.handle = array->handle;
    message.name = run_name(index, run.run_id);
    message.holder = holder_of_mirrors(false);
    protocol::HandleReply reply;
    if (exchange(&message, &reply)) {
        if (result_of(reply.header) == protocol::ReplyResult::done)
            release_on_server();
        else
            disconnect();
    }
    array->handle = 0;
}

void drop_kary(ServerArray *array) {
    if (array->handle == 0 || !is_alive(*array))
        return;
    // Entries may be on their way still.
    if (!finish_double_buffer(&sort_halves) && !is_connected())
        return;
    auto message = make_message<protocol::HandleRequest>(protocol::Message::drop, array->path);
    message.handle = array->handle;
    protocol::ReplyHeader reply;
    if (connect_to_server() && is_alive(*array) && exchange(&message, &reply))
        release_on_server();
    array->handle = 0;
}

}  // namespace pg_gpu::kary
