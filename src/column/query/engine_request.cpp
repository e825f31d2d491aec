#include "column/query/engine_request.h"

#include "column/query/query_message.h"
#include "memory.h"
#include "request_kinds.h"
#include "residency/submission.h"
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

// ---- the result ------------------------------------------------------------------------------------------

// What doesn't come with the result comes by further requests, so that the buffer needn't have room for all.
// Beyond this size a larger buffer isn't faster.
static constexpr uint64 kPortionBytes = 8 << 20;

// How many rows of the table may be unresolved.
static uint64 max_unresolved(const EngineQuery &prepared, uint32 table) {
    if (table >= prepared.table_count || prepared.tables[table].set == nullptr ||
        prepared.tables[table].visible->all)
        return 0;
    const RunSet &set = *prepared.tables[table].set;
    uint64 entries = 0;
    for (int i = 0; i < set.count; i++)
        entries += set.runs[i].entries;
    return entries;
}

static bool begin_result(const protocol::QueryReply &reply, const EngineQuery &prepared,
                         EngineQueryResult *result) {
    if (reply.outcome == 0)
        return fail(RequestFailure::NotWanted,
                    "the runs lie on several engines, and the query can't be divided");
    result->outcome = static_cast<query::QueryOutcome>(reply.outcome);
    result->record_words = reply.record_words;
    result->unresolved_table = reply.unresolved_table;
    if (reply.rows > prepared.query->max_rows ||
        (reply.unresolved > 0 && reply.unresolved > max_unresolved(prepared, reply.unresolved_table)))
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

bool run_query(const Choice &choice, const EngineQuery &prepared, const RecordSink &sink,
               EngineQueryResult *result) {
    constexpr RequestKind kind = RequestKind::RunQuery;
    *result = {};
    auto **sets = allocate<const RunSet *>(prepared.table_count);
    RequestedSets all = {sets, 0};
    for (uint32 i = 0; i < prepared.table_count; i++)
        if (prepared.tables[i].set != nullptr)
            sets[all.count++] = prepared.tables[i].set;
    if (count_tests(prepared) > protocol::max_tests) {
        fail(RequestFailure::NotWanted, "the filter has too many parts");
        return note_failed(kind, choice);
    }
    const Input input = {nullptr, 0, bytes_of_query(prepared)};
    const uint64 expected = Min(Min(prepared.request.results, prepared.query->max_rows), kPortionBytes);
    const PreparedRequest requested = {kind, &input, 1, Min(expected * kRecordBytes, kPortionBytes),
                                       estimate_microseconds(prepared.request, choice.path)};
    const auto set_offsets = [&](protocol::RunQuery *message, const Layout &at, uint64) {
        put_query(prepared, at.inputs[0], message);
    };
    Layout layout;
    protocol::QueryReply reply;
    uint64 items = 1;
    const bool answered = submit<protocol::RunQuery>(requested, all, choice, protocol::Message::run_query,
                                                     set_offsets, &items, &layout, &reply) &&
                          begin_result(reply, prepared, result) &&
                          read_result(reply, choice, requested.estimate, sink, result);
    pfree(sets);
    return answered || note_failed(kind, choice);
}

}  // namespace pg_gpu::column
