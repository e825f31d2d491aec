// Requests that are answered in parts, whose results lie in the transfer buffer.
#pragma once

#include "server/requests/split_runs.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {

inline std::uint64_t &found_in(protocol::ResultReply &reply) {
    return reply.tids;
}
inline std::uint64_t &found_in(protocol::ColumnReply &reply) {
    return reply.rows;
}

// Asks each part by compute(part, work, place, reply), with a place of its own among the results, which are
// divided by weights at first. How much a part takes only the result tells, so parts that didn't fit are
// asked again, once that is known. Then finish(part_results) adds them up.
template <typename Reply, typename Request, typename Compute, typename Finish>
void compute_parts(Spread &spread, const Request &request, const std::vector<double> &weights, Reply &reply,
                   Compute compute, Finish finish) {
    // A part may learn of its needs one kind of result after the other.
    constexpr int max_rounds = 8;
    std::vector<PartPlace> places(spread.size());
    std::vector<Reply> replies(spread.size());
    for (int round = 0; round < max_rounds; ++round) {
        place_parts(weights, request.results, request.capacity, &places, &reply.needed);
        const std::span<const Status> statuses = spread.try_run([&](std::size_t part, Work &work) {
            replies[part] = Reply{};
            work.items = 0;
            work.bytes = 0;
            compute(part, work, places[part], replies[part]);
        });
        bool fits = true;
        found_in(reply) = 0;
        reply.needed = 0;
        for (std::size_t part = 0; part < spread.size(); ++part) {
            fits = fits && statuses[part].ok();
            places[part].needed = std::max(places[part].needed, aligned(replies[part].needed));
            reply.needed += places[part].needed;
            found_in(reply) += found_in(replies[part]);
        }
        if (fits) {
            finish(PartResults<Reply>{places, replies});
            return;
        }
    }
    throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
}

// Has `function` answer the request in parts, each of the runs that its engine has.
template <auto function, typename Request, typename Reply>
void spread_results(Spread &spread, const Request &request, Reply &reply) {
    const Sums sums = sums_of(request);
    if (sums.count > max_items) {
        refuse("more items than can be answered");
    }
    static_cast<void>(spread.whole().connection.buffer.part<char>(request.results, request.capacity));
    compute_parts(
        spread, request, entries_by_part(spread), reply,
        [&](std::size_t, Work &work, const PartPlace &place, Reply &its) {
            Request own = request;
            own.results = place.results;
            own.capacity = place.capacity;
            function(work, own, its);
        },
        [&](const PartResults<Reply> &part_results) {
            for (std::size_t part = 0; part < spread.size(); ++part) {
                take_part(spread, spread.work(part), part_results.replies[part], &reply);
            }
            add_up(spread.whole().connection.buffer, sums, part_results.places);
            if constexpr (std::is_same_v<Request, protocol::QueryColumn>) {
                if (has_split_runs(spread)) {
                    put_together(spread, request, part_results, &reply);
                }
            }
            if constexpr (std::is_same_v<Request, protocol::CountText>) {
                // The sums are of the lists of all runs.
                reply.offsets_at[0] = part_results.places.front().results;
            }
        });
}

}  // namespace gpu_engine::server
