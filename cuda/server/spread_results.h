// Questions that are answered in parts, whose results lie in the transfer buffer.
#pragma once

#include "server/split_runs.h"
#include "server/spread.h"

namespace gpu_engine::server {

inline std::uint64_t &found_in(protocol::ResultReply &reply) {
    return reply.tids;
}
inline std::uint64_t &found_in(protocol::ColumnReply &reply) {
    return reply.rows;
}

// Has `function` answer the request in parts, each in a place of its own among the results. How much that
// must be only the answer tells, so parts that didn't fit are asked again, once it is known.
template <auto function, typename Request, typename Reply>
void spread_results(Spread &spread, const Request &request, Reply &reply) {
    // A part may learn of its needs one kind of result after the other.
    constexpr int max_rounds = 8;
    const Sums sums = sums_of(request);
    if (sums.count > max_items) {
        refuse("more items than can be answered");
    }
    static_cast<void>(spread.whole().connection.buffer.part<char>(request.results, request.capacity));
    std::vector<PartPlace> places(spread.size());
    std::vector<Reply> replies(spread.size());
    for (int round = 0; round < max_rounds; ++round) {
        place_parts(spread, request.results, request.capacity, &places, &reply.needed);
        const std::span<const Status> statuses = spread.try_run([&](std::size_t part, Work &work) {
            Request own = request;
            own.results = places[part].results;
            own.capacity = places[part].capacity;
            replies[part] = Reply{};
            work.items = 0;
            work.bytes = 0;
            function(work, own, replies[part]);
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
            for (std::size_t part = 0; part < spread.size(); ++part) {
                take_part(spread, spread.work(part), replies[part], &reply);
            }
            add_up(spread.whole().connection.buffer, sums, places);
            if (has_split_runs(spread)) {
                put_runs_together(spread, request, sums, PartAnswers<Reply>{places, replies}, &reply);
            }
            if constexpr (std::is_same_v<Request, protocol::CountText>) {
                // The sums are of the lists of all runs.
                reply.offsets_at[0] = places.front().results;
            }
            return;
        }
    }
    throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
}

}  // namespace gpu_engine::server
