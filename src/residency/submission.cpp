#include "residency/submission.h"

#include <algorithm>

#include "memory.h"
#include "test_hooks.h"

namespace pg_gpu::client {

PreparedRequest request_of_items(const RunSet &set, const Choice &choice, RequestKind kind,
                                 const Input *inputs, int input_count, uint64 item_bytes, uint64 items) {
    const Request request = {kind, set.format->key_bits, set.count, items, 0, items, 0};
    return {kind, inputs, input_count, item_bytes, estimate_microseconds(request, choice.path)};
}

static uint64 input_bytes(const Input &input, uint64 items) {
    return input.bytes_per_item > 0 ? input.bytes_per_item * items : input.bytes;
}

static Layout lay_out(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live,
                      uint64 items) {
    Layout layout = {};
    uint64 end = 0;
    for (int i = 0; i < prepared.input_count; i++) {
        layout.inputs[i] = end;
        end = align_offset(end + input_bytes(prepared.inputs[i], items));
    }
    layout.zeros = end;
    layout.results = live.count == set.count ? end : align_offset(end + (items + 1) * sizeof(uint64));
    return layout;
}

// Returns the bytes that results take at least: without a single TID.
static uint64 offsets_bytes(const PreparedRequest &prepared, const LiveRuns &live, uint64 items) {
    return prepared.has_offsets ? live.count * align_offset((items + 1) * sizeof(uint64)) : 0;
}

// Returns the bytes that they are expected to take: a TID an item.
static uint64 results_bytes(const PreparedRequest &prepared, const LiveRuns &live, uint64 items) {
    return offsets_bytes(prepared, live, items) + align_offset(items * prepared.item_bytes) +
           (2 * live.count + 1) * protocol::buffer_alignment;
}

uint64 cut_items(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live, uint64 items) {
    const uint64 limit = session_transfer_limit();
    while (items > 1 &&
           lay_out(prepared, set, live, items).results + results_bytes(prepared, live, items) > limit)
        items = items / 2 + (items & 1);
    return items;
}

bool place_inputs(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live, uint64 items,
                  uint64 room, Layout *layout) {
    forget_results();
    *layout = lay_out(prepared, set, live, items);
    const uint64 wanted = layout->results + Max(results_bytes(prepared, live, items), room);
    if (!need_buffer(Max(layout->results + offsets_bytes(prepared, live, items), layout->results + room),
                     wanted))
        return false;
    for (int i = 0; i < prepared.input_count; i++)
        if (prepared.inputs[i].data != nullptr)
            memcpy(buffer_at(layout->inputs[i]), prepared.inputs[i].data,
                   input_bytes(prepared.inputs[i], items));
    if (layout->zeros < layout->results)
        memset(buffer_at(layout->zeros), 0, layout->results - layout->zeros);
    return true;
}

bool make_room(const PreparedRequest &prepared, const RunSet &set, const LiveRuns &live, uint64 needed,
               uint64 *items, uint64 *room) {
    const uint64 results = lay_out(prepared, set, live, *items).results;
    if (needed > *room && needed <= session_transfer_limit() &&
        results + needed <= session_transfer_limit()) {
        *room = needed;
        return true;
    }
    *room = 0;
    *items /= 2;
    return *items > 0 ||
           fail(RequestFailure::Memory, "one result needs more than pg_gpu.session_transfer_memory");
}

BlockInputs block_inputs(const VisibleBlocks &visible) {
    if (visible.all)
        return {};
    const gpu_engine::KnownBlocks &known = visible.known;
    return {{known.groups, 0, known.group_count * sizeof(gpu_engine::BlockGroup)},
            {known.rows, 0, known.slots * known.row_words * sizeof(uint64)}};
}

protocol::BlocksPlace place_of_blocks(const VisibleBlocks &visible, const Layout &layout, int groups,
                                      int rows) {
    if (visible.all)
        return {0, 0, 0, 0, 0, 1};
    const gpu_engine::KnownBlocks &known = visible.known;
    return {layout.inputs[groups], known.group_count, layout.inputs[rows], known.slots, known.row_words, 0};
}

// ---- several sets ----------------------------------------------------------------------------------------

RunSet join_sets(const RequestedSets &requested) {
    RunSet joined = *requested.sets[0];
    joined.count = 0;
    auto *runs = allocate<storage::RunEntry>(kMaxRuns);
    for (int i = 0; i < requested.count; i++) {
        const RunSet &set = *requested.sets[i];
        Assert(joined.count + set.count <= kMaxRuns);
        std::copy_n(set.runs, set.count, runs + joined.count);
        joined.count += set.count;
    }
    joined.runs = runs;
    return joined;
}

// Calls visit(set, its live runs, those of `runs` that are its own), a bit for each of the request's runs,
// until that returns false.
template <typename Visit>
static bool for_sets(const RequestedSets &requested, uint64 runs, Visit visit) {
    for (int i = 0; i < requested.count; i++) {
        const LiveRuns live = live_runs(*requested.sets[i]);
        if (!visit(*requested.sets[i], live, runs))
            return false;
        runs = live.count < kMaxRuns ? runs >> live.count : 0;
    }
    return true;
}

bool is_worth_a_request(const RequestedSets &requested, const Choice &choice) {
    return for_sets(requested, 0, [&](const RunSet &set, const LiveRuns &live, uint64) {
        return is_worth_a_request(set, live, choice);
    });
}

// A set's function looks at none of the bits beyond its own.
bool load_lacking(const RequestedSets &requested, const Choice &choice, uint64 lacking) {
    return for_sets(requested, lacking, [&](const RunSet &set, const LiveRuns &live, uint64 own) {
        return load_lacking(set, live, choice, own);
    });
}

bool refresh_dead(const RequestedSets &requested, Path path, uint64 stale) {
    return for_sets(requested, stale, [&](const RunSet &set, const LiveRuns &live, uint64 own) {
        return refresh_dead(set, live, path, own);
    });
}

// ---- results ---------------------------------------------------------------------------------------------

bool lies_in_buffer(uint64 offset, uint64 bytes) {
    return offset <= buffer_bytes() && bytes <= buffer_bytes() - offset;
}

bool read_runs(const RunSet &set, const Layout &layout, const protocol::ResultReply &reply, uint64 items,
               bool with_keys, RunResult *runs) {
    const LiveRuns live = live_runs(set);
    for (int i = 0; i < set.count; i++)
        runs[i] = {0, reinterpret_cast<const uint64 *>(buffer_at(layout.zeros)), nullptr, nullptr};
    for (int i = 0; i < live.count; i++) {
        RunResult *run = &runs[live.places[i]];
        if (!lies_in_buffer(reply.offsets_at[i], (items + 1) * sizeof(uint64)))
            return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
        run->offsets =
            static_cast<const uint64 *>(copy_of_results(reply.offsets_at[i], (items + 1) * sizeof(uint64)));
        run->entries = run->offsets[items];
        if (!std::is_sorted(run->offsets, run->offsets + items + 1))
            return fail(RequestFailure::Refused, "results are out of order");
        if (run->entries > buffer_bytes() ||
            !lies_in_buffer(reply.tids_at[i], run->entries * sizeof(ItemPointerData)) ||
            (with_keys && !lies_in_buffer(reply.keys_at[i], run->entries * key_bytes(set))))
            return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
        run->tids = reinterpret_cast<const ItemPointerData *>(buffer_at(reply.tids_at[i]));
        run->keys = with_keys ? buffer_at(reply.keys_at[i]) : nullptr;
    }
    hold(HoldPoint::Result);
    return true;
}

bool read_counts(const RunSet &set, const Layout &layout, uint64 items, const uint64 **counts) {
    uint64 entries = 0;
    for (int i = 0; i < set.count; i++)
        entries += set.runs[i].entries;
    if (!lies_in_buffer(layout.results, items * sizeof(uint64)))
        return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
    *counts = static_cast<const uint64 *>(copy_of_results(layout.results, items * sizeof(uint64)));
    for (uint64 i = 0; i < items; i++)
        if ((*counts)[i] > entries)
            return fail(RequestFailure::Refused, "more entries are counted than there are");
    return true;
}

}  // namespace pg_gpu::client
