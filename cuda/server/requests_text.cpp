// Questions about inverted lists.
#include <algorithm>

#include "server/results.h"
#include "server/run_set.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

// `first` says where the parts of each of so many runs begin, and where the last ends.
void require_order(const std::uint32_t *first, std::uint32_t runs) {
    for (std::uint32_t i = 0; i < runs; ++i) {
        if (first[i] > first[i + 1]) {
            refuse("the runs' lists are not in order");
        }
    }
}

const TextList *lists_at(const TransferBuffer &buffer, const protocol::ListsPlace &place,
                         std::uint32_t runs) {
    require_order(place.first, runs);
    return buffer.part<TextList>(place.lists, place.first[runs]);
}

std::uint64_t hits_of(const TextQuery *queries, std::uint64_t count) {
    std::uint64_t hits = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (queries[i].k > max_text_hits) {
            refuse("a query wants too many hits");
        }
        hits += queries[i].k;
    }
    return hits;
}

}  // namespace

void answer_search_text(Work &work, const protocol::SearchText &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, text_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    if (request.count > max_text_queries) {
        refuse("too many queries");
    }
    const auto count = static_cast<std::uint32_t>(request.count);
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint64_t all = request.count * runs.size();
    const std::uint32_t *first = request.first_term;
    require_order(first, request.runs);
    const auto *terms = buffer.part<TextTerm>(request.terms, first[request.runs]);
    // What follows from them must not change.
    const Scratch<TextQuery> queries(work.server().engines().host().memory(), all);
    std::copy_n(buffer.part<TextQuery>(request.queries, all), all, queries.data());
    Results results(buffer, request.results, request.capacity);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const std::uint64_t hits = hits_of(queries.data() + i * count, count);
        reply.needed += aligned(count * sizeof(std::uint32_t)) + aligned(hits * sizeof(TextHit));
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const TextQuery *asked = queries.data() + i * count;
        auto *counts = results.take<std::uint32_t>(count, &reply.offsets_at[i]);
        auto *hits = results.take<TextHit>(hits_of(asked, count), &reply.tids_at[i]);
        check(with_room(work, [&] {
            return runs.lists(i).search(*work.stream, {request.norms, request.shrink[i]}, terms + first[i],
                                        first[i + 1] - first[i], asked, count, hits, counts);
        }));
    }
    work.items = count;
    work.bytes = results.used();
}

void answer_count_text(Work &work, const protocol::CountText &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, text_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint32_t *first = request.lists.first;
    const TextList *lists = lists_at(buffer, request.lists, request.runs);
    Results results(buffer, request.results, request.capacity);
    reply.needed = aligned(std::uint64_t(first[request.runs]) * sizeof(std::uint32_t));
    auto *documents = results.take<std::uint32_t>(first[request.runs], &reply.offsets_at[0]);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        check(with_room(work, [&] {
            return runs.lists(i).count_documents(*work.stream, lists + first[i], first[i + 1] - first[i],
                                                 documents + first[i]);
        }));
    }
    work.items = first[request.runs];
    work.bytes = results.used();
}

void answer_intersect_text(Work &work, const protocol::IntersectText &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, text_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const std::uint32_t *first = request.lists.first;
    const TextList *lists = lists_at(buffer, request.lists, request.runs);
    Results results(buffer, request.results, request.capacity);
    answer_entries<std::uint32_t>(
        work, runs.size(), 1, results, reply,
        [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
            std::uint64_t found = 0;
            const Status status = runs.lists(i).intersect(*work.stream, lists + first[i],
                                                          first[i + 1] - first[i], tids, capacity, &found);
            offsets[0] = 0;
            offsets[1] = found;
            return status;
        },
        nullptr);
}

}  // namespace gpu_engine::server
