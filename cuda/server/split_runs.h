// Answers about runs of which several engines have parts: what the parts answer for a run is put together.
#pragma once

#include <vector>

#include "server/match_results.h"
#include "server/spread.h"

namespace gpu_engine::server {

// Says whether one of the request's runs is in parts.
bool has_split_runs(const Spread &spread);

// What the engines answered, and where among the results.
template <typename Reply>
struct PartAnswers {
    const std::vector<PartPlace> &places;
    const std::vector<Reply> &replies;
};

// Entries that items ask for. Those of sorted runs lie in the order of key and TID in each part, and parts in
// the order of entries, so they follow each other item by item; points lie in no certain order anyway.
struct EntryResults {
    std::uint64_t results;
    std::uint64_t capacity;
    std::uint64_t items;
    std::uint64_t key_bytes;  // 0: no keys are wanted
    bool has_entries;         // false: there are sums only
};
void put_together(Spread &spread, const EntryResults &wanted, const Sums &sums,
                  const PartAnswers<protocol::ResultReply> &answers, protocol::ResultReply *reply);
// Counts of a run's parts are added up, and rows follow each other.
void put_together(Spread &spread, const protocol::AskColumn &request,
                  const PartAnswers<protocol::ColumnReply> &answers, protocol::ColumnReply *reply);

inline EntryResults entries_of(const protocol::LookupKary &request) {
    return {request.results, request.capacity, request.count, 0, true};
}
inline EntryResults entries_of(const protocol::RangeKary &request) {
    return {request.results, request.capacity, request.count,
            request.with_keys != 0 ? request.key_bits / 8U : 0, true};
}
inline EntryResults entries_of(const protocol::CountKary &request) {
    return {request.results, request.capacity, request.count, 0, request.blocks.all_visible == 0};
}

inline EntryResults entries_of(const protocol::SearchGrid &request) {
    return {request.results, request.capacity, request.boxes.count, 0, true};
}
inline EntryResults entries_of(const protocol::CountGrid &request) {
    return {request.results, request.capacity, request.boxes.count, 0, request.blocks.all_visible == 0};
}
inline EntryResults entries_of(const protocol::MatchGrid &request) {
    return {request.results, request.capacity, request.count, 0, true};
}

// The parts that have pieces of each run, which were asked all items.
std::vector<std::vector<MatchPart>> pieces_of_runs(Spread &spread);

// The same for any request. Inverted lists are never in parts.
template <typename Request, typename Reply>
void put_runs_together(Spread &spread, const Request &request, const Sums &sums,
                       const PartAnswers<Reply> &answers, Reply *reply) {
    if constexpr (std::is_same_v<Request, protocol::LookupKary>) {
        if (!has_offsets(request)) {
            put_matches_together(spread, request, pieces_of_runs(spread), answers.replies, reply);
            return;
        }
    }
    if constexpr (requires { entries_of(request); }) {
        put_together(spread, entries_of(request), sums, answers, reply);
    } else if constexpr (std::is_same_v<Request, protocol::AskColumn>) {
        put_together(spread, request, answers, reply);
    } else {
        throw Failure{make_status(StatusCode::internal, "runs of this kind have no parts")};
    }
}

}  // namespace gpu_engine::server
