// Requests are answered by one function a kind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu_engine/guard.h"
#include "gpu_engine/protocol.h"
#include "server/net/connection.h"
#include "server/residency/placement.h"
#include "server/queue.h"

namespace gpu_engine::server {

class RunSet;
class Spread;

// All that a handler works with. `engine` and `stream` are null for requests that don't compute.
struct Work {
    Connection &connection;
    protocol::EngineName engine_name;
    EngineId id = 0;  // number of the engine among those of its kind
    Engine *engine = nullptr;
    Stream *stream = nullptr;
    Purpose purpose{};
    const RunSet *found = nullptr;  // the request's runs, where they were looked up to choose the engine
    // The entries that each engine gets, when the request begins a load in parts.
    const std::vector<RunShare> *shares = nullptr;
    // The handler counts these for the statistics.
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;

    Server &server() const noexcept { return connection.server; }
};

// The name and size of a load that is about to begin.
struct LoadSize {
    protocol::RunName name;
    PlacedLoad load;
};

// A Handler says how one kind of request is handled. `run` gets structures of these sizes; the reply's header
// already says `done`. It may throw Failure and std::bad_alloc.
struct Handler {
    std::size_t request_bytes;
    std::size_t reply_bytes;
    bool computes;  // takes a place in the engine's queue
    void (*run)(Work &work, const void *request, void *reply);
    // Requests with equal keys may be computed together, and a request with an empty key may not. Null for a
    // kind that is never computed together.
    std::string (*joint_key)(const void *request);
    // Makes of a request that has to wait one that can be computed with others. Returns null when it can't be
    // after all, or when the reply already says why the request can't be computed at all.
    std::shared_ptr<Joint> (*join)(Work &work, const void *request, void *reply);
    // The following say which of several engines of a kind computes. Null where they mean nothing.
    // Looks up the runs that the request asks.
    RunSet (*find_runs)(Work &work, const void *request, protocol::ReplyHeader &reply);
    // Computes a request whose runs, or whose object, are on several engines.
    void (*spread)(Spread &spread, const void *request, void *reply);
    // Returns the engines that have what the request names.
    std::vector<EngineId> (*holders)(Work &work, const void *request);
    // Returns the run that the request begins to load, and how many bytes it takes until it is finished.
    // `engine` is any of the kind.
    LoadSize (*load_size)(Engine &engine, const void *request);
};

// Returns null when there is no such kind of request.
const Handler *find_handler(std::uint16_t type) noexcept;

// ---- for the handlers ------------------------------------------------------------------------------------

[[noreturn]] inline void refuse(const char *message) {
    throw Failure{make_status(StatusCode::invalid_argument, message)};
}

inline void check(const Status &status) {
    if (!status.ok()) {
        throw Failure{status};
    }
}

// Runs `call`, which returns a Status. When the call lacks memory of an engine, mirrors are dropped and it is
// run again. No mirror is dropped where all that may be dropped are not enough for what was refused. A device
// may be short of memory below the limit, because other programs use it; it then doesn't say how much it
// lacks, and mirrors are dropped one at a time.
template <typename Call>
Status with_room_on(Work &work, EngineId id, MemoryBudget &memory, Call &&call) {
    // Other requests may take the memory that was made free, so the number of attempts is limited.
    constexpr int max_refusals = 64;
    Mirrors &mirrors = work.server().mirrors();
    static_cast<void>(memory.take_refused());
    // The piece that was refused is only the last of several that a call takes. If it finds room once the
    // others have been given back, another caller may have had that room. If it does again, the pieces don't
    // fit beside each other, and twice as much is wanted. That is a guess, and may be more than all mirrors
    // have: then they are dropped one at a time, too.
    std::uint64_t wanted = 0;
    bool was_enough = false;
    for (int refusals = 0; refusals < max_refusals;) {
        const Status status = call();
        if (status.code != StatusCode::out_of_memory) {
            return status;
        }
        const std::uint64_t refused = memory.take_refused();
        refusals += refused > 0 ? 1 : 0;
        const bool is_enough = refused > 0 && refused <= memory.free_bytes();
        const bool is_guess = is_enough && was_enough;
        wanted = is_guess ? 2 * std::max(refused, wanted) : refused;
        was_enough = is_enough;
        const bool has_room = refused > 0 && mirrors.make_room(id, memory, wanted, work.purpose);
        if (!has_room && !((refused == 0 || is_guess) && mirrors.drop_one(id, work.purpose))) {
            return status;
        }
    }
    return make_status(StatusCode::out_of_memory, "the engine's memory is taken again as soon as it is free");
}

// The same where the work's engine computes.
template <typename Call>
Status with_room(Work &work, Call &&call) {
    return with_room_on(work, work.id, work.engine->memory(), call);
}

// ---- the handlers ----------------------------------------------------------------------------------------

// These are defined in state.cpp.
void handle_ping(Work &work, const protocol::RequestHeader &request, protocol::HelloReply &reply);
void handle_state(Work &work, const protocol::RequestHeader &request, protocol::StateReply &reply);
void handle_configure(Work &work, const protocol::Configure &request, protocol::ReplyHeader &reply);
void handle_attach(Work &work, const protocol::Attach &request, protocol::ReplyHeader &reply);
void handle_evict(Work &work, const protocol::Evict &request, protocol::EvictReply &reply);
void handle_keep_runs(Work &work, const protocol::KeepRuns &request, protocol::EvictReply &reply);
void handle_mirrors(Work &work, const protocol::List &request, protocol::ListReply &reply);
void handle_statistics(Work &work, const protocol::List &request, protocol::ListReply &reply);
void handle_devices(Work &work, const protocol::List &request, protocol::ListReply &reply);
void handle_inject(Work &work, const protocol::Inject &request, protocol::ReplyHeader &reply);

// These are defined in load.cpp.
void handle_begin_kary(Work &work, const protocol::BeginKary &request, protocol::BeginReply &reply);
void handle_begin_grid(Work &work, const protocol::BeginGrid &request, protocol::BeginReply &reply);
void handle_begin_column(Work &work, const protocol::BeginColumn &request, protocol::BeginReply &reply);
void handle_begin_text(Work &work, const protocol::BeginText &request, protocol::BeginReply &reply);
// These return how many bytes the objects take until they are finished, and throw Failure for what can't be.
std::uint64_t load_bytes(Engine &engine, const protocol::BeginKary &request);
std::uint64_t load_bytes(Engine &engine, const protocol::BeginGrid &request);
std::uint64_t load_bytes(Engine &engine, const protocol::BeginColumn &request);
std::uint64_t load_bytes(Engine &engine, const protocol::BeginText &request);
// Returns how a run can be divided. The result refers to the engine and the request.
DivisibleRun divisible(Engine &engine, const protocol::BeginColumn &request);
void handle_append_pages(Work &work, const protocol::AppendPages &request, protocol::ReplyHeader &reply);
void handle_finish(Work &work, const protocol::HandleRequest &request, protocol::HandleReply &reply);
void handle_drop(Work &work, const protocol::HandleRequest &request, protocol::ReplyHeader &reply);
void handle_set_dead(Work &work, const protocol::SetDead &request, protocol::ReplyHeader &reply);

// These are defined in load_parts.cpp.
void spread_begin_column(Spread &spread, const protocol::BeginColumn &request, protocol::BeginReply &reply);
void spread_append_pages(Spread &spread, const protocol::AppendPages &request, protocol::ReplyHeader &reply);
void spread_finish(Spread &spread, const protocol::HandleRequest &request, protocol::HandleReply &reply);
void spread_set_dead(Spread &spread, const protocol::SetDead &request, protocol::ReplyHeader &reply);

// These are defined in kary.cpp.
void handle_lookup_kary(Work &work, const protocol::LookupKary &request, protocol::ResultReply &reply);
void handle_range_kary(Work &work, const protocol::RangeKary &request, protocol::ResultReply &reply);
void handle_count_kary(Work &work, const protocol::CountKary &request, protocol::ResultReply &reply);

// These are defined in grid.cpp.
void handle_search_grid(Work &work, const protocol::SearchGrid &request, protocol::ResultReply &reply);
void handle_count_grid(Work &work, const protocol::CountGrid &request, protocol::ResultReply &reply);
void handle_match_grid(Work &work, const protocol::MatchGrid &request, protocol::ResultReply &reply);

// These are defined in column.cpp.
void handle_count_column(Work &work, const protocol::QueryColumn &request, protocol::ColumnReply &reply);
void handle_match_column(Work &work, const protocol::QueryColumn &request, protocol::ColumnReply &reply);
void handle_merge_column_dictionaries(Work &work, const protocol::MergeColumnDictionaries &request,
                                      protocol::MergeColumnDictionariesReply &reply);

// These are defined in query.cpp.
void result_run_query(Work &work, const protocol::RunQuery &request, protocol::QueryReply &reply);
void spread_run_query(Spread &spread, const protocol::RunQuery &request, protocol::QueryReply &reply);
void result_read_query(Work &work, const protocol::ReadQuery &request, protocol::QueryReply &reply);

// These are defined in strings.cpp.
void handle_number_strings(Work &work, const protocol::NumberStrings &request,
                           protocol::NumberStringsReply &reply);
void spread_number_strings(Spread &spread, const protocol::NumberStrings &request,
                           protocol::NumberStringsReply &reply);
void handle_read_strings(Work &work, const protocol::ReadStrings &request, protocol::ReadStringsReply &reply);
void spread_read_strings(Spread &spread, const protocol::ReadStrings &request,
                         protocol::ReadStringsReply &reply);
void handle_match_strings(Work &work, const protocol::MatchStrings &request,
                          protocol::MatchStringsReply &reply);
void spread_match_strings(Spread &spread, const protocol::MatchStrings &request,
                          protocol::MatchStringsReply &reply);

// These are defined in text.cpp.
void handle_search_text(Work &work, const protocol::SearchText &request, protocol::ResultReply &reply);
void spread_search_text(Spread &spread, const protocol::SearchText &request, protocol::ResultReply &reply);
std::string joint_key(const protocol::SearchText &request);
std::shared_ptr<Joint> join_search_text(Work &work, const protocol::SearchText &request,
                                        protocol::ResultReply &reply);
void handle_count_text(Work &work, const protocol::CountText &request, protocol::ResultReply &reply);
void handle_intersect_text(Work &work, const protocol::IntersectText &request, protocol::ResultReply &reply);

}  // namespace gpu_engine::server
