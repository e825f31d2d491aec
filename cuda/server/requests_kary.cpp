// Questions about runs of sorted keys: lookup, range and count.
#include "server/results.h"
#include "server/run_set.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

void answer_lookup_kary(Work &work, const protocol::LookupKary &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, request.key_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    with_key(request.key_bits, [&]<typename Key>(Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        const Key *keys = buffer.part<Key>(request.keys, request.count);
        Results results(buffer, request.results, request.capacity);
        answer_entries<Key>(
            work, runs.size(), request.count, results, reply,
            [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
                return runs.kary<Key>(i).lookup(*work.stream, keys, request.count, offsets, tids, capacity);
            },
            nullptr);
    });
}

void answer_range_kary(Work &work, const protocol::RangeKary &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, request.key_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    with_key(request.key_bits, [&]<typename Key>(Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        const Key *low = buffer.part<Key>(request.low, request.count);
        const Key *high = buffer.part<Key>(request.high, request.count);
        Results results(buffer, request.results, request.capacity);
        const auto ask_keys = [&](std::size_t i, std::uint64_t *offsets, Key *keys, Tid *tids,
                                  std::uint64_t capacity) {
            return runs.kary<Key>(i).range(*work.stream, low, high, request.count, offsets, keys, tids,
                                           capacity);
        };
        const auto ask = [&](std::size_t i, std::uint64_t *offsets, Tid *tids, std::uint64_t capacity) {
            return ask_keys(i, offsets, nullptr, tids, capacity);
        };
        if (request.with_keys != 0) {
            answer_entries<Key>(work, runs.size(), request.count, results, reply, ask, ask_keys);
        } else {
            answer_entries<Key>(work, runs.size(), request.count, results, reply, ask, nullptr);
        }
    });
}

void answer_count_kary(Work &work, const protocol::CountKary &request, protocol::ResultReply &reply) {
    const RunSet runs(work, request.run, request.runs, request.key_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    with_key(request.key_bits, [&]<typename Key>(Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        const Key *low = buffer.part<Key>(request.low, request.count);
        const Key *high = buffer.part<Key>(request.high, request.count);
        const CountPlace place = {request.map, request.map_blocks, request.results, request.capacity,
                                  request.all_visible != 0};
        answer_counts(
            work, runs.size(), request.count, place, reply,
            [&](std::size_t i, std::uint32_t *counts) {
                return runs.kary<Key>(i).count(*work.stream, low, high, request.count, counts);
            },
            [&](std::size_t i, const BlockMap &blocks, std::uint64_t *counts, std::uint64_t *offsets,
                Tid *tids, std::uint64_t capacity) {
                return runs.kary<Key>(i).count_on(*work.stream, low, high, request.count, blocks, counts,
                                                  offsets, tids, capacity);
            });
    });
}

}  // namespace gpu_engine::server
