// Requests about columns: filters, counts and matching rows.
#include "column/scan/request.h"
#include "residency/submission.h"
#include "column/scan/request_tests.h"
#include "test_hooks.h"
#include "request_kinds.h"

namespace pg_gpu::column {

using namespace client;

// ---- mirrors ---------------------------------------------------------------------------------------------

// The pages of TIDs come first, then the stream, which fills its own without gaps.
static MirroredPages mirrored_pages_of(const MirrorFormat &format, const storage::RunEntry &run) {
    MirroredPages pages = {};
    if (format.mirrored_entries(run) == 0)
        return pages;
    pages.ragged_pages = run.sections[storage::kEntrySection].pages;
    pages.count = pages.ragged_pages + run.sections[storage::kEntrySection + 1].pages;
    pages.stream_bytes = static_cast<const ColumnMirror &>(format).stream_bytes(run);
    return pages;
}

static bool begin_column(const NewMirror &mirror, protocol::BeginReply *reply) {
    const auto &format = static_cast<const ColumnMirror &>(*mirror.set->format);
    auto message = make_message<protocol::BeginColumn>(protocol::Message::begin_column, mirror.path);
    return (format.describe(mirror.set->index, *mirror.run, &message.layout) || fail_as_recycled()) &&
           begin_mirror(mirror, &message, reply);
}

// Columns are complete once they have come.
constinit const MirrorKind column_mirror = {mirrored_pages_of, begin_column, {0, 0, 0}, false};

// ---- cost ------------------------------------------------------------------------------------------------

// A column's code is read in bulk, in entries read on the same path. The host engine does for one thread what
// a session does.
static constexpr double kEntriesPerCode = 0.6;
static constexpr double kEntriesPerDeviceCode = 0.1;

static double code_microseconds(Path path) {
    const CostConstants &costs = cost_constants();
    if (path == Path::Cuda)
        return costs.entry[static_cast<int>(Path::Cuda)] * kEntriesPerDeviceCode;
    const double alone = costs.entry[static_cast<int>(Path::Paged)] * kEntriesPerCode;
    return path == Path::Host ? alone / host_threads() : alone;
}

double row_microseconds(const Request &request, Path path) {
    return static_cast<double>(request.entries) * code_microseconds(path) * request.columns +
           static_cast<double>(request.results) * cost_constants().entry[static_cast<int>(path)];
}

constinit const RequestCost count_rows_cost = {true,
                                               [](const Request &request) {
                                                   return static_cast<double>(request.results) *
                                                          sizeof(gpu_engine::UnresolvedRow);
                                               },
                                               row_microseconds};

constinit const RequestCost match_rows_cost = {
    true,
    [](const Request &request) { return static_cast<double>(request.results) * sizeof(ItemPointerData); },
    row_microseconds};

constinit const RequestCost merge_dictionaries_cost = {
    false,
    [](const Request &request) {
        return static_cast<double>(request.items) * (2 * sizeof(uint64) + sizeof(uint32));
    },
    [](const Request &request, Path path) {
        return static_cast<double>(request.items) * cost_constants().sort[static_cast<int>(path)];
    }};

// ---- requests -------------------------------------------------------------------------------------------

namespace {

enum : int { kPlaces, kData, kStarts, kGroups, kRows, kInputs };

}  // namespace

static double estimate_of(const RunSet &set, RequestKind kind, int columns, Path path) {
    Request request = {};
    request.kind = kind;
    request.runs = set.count;
    request.columns = columns;
    for (int i = 0; i < set.count; i++)
        request.entries += set.format->mirrored_entries(set.runs[i]);
    return estimate_microseconds(request, path);
}

// Returns whether the rows that a reply announces, which are returned as Row, lie within the buffer.
template <typename Row>
static bool rows_lie_in_buffer(const protocol::ColumnReply &reply, int run) {
    return reply.found[run] <= buffer_bytes() &&
           lies_in_buffer(reply.found_at[run], reply.found[run] * sizeof(Row));
}

// Asks; the message's target is filled in already.
template <typename SetTarget>
static bool submit_columns(const RunSet &set, const Choice &choice, RequestKind kind, protocol::Message type,
                           const RowTests &tests, Input starts, const VisibleBlocks &visible,
                           uint64 expected_bytes, SetTarget set_target, Layout *layout,
                           protocol::ColumnReply *reply) {
    if (tests.count > static_cast<int>(protocol::max_tests))
        return fail(RequestFailure::NotWanted, "the filter has too many parts");
    const TestInputs test_inputs = make_test_inputs(set, tests);
    Input inputs[kInputs];
    inputs[kPlaces] = {test_inputs.places, 0, test_inputs.place_bytes};
    inputs[kData] = {test_inputs.data, 0, test_inputs.data_bytes};
    inputs[kStarts] = starts;
    const BlockInputs blocks = block_inputs(visible);
    inputs[kGroups] = blocks.groups;
    inputs[kRows] = blocks.rows;
    const PreparedRequest prepared = {kind, inputs, kInputs, expected_bytes,
                                      estimate_of(set, kind, tests.count + 1, choice.path)};
    const auto set_inputs = [&](protocol::QueryColumn *message, const Layout &at, uint64) {
        finish_test_places(tests, at.inputs[kPlaces], at.inputs[kData]);
        message->tests = at.inputs[kPlaces];
        message->test_count = static_cast<uint32>(tests.count);
        message->starts = at.inputs[kStarts];
        message->blocks = place_of_blocks(visible, at, kGroups, kRows);
        set_target(message);
    };
    uint64 items = 1;
    const bool answered =
        submit<protocol::QueryColumn>(prepared, set, choice, type, set_inputs, &items, layout, reply);
    free_test_inputs(test_inputs);
    return answered;
}

bool count_column(const RunSet &set, const Choice &choice, const RowTests &tests,
                  const gpu_engine::ColumnTarget &target, const uint64 *places, const VisibleBlocks &visible,
                  ColumnsResult *result) {
    const bool counts_rows = target.kind == gpu_engine::TargetKind::rows;
    const RequestKind kind = counts_rows ? RequestKind::CountColumn : RequestKind::CountColumnValues;
    const LiveRuns live = live_runs(set);
    uint64 expected = 0;
    for (int i = 0; i < live.count; i++)
        expected += align_offset(places[live.places[i]] * sizeof(uint64));
    const bool has_starts = target.kind == gpu_engine::TargetKind::bins;
    Layout layout;
    protocol::ColumnReply reply;
    const auto set_target = [&](protocol::QueryColumn *message) {
        message->target = static_cast<uint32>(target.kind);
        message->column = target.column;
        message->slots = target.slots;
        message->scale = static_cast<uint32>(target.scale);
        message->even = target.even;
    };
    if (!submit_columns(
            set, choice, kind,
            counts_rows ? protocol::Message::count_column : protocol::Message::count_column_values, tests,
            {target.starts, 0, has_starts ? (target.slots - 1) * sizeof(uint64) : 0}, visible, expected,
            set_target, &layout, &reply))
        return note_failed(kind, choice);
    for (int i = 0; i < set.count; i++)
        result->runs[i] = {};
    for (int i = 0; i < live.count; i++) {
        ColumnCounts *run = &result->runs[live.places[i]];
        if (!lies_in_buffer(reply.counts_at[i], places[live.places[i]] * sizeof(uint64)) ||
            !rows_lie_in_buffer<gpu_engine::UnresolvedRow>(reply, i) || (visible.all && reply.found[i] > 0)) {
            fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
            return note_failed(kind, choice);
        }
        run->counts = reinterpret_cast<const uint64 *>(buffer_at(reply.counts_at[i]));
        run->found = reply.found[i];
        run->unresolved = static_cast<const gpu_engine::UnresolvedRow *>(
            copy_of_results(reply.found_at[i], run->found * sizeof(gpu_engine::UnresolvedRow)));
        if (target.kind == gpu_engine::TargetKind::bounds)
            continue;
        for (uint64 row = 0; row < run->found; row++) {
            if (run->unresolved[row].number < places[live.places[i]])
                continue;
            fail(RequestFailure::Refused, "a row's number is none of those counted");
            return note_failed(kind, choice);
        }
    }
    hold(HoldPoint::Result);
    return true;
}

bool match_column(const RunSet &set, const Choice &choice, const RowTests &tests, RowsResult *result) {
    const LiveRuns live = live_runs(set);
    Layout layout;
    protocol::ColumnReply reply;
    // Whoever sees them.
    const VisibleBlocks visible = {{}, true};
    if (!submit_columns(
            set, choice, RequestKind::MatchColumn, protocol::Message::match_column, tests, {nullptr, 0, 0},
            visible, 0, [](protocol::QueryColumn *) {}, &layout, &reply))
        return note_failed(RequestKind::MatchColumn, choice);
    for (int i = 0; i < set.count; i++)
        result->found[i] = 0;
    for (int i = 0; i < live.count; i++) {
        if (!rows_lie_in_buffer<ItemPointerData>(reply, i)) {
            fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
            return note_failed(RequestKind::MatchColumn, choice);
        }
        result->tids[live.places[i]] = static_cast<const ItemPointerData *>(
            copy_of_results(reply.found_at[i], reply.found[i] * sizeof(ItemPointerData)));
        result->found[live.places[i]] = reply.found[i];
    }
    hold(HoldPoint::Result);
    return true;
}

// ---- dictionaries ----------------------------------------------------------------------------------------

// The reply is checked because it goes into an index for good.
static bool is_valid(const uint64 *from, uint64 from_count, const uint32 *map, const uint64 *entries,
                     uint64 count) {
    for (uint64 i = 0; i < from_count; i++)
        if (map[i] >= count || entries[map[i]] != from[i])
            return false;
    return true;
}

// Ascending entries, each of which is one of theirs.
static bool is_union(const uint64 *entries, uint64 count, const uint32 *main_map, uint64 main_count,
                     const uint32 *delta_map, uint64 delta_count) {
    uint64 main = 0;
    uint64 delta = 0;
    for (uint64 i = 0; i < count; i++) {
        const bool in_main = main < main_count && main_map[main] == i;
        const bool in_delta = delta < delta_count && delta_map[delta] == i;
        if ((!in_main && !in_delta) || (i > 0 && entries[i - 1] >= entries[i]))
            return false;
        main += in_main ? 1 : 0;
        delta += in_delta ? 1 : 0;
    }
    return main == main_count && delta == delta_count;
}

static bool submit_merge(const Choice &choice, const uint64 *main, uint64 main_count, const uint64 *delta,
                         uint64 delta_count, protocol::MergeColumnDictionaries *message,
                         protocol::MergeColumnDictionariesReply *reply) {
    *message = make_message<protocol::MergeColumnDictionaries>(protocol::Message::merge_column_dictionaries,
                                                               choice.path);
    message->main_count = main_count;
    message->delta_count = delta_count;
    message->delta = align_offset(main_count * sizeof(uint64));
    message->entries = align_offset(message->delta + delta_count * sizeof(uint64));
    message->main_map = align_offset(message->entries + (main_count + delta_count) * sizeof(uint64));
    message->delta_map = align_offset(message->main_map + main_count * sizeof(uint32));
    const uint64 bytes = align_offset(message->delta_map + delta_count * sizeof(uint32));
    Request request = {};
    request.kind = RequestKind::MergeColumnDictionaries;
    request.items = main_count + delta_count;
    forget_results();
    if (!ready_for(choice.path) || !need_buffer(bytes, bytes))
        return false;
    memcpy(buffer_at(message->main), main, main_count * sizeof(uint64));
    memcpy(buffer_at(message->delta), delta, delta_count * sizeof(uint64));
    if (!exchange(message, reply, estimate_microseconds(request, choice.path)))
        return false;
    if (result_of(reply->header) != protocol::ReplyResult::done)
        return fail_by_reply(reply->header);
    note_answered(RequestKind::MergeColumnDictionaries, choice.path, request.items, bytes, reply->header);
    return true;
}

bool merge_column_dictionaries(const Choice &choice, const uint64 *main, uint64 main_count,
                               const uint64 *delta, uint64 delta_count, const uint64 **entries, uint64 *count,
                               const uint32 **main_map, const uint32 **delta_map) {
    protocol::MergeColumnDictionaries message;
    protocol::MergeColumnDictionariesReply reply;
    if (!submit_merge(choice, main, main_count, delta, delta_count, &message, &reply))
        return note_failed(RequestKind::MergeColumnDictionaries, choice);
    *count = reply.count;
    if (*count > main_count + delta_count) {
        fail(RequestFailure::Refused, "merged dictionaries are too long");
        return note_failed(RequestKind::MergeColumnDictionaries, choice);
    }
    *entries = static_cast<const uint64 *>(copy_of_results(message.entries, *count * sizeof(uint64)));
    *main_map = static_cast<const uint32 *>(copy_of_results(message.main_map, main_count * sizeof(uint32)));
    *delta_map =
        static_cast<const uint32 *>(copy_of_results(message.delta_map, delta_count * sizeof(uint32)));
    if (is_valid(main, main_count, *main_map, *entries, *count) &&
        is_valid(delta, delta_count, *delta_map, *entries, *count) &&
        is_union(*entries, *count, *main_map, main_count, *delta_map, delta_count)) {
        hold(HoldPoint::Result);
        return true;
    }
    fail(RequestFailure::Refused, "merged dictionaries are wrong");
    return note_failed(RequestKind::MergeColumnDictionaries, choice);
}

}  // namespace pg_gpu::column
