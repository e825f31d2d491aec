// Runs of keys: their mirrors, and lookups, ranges and counts.
#include "kary/request.h"
#include "residency/submission.h"
#include "test_hooks.h"
#include "request_kinds.h"

namespace pg_gpu::kary {

using namespace client;

// ---- mirrors ---------------------------------------------------------------------------------------------

// Pages have keys first, then as many TIDs.
static MirroredPages mirrored_pages_of(const MirrorFormat &format, const storage::RunEntry &run) {
    const auto &kary = static_cast<const KaryMirror &>(format);
    MirroredPages pages = {};
    pages.count = static_cast<uint32>((format.mirrored_entries(run) + kary.per_page - 1) / kary.per_page);
    pages.per_page = kary.per_page;
    pages.key_bytes = kary.key_bytes;
    return pages;
}

static bool begin_kary(const NewMirror &mirror, protocol::BeginReply *reply) {
    auto message = make_message<protocol::BeginKary>(protocol::Message::begin_kary, mirror.path);
    message.key_bits = static_cast<uint32>(mirror.set->format->key_bits);
    return begin_mirror(mirror, &message, reply);
}

// The server looks whether the entries are sorted.
constinit const MirrorKind kary_mirror = {mirrored_pages_of, begin_kary, {0, 1, 1}, false};

// ---- cost ------------------------------------------------------------------------------------------------

// Counting one range pages finds its two ends in each run, as two lookups do, but never jointly.
static constexpr double kKeysPerLoneSearch = 20;

// The time of a look whether an entry's heap block is all-visible, where each one must be looked at.
static constexpr double kVisibilityLook = 0.015;

// The cost of a leaf page that a lookup reads, in microseconds: keys that lie close together share it.
static constexpr double kLeafPage = 0.8;

static double leaf_pages_visited(const Request &request) {
    const double leaves = static_cast<double>(request.entries) * entry_bytes(request) / BLCKSZ;
    return Min(static_cast<double>(request.items) * request.runs, leaves);
}

// Returns the microseconds of looking for a key in each run, and of the entries found.
static double search_work(const Request &request, double searches, Path path) {
    const CostConstants &costs = cost_constants();
    const int p = static_cast<int>(path);
    return static_cast<double>(request.items) * searches * request.runs * costs.key[p] +
           static_cast<double>(request.results) * costs.entry[p];
}

constinit const RequestCost lookup_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.items) * (request.key_bits / 8.0 + request.runs * sizeof(uint64)) +
               static_cast<double>(request.results) * sizeof(ItemPointerData);
    },
    [](const Request &request, Path path) {
        return search_work(request, 1, path) +
               (path == Path::Paged ? leaf_pages_visited(request) * kLeafPage : 0);
    }};

constinit const RequestCost range_cost = {
    true,
    [](const Request &request) {
        return static_cast<double>(request.items) * (request.key_bits / 4.0 + request.runs * sizeof(uint64)) +
               static_cast<double>(request.results) * entry_bytes(request);
    },
    [](const Request &request, Path path) { return search_work(request, 2, path); }};

constinit const RequestCost count_cost = {true,
                                          [](const Request &request) {
                                              return static_cast<double>(request.items) *
                                                     (request.key_bits / 4.0 + sizeof(uint64));
                                          },
                                          [](const Request &request, Path path) {
                                              if (path != Path::Paged)
                                                  return search_work(request, 2, path);
                                              return search_work(request, 2 * kKeysPerLoneSearch, path) +
                                                     static_cast<double>(request.results) * kVisibilityLook;
                                          }};

// ---- requests --------------------------------------------------------------------------------------------

bool lookup_kary(const RunSet &set, const Choice &choice, const void *keys, uint64 key_count,
                 EntriesResult *result) {
    const Input inputs[] = {{keys, key_bytes(set), 0}};
    const PreparedRequest prepared =
        request_of_items(set, choice, RequestKind::LookupKary, inputs, 1, sizeof(ItemPointerData), key_count);
    result->items = key_count;
    const auto set_inputs = [](protocol::LookupKary *message, const Layout &at, uint64 items) {
        message->keys = at.inputs[0];
        message->count = items;
    };
    return submit_entries<protocol::LookupKary>(prepared, set, choice, protocol::Message::lookup_kary,
                                                set_inputs, false, result);
}

