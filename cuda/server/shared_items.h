// Batches whose items are shared out among engines that have the same runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "server/spread_results.h"

namespace gpu_engine::server {

// What an engine answers of a batch.
struct ItemShare {
    std::uint64_t first = 0;
    std::uint64_t count = 0;
};

// As many for each, and whole granules, so that inputs stay aligned.
std::vector<ItemShare> share_items(std::uint64_t items, std::size_t engines);

template <typename Request>
concept AsksBoxes = requires(Request request) {
    request.boxes;
};

// How many items a request asks.
template <typename Request>
std::uint64_t items_of(const Request &request) {
    if constexpr (AsksBoxes<Request>) {
        return request.boxes.count;
    } else {
        return request.count;
    }
}

// Lets a column's keys begin with the share's first item. A column that boxes leave open has none.
inline void begin_at(std::uint64_t *keys, std::uint64_t offset) {
    *keys += *keys != protocol::nowhere ? offset : 0;
}

// The request for a share of the items, whose inputs lie side by side.
template <AsksBoxes Request>
Request request_for(const Request &whole, const ItemShare &share) {
    Request request = whole;
    protocol::BoxesPlace &boxes = request.boxes;
    boxes.count = share.count;
    const std::uint64_t first = share.count > 0 ? share.first : 0;
    for (std::uint32_t c = 0; c < protocol::max_columns; ++c) {
        begin_at(&boxes.low[c], first * boxes.key_bytes[c]);
        begin_at(&boxes.high[c], first * boxes.key_bytes[c]);
    }
    begin_at(&boxes.open, first);
    begin_at(&boxes.null, first);
    return request;
}
inline protocol::MatchGrid request_for(const protocol::MatchGrid &whole, const ItemShare &share) {
    protocol::MatchGrid request = whole;
    request.count = share.count;
    for (std::uint32_t c = 0; c < protocol::max_columns && share.count > 0; ++c) {
        begin_at(&request.keys[c], share.first * request.key_bytes[c]);
    }
    return request;
}
template <typename Request>
Request request_for(const Request &whole, const ItemShare &share) {
    Request request = whole;
    // An engine may get none, where the granules are few.
    const std::uint64_t offset = share.count > 0 ? share.first * (whole.key_bits / 8U) : 0;
    request.count = share.count;
    if constexpr (std::is_same_v<Request, protocol::LookupKary>) {
        request.keys += offset;
    } else {
        request.low += offset;
        request.high += offset;
    }
    return request;
}

// The parts that have looked into each run: all, for a share of the items.
std::vector<std::vector<MatchPart>> shares_of_runs(const Spread &spread,
                                                   const std::vector<ItemShare> &shares);

// Results of the shares follow each other.
void put_shares_together(Spread &spread, const EntryResults &wanted, const Sums &sums,
                         const std::vector<ItemShare> &shares,
                         const PartAnswers<protocol::ResultReply> &answers, protocol::ResultReply *reply);

// Has `function` answer a share of the items on each engine. What doesn't fit at first is asked again, as by
// spread_results.
template <auto function, typename Request>
void spread_items(Spread &spread, const Request &request, protocol::ResultReply &reply) {
    static_cast<void>(spread.whole().connection.buffer.part<char>(request.results, request.capacity));
    if (items_of(request) > max_items) {
        refuse("more items than can be answered");
    }
    const std::vector<ItemShare> shares = share_items(items_of(request), spread.size());
    std::vector<double> weights;
    for (const ItemShare &share : shares) {
        weights.push_back(static_cast<double>(share.count));
    }
    ask_parts(
        spread, request, weights, reply,
        [&](std::size_t part, Work &work, const PartPlace &place, protocol::ResultReply &its) {
            Request own = request_for(request, shares[part]);
            own.results = place.results;
            own.capacity = place.capacity;
            function(work, own, its);
        },
        [&](const PartAnswers<protocol::ResultReply> &answers) {
            for (std::size_t part = 0; part < spread.size(); ++part) {
                spread.whole().items += spread.work(part).items;
                spread.whole().bytes += spread.work(part).bytes;
            }
            if constexpr (std::is_same_v<Request, protocol::LookupKary>) {
                if (!has_offsets(request)) {
                    put_matches_together(spread, request, shares_of_runs(spread, shares), answers.replies,
                                         &reply);
                    return;
                }
            }
            put_shares_together(spread, entries_of(request), sums_of(request), shares, answers, &reply);
        });
}

}  // namespace gpu_engine::server
