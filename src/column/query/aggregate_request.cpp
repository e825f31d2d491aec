// Requests about groups of columns' rows.
#include "column/query/aggregate_request.h"
#include "residency/submission.h"
#include "column/scan/request_tests.h"
#include "memory.h"
#include "test_hooks.h"
#include "request_kinds.h"

namespace pg_gpu::column {

using namespace client;

using gpu_engine::AggregateInput;
using gpu_engine::AggregateProgram;

// ---- cost ------------------------------------------------------------------------------------------------

// A group's record, and what is computed of each row beside reading its codes, in columns read.
static constexpr double kGroupBytes = 48;
static constexpr double kColumnsOfWork = 2;

constinit const RequestCost aggregate_cost = {
    true, [](const Request &request) { return static_cast<double>(request.results) * kGroupBytes; },
    [](const Request &request, Path path) {
        Request read = request;
        read.columns += static_cast<int>(kColumnsOfWork);
        return row_microseconds(read, path);
    }};

// ---- maps ------------------------------------------------------------------------------------------------

static uint64 bytes_of_nulls(const AggregateInput &input) {
    return input.nulls == nullptr ? 0 : (input.places + 63) / 64 * sizeof(uint64);
}

// Calls visit(number, input) for the inputs of all runs that have entries, in the message's order.
template <typename Visit>
static void for_inputs(const RunSet &set, const GroupsRequest &prepared, Visit visit) {
    const LiveRuns live = live_runs(set);
    uint32 number = 0;
    for (int run = 0; run < live.count; run++)
        for (uint32 i = 0; i < prepared.program->input_count; i++)
            visit(number++, prepared.inputs[live.places[run]][i]);
}

static uint64 bytes_of_maps(const RunSet &set, const GroupsRequest &prepared) {
    uint64 bytes = 0;
    for_inputs(set, prepared, [&bytes](uint32, const AggregateInput &input) {
        bytes += align_offset(bytes_of_map(input)) + align_offset(bytes_of_nulls(input));
    });
    return bytes;
}

// Puts data at *at, and moves on behind it.
static uint64 put(const void *data, uint64 bytes, uint64 *at) {
    const uint64 place = *at;
    memcpy(buffer_at(place), data, bytes);
    *at += align_offset(bytes);
    return place;
}

// Fills in the inputs' places and, from `maps_at` on, the maps that they refer to.
static void put_inputs(const RunSet &set, const GroupsRequest &prepared, uint64 places_at, uint64 maps_at) {
    auto *places = reinterpret_cast<protocol::AggregateInputPlace *>(buffer_at(places_at));
    for_inputs(set, prepared, [&](uint32 number, const AggregateInput &input) {
        protocol::AggregateInputPlace place = {};
        place.kind = static_cast<uint8>(input.kind);
        place.column_null_is_null = input.column_null_is_null ? 1 : 0;
        place.column = input.column;
        place.offset = input.offset;
        place.places = input.places;
        place.of_column_null = input.of_column_null;
        place.nulls = protocol::nowhere;
        if (bytes_of_map(input) > 0)
            place.values = put(input.values, bytes_of_map(input), &maps_at);
        if (input.nulls != nullptr)
            place.nulls = put(input.nulls, bytes_of_nulls(input), &maps_at);
        places[number] = place;
    });
}

// ---- the request ----------------------------------------------------------------------------------------

namespace {

enum : int { kProgram, kPlaces, kMaps, kTests, kTestData, kGroups, kRows, kInputs };

}  // namespace

// The first records come with the result, and the others by further requests, so that the buffer needn't
// have room for all of them. Beyond this size a larger buffer isn't faster.
static constexpr uint64 kPortionBytes = 8 << 20;

static uint64 unresolved_words(const GroupsResult &result) {
    return result.words + 1;
}

static bool begin_result(const protocol::AggregateReply &reply, const AggregateProgram &program,
                         const VisibleBlocks &visible, uint64 max_groups, GroupsResult *result) {
    *result = {};
    result->outcome = static_cast<gpu_engine::AggregateOutcome>(reply.outcome);
    result->words = program.key_words + program.value_words;
    if (result->outcome != gpu_engine::AggregateOutcome::answered)
        return true;
    if (reply.groups > max_groups || reply.unresolved > max_groups || (visible.all && reply.unresolved > 0))
        return fail(RequestFailure::Refused, "there are more groups than asked for");
    result->counted = reply.counted;
    result->group_records = allocate<uint64>(reply.groups * result->words + 1);
    result->unresolved_records = allocate<uint64>(reply.unresolved * unresolved_words(*result) + 1);
    return true;
}

// Copies the records that the reply came with, behind those that are there.
static bool take_records(const protocol::AggregateReply &reply, uint64 groups, uint64 unresolved,
                         GroupsResult *result) {
    const uint64 group_bytes = reply.groups_here * result->words * sizeof(uint64);
    const uint64 unresolved_bytes = reply.unresolved_here * unresolved_words(*result) * sizeof(uint64);
    if (reply.groups_here > groups - result->groups ||
        reply.unresolved_here > unresolved - result->unresolved ||
        !lies_in_buffer(reply.groups_at, group_bytes) ||
        !lies_in_buffer(reply.unresolved_at, unresolved_bytes))
        return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
    memcpy(result->group_records + result->groups * result->words, buffer_at(reply.groups_at), group_bytes);
    memcpy(result->unresolved_records + result->unresolved * unresolved_words(*result),
           buffer_at(reply.unresolved_at), unresolved_bytes);
    result->groups += reply.groups_here;
    result->unresolved += reply.unresolved_here;
    return true;
}

static bool read_more(const Choice &choice, double estimate, protocol::AggregateReply *reply) {
    auto message = make_message<protocol::ReadGroups>(protocol::Message::read_groups, choice.path);
    message.capacity = buffer_bytes();
    if (!exchange(&message, reply, estimate))
        return false;
    if (result_of(reply->header) != protocol::ReplyResult::done)
        return fail_by_reply(reply->header);
    if (reply->groups_here == 0 && reply->unresolved_here == 0)
        return fail(RequestFailure::Refused, "groups are missing");
    note_answered(RequestKind::AggregateColumn, choice.path, 1, reply->needed, reply->header);
    return true;
}

static bool read_records(const protocol::AggregateReply &first, const Choice &choice, double estimate,
                         GroupsResult *result) {
    if (!take_records(first, first.groups, first.unresolved, result))
        return false;
    // An error on the way ends the connection, and with it what the server keeps.
    hold_on_server();
    bool valid = true;
    while (valid && (result->groups < first.groups || result->unresolved < first.unresolved)) {
        CHECK_FOR_INTERRUPTS();
        protocol::AggregateReply reply;
        valid = read_more(choice, estimate, &reply) &&
                take_records(reply, first.groups, first.unresolved, result);
    }
    release_on_server();
    return valid;
}

static bool read_result(const protocol::AggregateReply &first, const Choice &choice, double estimate,
                        const AggregateProgram &program, const VisibleBlocks &visible, uint64 max_groups,
                        GroupsResult *result) {
    if (!begin_result(first, program, visible, max_groups, result))
        return false;
    if (result->outcome != gpu_engine::AggregateOutcome::answered)
        return true;
    if (!read_records(first, choice, estimate, result)) {
        pfree(result->group_records);
        pfree(result->unresolved_records);
        return false;
    }
    hold(HoldPoint::Result);
    return true;
}

bool aggregate_column(const RunSet &set, const Choice &choice, const RowTests &tests,
                      const GroupsRequest &prepared, const VisibleBlocks &visible, GroupsResult *result) {
    constexpr RequestKind kind = RequestKind::AggregateColumn;
    if (tests.count > static_cast<int>(protocol::max_tests)) {
        fail(RequestFailure::NotWanted, "the filter has too many parts");
        return note_failed(kind, choice);
    }
    const TestInputs test_inputs = make_test_inputs(set, tests);
    const BlockInputs blocks = block_inputs(visible);
    const uint64 record_bytes =
        (prepared.program->key_words + prepared.program->value_words) * sizeof(uint64);
    Input inputs[kInputs] = {};
    inputs[kProgram] = {prepared.program, 0, sizeof(AggregateProgram)};
    inputs[kPlaces].bytes = static_cast<uint64>(live_runs(set).count) * prepared.program->input_count *
                            sizeof(protocol::AggregateInputPlace);
    inputs[kMaps].bytes = bytes_of_maps(set, prepared);
    inputs[kTests] = {test_inputs.places, 0, test_inputs.place_bytes};
    inputs[kTestData] = {test_inputs.data, 0, test_inputs.data_bytes};
    inputs[kGroups] = blocks.groups;
    inputs[kRows] = blocks.rows;
    const PreparedRequest requested = {
        kind, inputs, kInputs,
        Min(Min(prepared.request.results, prepared.max_groups) * record_bytes, kPortionBytes),
        estimate_microseconds(prepared.request, choice.path)};
    const auto set_inputs = [&](protocol::AggregateColumn *message, const Layout &at, uint64) {
        put_inputs(set, prepared, at.inputs[kPlaces], at.inputs[kMaps]);
        finish_test_places(tests, at.inputs[kTests], at.inputs[kTestData]);
        message->program = at.inputs[kProgram];
        message->inputs = at.inputs[kPlaces];
        message->tests = at.inputs[kTests];
        message->test_count = static_cast<uint32>(tests.count);
        message->blocks = place_of_blocks(visible, at, kGroups, kRows);
        message->max_groups = prepared.max_groups;
        message->top = prepared.top;
    };
    Layout layout;
    protocol::AggregateReply reply;
    uint64 items = 1;
    const bool answered =
        submit<protocol::AggregateColumn>(requested, set, choice, protocol::Message::aggregate_column,
                                          set_inputs, &items, &layout, &reply) &&
        read_result(reply, choice, requested.estimate, *prepared.program, visible, prepared.max_groups,
                    result);
    free_test_inputs(test_inputs);
    return answered || note_failed(kind, choice);
}

}  // namespace pg_gpu::column