// Finds what a lookup has found without offsets, which is the server's word as well.
static bool read_matches(const RunSet &set, const protocol::ResultReply &reply, Matched form,
                         MatchesResult *result) {
    const LiveRuns live = live_runs(set);
    result->count = 0;
    for (int i = 0; i < set.count; i++)
        result->runs[i] = {};
    for (int i = 0; i < live.count; i++) {
        MatchedEntries *run = &result->runs[live.places[i]];
        run->count = reply.found[i];
        // Keys of one request are distinct.
        if (run->count > set.runs[live.places[i]].entries)
            return fail(RequestFailure::Refused, "more entries are found than there are");
        result->count += run->count;
        if (form == Matched::Number)
            continue;
        if (!lies_in_buffer(reply.tids_at[i], run->count * sizeof(ItemPointerData)) ||
            (form == Matched::Numbered && !lies_in_buffer(reply.keys_at[i], run->count * sizeof(uint32))))
            return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
        run->tids = reinterpret_cast<const ItemPointerData *>(buffer_at(reply.tids_at[i]));
        run->items = form == Matched::Numbered ? reinterpret_cast<const uint32 *>(buffer_at(reply.keys_at[i]))
                                               : nullptr;
    }
    hold(HoldPoint::Result);
    return true;
}

bool match_kary(const RunSet &set, const Choice &choice, const void *keys, uint64 key_count, Matched form,
                MatchesResult *result) {
    const Input inputs[] = {{keys, key_bytes(set), 0}};
    const uint64 tid_bytes = form == Matched::Number ? 0 : sizeof(ItemPointerData);
    const uint64 item_bytes = form == Matched::Numbered ? sizeof(uint32) : 0;
    PreparedRequest prepared =
        request_of_items(set, choice, RequestKind::LookupKary, inputs, 1, tid_bytes + item_bytes, key_count);
    prepared.has_offsets = false;
    result->items = key_count;
    Layout layout;
    protocol::ResultReply reply;
    const auto set_inputs = [form](protocol::LookupKary *message, const Layout &at, uint64 items) {
        message->keys = at.inputs[0];
        message->count = items;
        message->form = static_cast<uint32>(form == Matched::Numbered ? protocol::LookupForm::numbered
                                            : form == Matched::Tids   ? protocol::LookupForm::tids
                                                                      : protocol::LookupForm::number);
    };
    return (submit<protocol::LookupKary>(prepared, set, choice, protocol::Message::lookup_kary, set_inputs,
                                         &result->items, &layout, &reply) &&
            read_matches(set, reply, form, result)) ||
           note_failed(RequestKind::LookupKary, choice);
}

bool range_kary(const RunSet &set, const Choice &choice, const void *low, const void *high,
                uint64 range_count, bool with_keys, EntriesResult *result) {
    const Input inputs[] = {{low, key_bytes(set), 0}, {high, key_bytes(set), 0}};
    const PreparedRequest prepared =
        request_of_items(set, choice, RequestKind::RangeKary, inputs, 2,
                         sizeof(ItemPointerData) + (with_keys ? key_bytes(set) : 0), range_count);
    result->items = range_count;
    const auto set_inputs = [with_keys](protocol::RangeKary *message, const Layout &at, uint64 items) {
        message->low = at.inputs[0];
        message->high = at.inputs[1];
        message->count = items;
        message->with_keys = with_keys ? 1 : 0;
    };
    return submit_entries<protocol::RangeKary>(prepared, set, choice, protocol::Message::range_kary,
                                               set_inputs, with_keys, result);
}

bool count_kary(const RunSet &set, const Choice &choice, const void *low, const void *high,
                uint64 range_count, const VisibleBlocks &visible, CountResult *result) {
    const BlockInputs blocks = block_inputs(visible);
    const Input inputs[] = {{low, key_bytes(set), 0}, {high, key_bytes(set), 0}, blocks.groups, blocks.rows};
    const PreparedRequest prepared = request_of_items(set, choice, RequestKind::CountKary, inputs, 4,
                                                      sizeof(uint64) + sizeof(ItemPointerData), range_count);
    result->items = range_count;
    const auto set_inputs = [&visible](protocol::CountKary *message, const Layout &at, uint64 items) {
        message->low = at.inputs[0];
        message->high = at.inputs[1];
        message->count = items;
        message->blocks = place_of_blocks(visible, at, 2, 3);
    };
    return submit_counts<protocol::CountKary>(prepared, set, choice, protocol::Message::count_kary,
                                              set_inputs, visible.all, result);
}

}  // namespace pg_gpu::kary
