#include "column/query/engine_request.h"

#include "residency/submission.h"
#include "column/scan/request_tests.h"
#include "memory.h"
#include "request_kinds.h"
#include "test_hooks.h"

namespace pg_gpu::column {

using namespace client;

namespace query = gpu_engine::query;

// ---- cost ------------------------------------------------------------------------------------------------

// What a record of the result takes in the buffer, and what it takes to make one; and what is computed of
// each row beside reading its codes, in columns read.
static constexpr uint64 kRecordBytes = 48;
static constexpr double kEntriesOfRecord = 50;
static constexpr int kColumnsOfWork = 10;
// Instead of pages it is PostgreSQL's own plan that the engine is compared with. A unit of its cost, which is
// a page read in sequence, takes 4 microseconds where rows are counted, and 20 where numerics are added up.
static constexpr double kCostUnitMicroseconds = 8;

constinit const RequestCost query_cost = {
    true, [](const Request &request) { return static_cast<double>(request.results * kRecordBytes); },
    [](const Request &request, Path path) {
        if (path == Path::Paged)
            return static_cast<double>(request.items) * kCostUnitMicroseconds;
        Request read = request;
        read.columns += kColumnsOfWork;
        read.results = static_cast<uint64>(static_cast<double>(request.results) * kEntriesOfRecord);
        return row_microseconds(read, path);
    }};

// ---- the query in the transfer buffer --------------------------------------------------------------------

namespace {

// Puts arrays into the buffer, one behind the other, or only finds out how many bytes they take.
struct Sheet {
    bool writes;
    uint64 at;
};

}  // namespace

template <typename Element>
static uint64 put(Sheet *sheet, const Element *elements, uint64 count) {
    const uint64 offset = sheet->at;
    if (sheet->writes && count > 0)
        memcpy(buffer_at(offset), elements, count * sizeof(Element));
    sheet->at = offset + align_offset(count * sizeof(Element));
    return offset;
}

template <typename Element>
static protocol::ArrayPlace put_array(Sheet *sheet, const Element *elements, uint32 count) {
    return {put(sheet, elements, count), count, 0};
}

static uint64 put_nulls(Sheet *sheet, const uint64 *nulls, uint64 places) {
    return nulls == nullptr ? protocol::nowhere : put(sheet, nulls, (places + 63) / 64);
}

static const query::Node &scan_of(const query::Query &query) {
    uint32 node = 0;
    while (query.nodes[node].kind != query::NodeKind::scan)
        node++;
    return query.nodes[node];
}

// The nodes, of which the scan reads all sources.
static protocol::ArrayPlace put_nodes(Sheet *sheet, const query::Query &query, int runs) {
    auto *nodes = allocate<query::Node>(query.node_count);
    memcpy(nodes, query.nodes, query.node_count * sizeof(*nodes));
    query::Node *scan = &nodes[&scan_of(query) - query.nodes];
    scan->runs = {0, static_cast<uint32>(runs)};
    scan->inputs = {0, query.input_count};
    scan->table = 0;
    const protocol::ArrayPlace place = put_array(sheet, nodes, query.node_count);
    pfree(nodes);
    return place;
}

static protocol::ArrayPlace put_zones(Sheet *sheet, const query::Query &query) {
    auto *places = allocate<protocol::ZonePlace>(size_t{query.zone_count} + 1);
    for (uint32 i = 0; i < query.zone_count; i++)
        places[i] = {put(sheet, query.zones[i].transitions, query.zones[i].count), query.zones[i].count};
    const protocol::ArrayPlace place = put_array(sheet, places, query.zone_count);
    pfree(places);
    return place;
}

static protocol::RunColumnPlace put_map(Sheet *sheet, const query::RunColumn &column, query::ValueType type) {
    protocol::RunColumnPlace place = {};
    place.form = static_cast<uint32>(column.form);
    place.column = column.column;
    place.offset = column.offset;
    place.power = column.power;
    place.nulls = protocol::nowhere;
    if (column.form == query::ColumnForm::map) {
        place.places = column.places;
        place.values = put(sheet, column.values, column.places * query::words_of(type));
        place.nulls = put_nulls(sheet, column.nulls, column.places);
    }
    return place;
}

static protocol::ArrayPlace put_sources(Sheet *sheet, const EngineQuery &prepared, const LiveRuns &live) {
    const query::Span types = scan_of(*prepared.query).types;
    auto *columns = allocate<protocol::RunColumnPlace>(size_t{types.count} + 1);
    protocol::RunSourcePlace sources[kMaxRuns];
    for (int run = 0; run < live.count; run++) {
        for (uint32 i = 0; i < types.count; i++)
            columns[i] =
                put_map(sheet, prepared.columns[live.places[run]][i], prepared.query->types[types.first + i]);
        sources[run] = {put(sheet, columns, types.count), static_cast<uint32>(run), 0};
    }
    pfree(columns);
    return put_array(sheet, sources, static_cast<uint32>(live.count));
}

static protocol::ArrayPlace put_query_inputs(Sheet *sheet, const query::Query &query) {
    const query::Span types = scan_of(query).types;
    auto *columns = allocate<protocol::InputColumnPlace>(size_t{types.count} + 1);
    auto *places = allocate<protocol::InputSourcePlace>(size_t{query.input_count} + 1);
    for (uint32 input = 0; input < query.input_count; input++) {
        const query::InputSource &source = query.inputs[input];
        for (uint32 i = 0; i < types.count; i++)
            columns[i] = {put(sheet, source.columns[i].values,
                              source.rows * query::words_of(query.types[types.first + i])),
                          put_nulls(sheet, source.columns[i].nulls, source.rows)};
        places[input] = {source.rows, put(sheet, columns, types.count)};
    }
    const protocol::ArrayPlace place = put_array(sheet, places, query.input_count);
    pfree(places);
    pfree(columns);
    return place;
}

static void put_query(Sheet *sheet, const EngineQuery &prepared, const LiveRuns &live,
                      const protocol::BlocksPlace &blocks, protocol::RunQuery *message) {
    const query::Query &query = *prepared.query;
    message->nodes = put_nodes(sheet, query, live.count);
    message->types = put_array(sheet, query.types, query.type_count);
    message->steps = put_array(sheet, query.steps, query.step_count);
    message->constants = put_array(sheet, query.constants, query.constant_count);
    message->outputs = put_array(sheet, query.outputs, query.output_count);
    message->accumulators = put_array(sheet, query.accumulators, query.accumulator_count);
    message->sort_keys = put_array(sheet, query.sort_keys, query.sort_key_count);
    message->zones = put_zones(sheet, query);
    message->sources = put_sources(sheet, prepared, live);
    message->inputs = put_query_inputs(sheet, query);
    message->max_rows = query.max_rows;
    message->tables = put_array(sheet, &blocks, 1);
}

static uint64 bytes_of_query(const EngineQuery &prepared, const LiveRuns &live) {
    Sheet counted = {false, 0};
    protocol::RunQuery message = {};
    put_query(&counted, prepared, live, {}, &message);
    return counted.at;
}

// ---- the result ------------------------------------------------------------------------------------------

// What doesn't come with the result comes by further requests, so that the buffer needn't have room for all.
// Beyond this size a larger buffer isn't faster.
static constexpr uint64 kPortionBytes = 8 << 20;

static bool begin_result(const RunSet &set, const protocol::QueryReply &reply, const EngineQuery &prepared,
                         const VisibleBlocks &visible, EngineQueryResult *result) {
    if (reply.outcome == 0)
        return fail(RequestFailure::NotWanted,
                    "the runs lie on several engines, and the query can't be divided");
    result->outcome = static_cast<query::QueryOutcome>(reply.outcome);
    result->record_words = reply.record_words;
    uint64 entries = 0;
    for (int i = 0; i < set.count; i++)
        entries += set.runs[i].entries;
    if (reply.rows > prepared.query->max_rows || reply.unresolved > entries ||
        (visible.all && reply.unresolved > 0))
        return fail(RequestFailure::Refused, "there are more rows than asked for");
    if (result->outcome == query::QueryOutcome::unresolved)
        result->tids = allocate<ItemPointerData>(reply.unresolved + 1);
    return true;
}

static uint64 count_all(const protocol::QueryReply &reply) {
    return static_cast<query::QueryOutcome>(reply.outcome) == query::QueryOutcome::unresolved
               ? reply.unresolved
               : reply.rows;
}

// Takes over what the reply came with.
static bool take_rows(const protocol::QueryReply &reply, uint64 left, const RecordSink &sink,
                      EngineQueryResult *result) {
    const bool are_tids = result->outcome == query::QueryOutcome::unresolved;
    const uint64 bytes = are_tids ? sizeof(ItemPointerData) : result->record_words * sizeof(uint64);
    if (reply.here > left || reply.here > buffer_bytes() ||
        !lies_in_buffer(reply.here_at, reply.here * bytes))
        return fail(RequestFailure::Refused, "results lie outside of the transfer buffer");
    if (are_tids) {
        memcpy(result->tids + result->unresolved, buffer_at(reply.here_at), reply.here * bytes);
        result->unresolved += reply.here;
    } else {
        sink.take(sink.context, reinterpret_cast<const uint64 *>(buffer_at(reply.here_at)),
                  result->record_words, reply.here);
        result->rows += reply.here;
    }
    return true;
}

static bool read_more(const Choice &choice, double estimate, protocol::QueryReply *reply) {
    auto message = make_message<protocol::ReadQuery>(protocol::Message::read_query, choice.path);
    message.capacity = buffer_bytes();
    if (!exchange(&message, reply, estimate))
        return false;
    if (result_of(reply->header) != protocol::ReplyResult::done)
        return fail_by_reply(reply->header);
    if (reply->here == 0)
        return fail(RequestFailure::Refused, "rows are missing");
    note_answered(RequestKind::RunQuery, choice.path, 1, reply->needed, reply->header);
    return true;
}

static bool read_result(const protocol::QueryReply &first, const Choice &choice, double estimate,
                        const RecordSink &sink, EngineQueryResult *result) {
    uint64 left = count_all(first);
    // An error on the way, in the sink too, ends the connection, and with it what the server keeps.
    hold_on_server();
    bool valid = take_rows(first, left, sink, result);
    left -= valid ? first.here : 0;
    while (valid && left > 0) {
        CHECK_FOR_INTERRUPTS();
        protocol::QueryReply reply;
        valid = read_more(choice, estimate, &reply) && take_rows(reply, left, sink, result);
        left -= valid ? reply.here : 0;
    }
    release_on_server();
    if (valid)
        hold(HoldPoint::Result);
    return valid;
}

// ---- the request ----------------------------------------------------------------------------------------

namespace {

enum : int { kQuery, kTests, kTestData, kGroups, kRows, kInputs };

}  // namespace

bool run_query(const RunSet &set, const Choice &choice, const RowTests &tests, const EngineQuery &prepared,
               const VisibleBlocks &visible, const RecordSink &sink, EngineQueryResult *result) {
    constexpr RequestKind kind = RequestKind::RunQuery;
    *result = {};
    if (tests.count > static_cast<int>(protocol::max_tests)) {
        fail(RequestFailure::NotWanted, "the filter has too many parts");
        return note_failed(kind, choice);
    }
    const LiveRuns live = live_runs(set);
    const TestInputs test_inputs = make_test_inputs(set, tests);
    const BlockInputs blocks = block_inputs(visible);
    Input inputs[kInputs] = {};
    inputs[kQuery].bytes = bytes_of_query(prepared, live);
    inputs[kTests] = {test_inputs.places, 0, test_inputs.place_bytes};
    inputs[kTestData] = {test_inputs.data, 0, test_inputs.data_bytes};
    inputs[kGroups] = blocks.groups;
    inputs[kRows] = blocks.rows;
    const uint64 expected = Min(Min(prepared.request.results, prepared.query->max_rows), kPortionBytes);
    const PreparedRequest requested = {kind, inputs, kInputs, Min(expected * kRecordBytes, kPortionBytes),
                                       estimate_microseconds(prepared.request, choice.path)};
    const auto set_offsets = [&](protocol::RunQuery *message, const Layout &at, uint64) {
        Sheet sheet = {true, at.inputs[kQuery]};
        put_query(&sheet, prepared, live, place_of_blocks(visible, at, kGroups, kRows), message);
        finish_test_places(tests, at.inputs[kTests], at.inputs[kTestData]);
        message->tests = at.inputs[kTests];
        message->test_count = static_cast<uint32>(tests.count);
    };
    Layout layout;
    protocol::QueryReply reply;
    uint64 items = 1;
    const bool answered = submit<protocol::RunQuery>(requested, set, choice, protocol::Message::run_query,
                                                     set_offsets, &items, &layout, &reply) &&
                          begin_result(set, reply, prepared, visible, result) &&
                          read_result(reply, choice, requested.estimate, sink, result);
    free_test_inputs(test_inputs);
    return answered || note_failed(kind, choice);
}

}  // namespace pg_gpu::column
