// Questions about groups of columns' rows.
#include "column/query/aggregate_request.h"
#include "residency/ask.h"
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
static void for_inputs(const RunSet &set, const GroupsQuestion &question, Visit visit) {
    const LiveRuns live = live_runs(set);
    uint32 number = 0;
    for (int run = 0; run < live.count; run++)
        for (uint32 i = 0; i < question.program->input_count; i++)
            visit(number++, question.inputs[live.places[run]][i]);
}

static uint64 bytes_of_maps(const RunSet &set, const GroupsQuestion &question) {
    uint64 bytes = 0;
    for_inputs(set, question, [&bytes](uint32, const AggregateInput &input) {
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
static void put_inputs(const RunSet &set, const GroupsQuestion &question, uint64 places_at, uint64 maps_at) {
    auto *places = reinterpret_cast<protocol::AggregateInputPlace *>(buffer_at(places_at));
    for_inputs(set, question, [&](uint32 number, const AggregateInput &input) {
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

// ---- the question ----------------------------------------------------------------------------------------

namespace {

enum : int { kProgram, kPlaces, kMaps, kTests, kTestData, kGroups, kRows, kInputs };

}  // namespace

// The first records come with the answer, and the others by further requests, so that the buffer needn't
// have room for all of them. Beyond this size a larger buffer isn't faster.
static constexpr uint64 kPortionBytes = 8 << 20;

static uint64 doubtful_words(const GroupsAnswer &answer) {
    return answer.words + 1;
}

static bool begin_answer(const protocol::AggregateReply &reply, const AggregateProgram &program,
                         const VisibleBlocks &visible, uint64 max_groups, GroupsAnswer *answer) {
    *answer = {};
    answer->outcome = static_cast<gpu_engine::AggregateOutcome>(reply.outcome);
    answer->words = program.key_words + program.value_words;
    if (answer->outcome != gpu_engine::AggregateOutcome::answered)
        return true;
    if (reply.groups > max_groups || reply.doubtful > max_groups || (visible.all && reply.doubtful > 0))
        return fail(Trouble::Refused, "there are more groups than asked for");
    answer->counted = reply.counted;
    answer->group_records = allocate<uint64>(reply.groups * answer->words + 1);
    answer->doubtful_records = allocate<uint64>(reply.doubtful * doubtful_words(*answer) + 1);
    return true;
}

// Copies the records that the reply came with, behind those that are there.
static bool take_records(const protocol::AggregateReply &reply, uint64 groups, uint64 doubtful,
                         GroupsAnswer *answer) {
    const uint64 group_bytes = reply.groups_here * answer->words * sizeof(uint64);
    const uint64 doubtful_bytes = reply.doubtful_here * doubtful_words(*answer) * sizeof(uint64);
    if (reply.groups_here > groups - answer->groups || reply.doubtful_here > doubtful - answer->doubtful ||
        !lies_in_buffer(reply.groups_at, group_bytes) || !lies_in_buffer(reply.doubtful_at, doubtful_bytes))
        return fail(Trouble::Refused, "results lie outside of the transfer buffer");
    memcpy(answer->group_records + answer->groups * answer->words, buffer_at(reply.groups_at), group_bytes);
    memcpy(answer->doubtful_records + answer->doubtful * doubtful_words(*answer),
           buffer_at(reply.doubtful_at), doubtful_bytes);
    answer->groups += reply.groups_here;
    answer->doubtful += reply.doubtful_here;
    return true;
}

static bool read_more(const Choice &choice, double estimate, protocol::AggregateReply *reply) {
    auto message = make_message<protocol::ReadGroups>(protocol::Message::read_groups, choice.path);
    message.capacity = buffer_bytes();
    if (!exchange(&message, reply, estimate))
        return false;
    if (answer_of(reply->header) != protocol::Answer::done)
        return fail_by_answer(reply->header);
    if (reply->groups_here == 0 && reply->doubtful_here == 0)
        return fail(Trouble::Refused, "groups are missing");
    note_answered(RequestKind::AggregateColumn, choice.path, 1, reply->needed, reply->header);
    return true;
}

static bool read_records(const protocol::AggregateReply &first, const Choice &choice, double estimate,
                         GroupsAnswer *answer) {
    if (!take_records(first, first.groups, first.doubtful, answer))
        return false;
    // An error on the way ends the connection, and with it what the server keeps.
    hold_on_server();
    bool sound = true;
    while (sound && (answer->groups < first.groups || answer->doubtful < first.doubtful)) {
        CHECK_FOR_INTERRUPTS();
        protocol::AggregateReply reply;
        sound =
            read_more(choice, estimate, &reply) && take_records(reply, first.groups, first.doubtful, answer);
    }
    release_on_server();
    return sound;
}

static bool read_answer(const protocol::AggregateReply &first, const Choice &choice, double estimate,
                        const AggregateProgram &program, const VisibleBlocks &visible, uint64 max_groups,
                        GroupsAnswer *answer) {
    if (!begin_answer(first, program, visible, max_groups, answer))
        return false;
    if (answer->outcome != gpu_engine::AggregateOutcome::answered)
        return true;
    if (!read_records(first, choice, estimate, answer)) {
        pfree(answer->group_records);
        pfree(answer->doubtful_records);
        return false;
    }
    hold(HoldPoint::Result);
    return true;
}

bool aggregate_column(const RunSet &set, const Choice &choice, const RowTests &tests,
                      const GroupsQuestion &question, const VisibleBlocks &visible, GroupsAnswer *answer) {
    constexpr RequestKind kind = RequestKind::AggregateColumn;
    if (tests.count > static_cast<int>(protocol::max_tests)) {
        fail(Trouble::NotWanted, "the filter has too many parts");
        return note_failed(kind, choice);
    }
    const TestInputs test_inputs = make_test_inputs(set, tests);
    const BlockInputs blocks = block_inputs(visible);
    const uint64 record_bytes =
        (question.program->key_words + question.program->value_words) * sizeof(uint64);
    Input inputs[kInputs] = {};
    inputs[kProgram] = {question.program, 0, sizeof(AggregateProgram)};
    inputs[kPlaces].bytes = static_cast<uint64>(live_runs(set).count) * question.program->input_count *
                            sizeof(protocol::AggregateInputPlace);
    inputs[kMaps].bytes = bytes_of_maps(set, question);
    inputs[kTests] = {test_inputs.places, 0, test_inputs.place_bytes};
    inputs[kTestData] = {test_inputs.data, 0, test_inputs.data_bytes};
    inputs[kGroups] = blocks.groups;
    inputs[kRows] = blocks.rows;
    const Question asked = {
        kind, inputs, kInputs,
        Min(Min(question.request.results, question.max_groups) * record_bytes, kPortionBytes),
        estimate_microseconds(question.request, choice.path)};
    const auto set_inputs = [&](protocol::AggregateColumn *message, const Layout &at, uint64) {
        put_inputs(set, question, at.inputs[kPlaces], at.inputs[kMaps]);
        finish_test_places(tests, at.inputs[kTests], at.inputs[kTestData]);
        message->program = at.inputs[kProgram];
        message->inputs = at.inputs[kPlaces];
        message->tests = at.inputs[kTests];
        message->test_count = static_cast<uint32>(tests.count);
        message->blocks = place_of_blocks(visible, at, kGroups, kRows);
        message->max_groups = question.max_groups;
        message->top = question.top;
    };
    Layout layout;
    protocol::AggregateReply reply;
    uint64 items = 1;
    const bool answered =
        ask<protocol::AggregateColumn>(asked, set, choice, protocol::Message::aggregate_column, set_inputs,
                                       &items, &layout, &reply) &&
        read_answer(reply, choice, asked.estimate, *question.program, visible, question.max_groups, answer);
    free_test_inputs(test_inputs);
    return answered || note_failed(kind, choice);
}

}  // namespace pg_gpu::column
