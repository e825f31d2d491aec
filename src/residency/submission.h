// The way of an access method's request to the server process: it is laid out in the transfer buffer, cut
// where it is too large, and sent again once mirrors that are missing or out of date have been seen to.
#pragma once

#include "gpu_engine/heap_blocks.h"
#include "residency/residency.h"

namespace pg_gpu::client {

// ---- the layout of one request ---------------------------------------------------------------------------

// The buffer has the inputs, then zeros as the offsets of runs that have no entries, then the results.

struct Input {
    const void *data;       // nullptr: the caller fills it in, in set_inputs
    uint64 bytes_per_item;  // 0: `bytes` are those of all items together
    uint64 bytes;
};

inline constexpr int kMaxInputs = 20;

struct Layout {
    uint64 inputs[kMaxInputs];
    uint64 zeros;
    uint64 results;
};

// A PreparedRequest says what a kind of request has by itself.
struct PreparedRequest {
    RequestKind kind;
    const Input *inputs;
    int input_count;
    uint64 item_bytes;  // bytes of an item's results, beside offsets
    double estimate;    // microseconds
    bool has_offsets = true;
};

// Returns how many bytes a key takes in requests.
inline uint64 key_bytes(const RunSet &set) {
    return static_cast<uint64>(set.format->key_bits) / 8;
}

// Prepares a request that is expected to find one entry an item.
PreparedRequest request_of_items(const RunSet &set, const Choice &choice, RequestKind kind,
                                 const Input *inputs, int input_count, uint64 item_bytes, uint64 items);

// Returns how many of the items fit a buffer of the largest size, with some room for more than a TID an item.
uint64 cut_items(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live, uint64 items);

// Copies the inputs to where the layout has them; `room` bytes are left for results, or as many as expected.
// Returns false when there is no memory for the buffer.
bool place_inputs(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live, uint64 items,
                  uint64 room, Layout *layout);

// Makes room for `needed` bytes of results, which didn't fit, or takes fewer items. Returns false when
// neither can be done.
bool make_room(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live, uint64 needed,
               uint64 *items, uint64 *room);

// The two inputs that carry what is known of heap blocks: groups, then rows.
struct BlockInputs {
    Input groups;
    Input rows;
};
BlockInputs block_inputs(const VisibleBlocks &visible);
protocol::BlocksPlace place_of_blocks(const VisibleBlocks &visible, const Layout &layout, int groups,
                                      int rows);

// Returns whether a place that a reply names lies in the buffer. Each is checked before it is used.
bool lies_in_buffer(uint64 offset, uint64 bytes);

// Finds each run's part of the results. Offsets are the server's word, so that they are checked before use;
// returns false when they are impossible.
bool read_runs(const RunSet &set, const Layout &layout, const protocol::ResultReply &reply, uint64 items,
               bool with_keys, RunResult *runs);

// Copies how many entries were counted for each item, and returns false when an item has more than the runs
// have.
bool read_counts(const RunSet &set, const Layout &layout, uint64 items, const uint64 **counts);

// ---- requests --------------------------------------------------------------------------------------------

// A request is tried again after runs were loaded, bitmaps refreshed, the buffer grown or the items cut; each
// can happen a few times while others vacuum and merge.
inline constexpr int kMaxAttempts = 40;

// The sets that a request is about together, of one format's kind: it names the live runs of each behind
// those of the sets before. They have kMaxRuns at most.
struct RequestedSets {
    const RunSet *const *sets;
    int count;
};

// Returns all runs as those of one set, by which a request is laid out, in the current memory context.
RunSet join_sets(const RequestedSets &requested);

// These do what the functions of the same name do for a single set.
bool is_worth_a_request(const RequestedSets &requested, const Choice &choice);
bool load_lacking(const RequestedSets &requested, const Choice &choice, uint64 lacking);
bool refresh_dead(const RequestedSets &requested, Path path, uint64 stale);

// Names a set's runs behind those that the message names already.
template <typename Message>
void name_runs(const RunSet &set, const LiveRuns &live, Message *message) {
    if constexpr (requires { message->key_bits; })
        message->key_bits = static_cast<uint32>(set.format->key_bits);
    for (int i = 0; i < live.count; i++)
        message->run[message->runs++] = {run_name(set.index, set.runs[live.places[i]].run_id),
                                         set.vacuum_seq};
}

// Sends the request until it is answered or can't be. `set_inputs(message, layout, items)` fills in what each
// kind of message has by itself. *items becomes the number of items that are answered.
template <typename Message, typename Reply, typename SetInputs>
bool submit(const PreparedRequest &prepared, const RequestedSets &requested, const Choice &choice,
            protocol::Message type, SetInputs set_inputs, uint64 *items, Layout *layout, Reply *reply) {
    const RunSet set = requested.count == 1 ? *requested.sets[0] : join_sets(requested);
    const LiveRuns live = live_runs(set);
    uint64 room = 0;
    if (!ready_for(choice.path) || !is_worth_a_request(requested, choice))
        return false;
    *items = cut_items(prepared, set, live, *items);
    for (int attempt = 0; attempt < kMaxAttempts; attempt++) {
        if (!place_inputs(prepared, set, live, *items, room, layout)) {
            // Other sessions may have taken the memory there is: fewer items need less.
            if (!is_connected() || last_failure() != RequestFailure::Memory || *items <= 1)
                return false;
            *items /= 2;
            room = 0;
            continue;
        }
        auto message = make_message<Message>(type, choice.path);
        for (int i = 0; i < requested.count; i++)
            name_runs(*requested.sets[i], live_runs(*requested.sets[i]), &message);
        message.results = layout->results;
        message.capacity = buffer_bytes() - layout->results;
        set_inputs(&message, *layout, *items);
        if (!exchange(&message, reply, prepared.estimate))
            return false;
        bool again;
        switch (result_of(reply->header)) {
            case protocol::ReplyResult::done:
                note_answered(prepared.kind, choice.path, *items, layout->results + reply->needed,
                              reply->header);
                return true;
            case protocol::ReplyResult::not_resident:
                again = load_lacking(requested, choice, reply->header.lacking);
                break;
            case protocol::ReplyResult::stale:
                again = refresh_dead(requested, choice.path, reply->header.lacking);
                break;
            default:
                again = reply->header.status.code == gpu_engine::StatusCode::insufficient_space
                            ? make_room(prepared, set, live, reply->needed, items, &room)
                            : fail_by_reply(reply->header);
        }
        if (!again)
            return false;
    }
    return fail(RequestFailure::Refused, "mirrors change too fast");
}

template <typename Message, typename Reply, typename SetInputs>
bool submit(const PreparedRequest &prepared, const RunSet &set, const Choice &choice, protocol::Message type,
            SetInputs set_inputs, uint64 *items, Layout *layout, Reply *reply) {
    const RunSet *const sets[] = {&set};
    return submit<Message>(prepared, RequestedSets{sets, 1}, choice, type, set_inputs, items, layout, reply);
}

// Requests the entries of items, and finds each run's part of them.
template <typename Message, typename SetInputs>
bool submit_entries(const PreparedRequest &prepared, const RunSet &set, const Choice &choice,
                    protocol::Message type, SetInputs set_inputs, bool with_keys, EntriesResult *result) {
    Layout layout;
    protocol::ResultReply reply;
    return (submit<Message>(prepared, set, choice, type, set_inputs, &result->items, &layout, &reply) &&
            read_runs(set, layout, reply, result->items, with_keys, result->runs)) ||
           note_failed(prepared.kind, choice);
}

// Requests the number of entries that items have, and the entries whose rows the server doesn't know to be
// visible.
template <typename Message, typename SetInputs>
bool submit_counts(const PreparedRequest &prepared, const RunSet &set, const Choice &choice,
                   protocol::Message type, SetInputs set_inputs, bool all_visible, CountResult *result) {
    result->hidden = !all_visible;
    Layout layout;
    protocol::ResultReply reply;
    return (submit<Message>(prepared, set, choice, type, set_inputs, &result->items, &layout, &reply) &&
            read_counts(set, layout, result->items, &result->counts) &&
            (all_visible || read_runs(set, layout, reply, result->items, false, result->runs))) ||
           note_failed(prepared.kind, choice);
}

}  // namespace pg_gpu::client
