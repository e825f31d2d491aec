// Requests about runs of sorted keys: lookup, range and count.
#include "server/requests/match_results.h"
#include "server/requests/run_set.h"

namespace gpu_engine::server {
namespace {

// The ranges of a request, both ends included.
template <typename Key>
struct Ranges {
    const Key *low;
    const Key *high;
};

template <typename Key, typename Request>
Ranges<Key> ranges_at(const TransferBuffer &buffer, const Request &request) {
    return {buffer.part<Key>(request.low, request.count), buffer.part<Key>(request.high, request.count)};
}

// Finds the runs of a request, and calls handle(runs, key) with a key of their type when all are there.
template <typename Request, typename Handle>
void with_runs(Work &work, const Request &request, protocol::ResultReply &reply, Handle handle) {
    const RunSet runs(work, request.run, request.runs, request.key_bits, reply.header);
    if (runs.complete()) {
        with_key(request.key_bits, [&](auto key) { handle(runs, key); });
    }
}

}  // namespace

void handle_lookup_kary(Work &work, const protocol::LookupKary &request, protocol::ResultReply &reply) {
    if (!has_offsets(request)) {
        with_runs(work, request, reply, [&]<typename Key>(const RunSet &runs, Key) {
            write_matches<Key>(work, runs, request, reply);
        });
        return;
    }
    with_runs(work, request, reply, [&]<typename Key>(const RunSet &runs, Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        const Key *keys = buffer.part<Key>(request.keys, request.count);
        Results results(buffer, request.results, request.capacity);
        write_entries<Key>(
            work, runs, request.count, results, reply,
            [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
                return runs.kary<Key>(i).lookup(*work.stream, keys, request.count, offsets, tids, capacity);
            },
            nullptr);
    });
}

void handle_range_kary(Work &work, const protocol::RangeKary &request, protocol::ResultReply &reply) {
    with_runs(work, request, reply, [&]<typename Key>(const RunSet &runs, Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        const Ranges<Key> ranges = ranges_at<Key>(buffer, request);
        Results results(buffer, request.results, request.capacity);
        const auto compute_keys = [&](std::size_t i, std::uint64_t *offsets, Key *keys, Tid *tids,
                                      std::uint64_t capacity) {
            return runs.kary<Key>(i).range(*work.stream, ranges.low, ranges.high, request.count, offsets,
                                           keys, tids, capacity);
        };
        const auto compute = [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
            return compute_keys(i, offsets, nullptr, tids, capacity);
        };
        if (request.with_keys != 0) {
            write_entries<Key>(work, runs, request.count, results, reply, compute, compute_keys);
        } else {
            write_entries<Key>(work, runs, request.count, results, reply, compute, nullptr);
        }
    });
}

void handle_count_kary(Work &work, const protocol::CountKary &request, protocol::ResultReply &reply) {
    with_runs(work, request, reply, [&]<typename Key>(const RunSet &runs, Key) {
        const Ranges<Key> ranges = ranges_at<Key>(work.connection.buffer, request);
        const CountPlace place = {request.blocks, request.results, request.capacity};
        handle_counts(
            work, runs, request.count, place, reply,
            [&](std::size_t i, std::uint32_t *counts) {
                return runs.kary<Key>(i).count(*work.stream, ranges.low, ranges.high, request.count, counts);
            },
            [&](std::size_t i, const HeapBlocks &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                Tid *tids, std::uint64_t capacity) {
                return runs.kary<Key>(i).count_on(*work.stream, ranges.low, ranges.high, request.count,
                                                  blocks, counts, offsets, tids, capacity);
            });
    });
}

}  // namespace gpu_engine::server
