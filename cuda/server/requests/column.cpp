// Requests about runs of columns.
#include <vector>

#include "gpu_engine/column_dictionary.h"

#include "server/requests/column_tests.h"
#include "server/requests/results.h"
#include "server/requests/run_set.h"

namespace gpu_engine::server {
namespace {

ColumnTarget target_of(const TransferBuffer &buffer, const protocol::QueryColumn &request) {
    ColumnTarget target = {};
    target.kind = static_cast<TargetKind>(request.target);
    target.column = request.column;
    target.slots = request.slots;
    target.scale = static_cast<ValueScale>(request.scale);
    target.even = request.even;
    if (target.kind == TargetKind::bins && target.slots > 0) {
        target.starts = buffer.part<std::uint64_t>(request.starts, target.slots - 1);
    }
    return target;
}

// Answers with rows of each run that is here. `compute(run, rows, capacity, &found)` has a store fill them
// in.
template <typename Row, typename Compute>
void write_rows(Work &work, const RunSet &runs, Results &results, protocol::ColumnReply &reply,
                Compute compute) {
    bool fits = true;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs.is_here(i)) {
            continue;
        }
        const std::uint64_t capacity = fits ? results.room<Row>() : 0;
        std::uint64_t found = 0;
        const Status status =
            with_room(work, [&] { return compute(i, results.rest<Row>(), capacity, &found); });
        if (status.code != StatusCode::insufficient_space) {
            check(status);
        }
        const std::uint64_t bytes = aligned(found * sizeof(Row));
        reply.needed += bytes;
        reply.rows += found;
        reply.found[i] = found;
        fits = fits && status.ok() && bytes <= results.room<char>();
        if (fits) {
            results.take<Row>(found, &reply.found_at[i]);
        }
    }
    if (!fits) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    work.bytes = results.used();
}

}  // namespace

void handle_count_column(Work &work, const protocol::QueryColumn &request, protocol::ColumnReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    Tests tests(buffer, request.tests, request.test_count);
    const ColumnTarget target = target_of(buffer, request);
    const std::unique_ptr<HeapBlocks> blocks =
        request.blocks.all_visible != 0 ? nullptr : keep_blocks(work, request.blocks);
    Results results(buffer, request.results, request.capacity);
    // The counts come first, because their size is known.
    std::uint64_t *counts[protocol::max_runs];
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!runs.is_here(i)) {
            continue;
        }
        const std::uint64_t places = runs.column(i).places(target);
        if (places == 0) {
            refuse("the run can't be counted so");
        }
        reply.needed += aligned(places * sizeof(std::uint64_t));
        work.items += runs.column(i).entries();
        counts[i] = reply.needed <= request.capacity
                        ? results.take<std::uint64_t>(places, &reply.counts_at[i])
                        : nullptr;
    }
    if (reply.needed > request.capacity) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    write_rows<UnresolvedRow>(
        work, runs, results, reply,
        [&](std::size_t i, UnresolvedRow *rows, std::uint64_t capacity, std::uint64_t *found) {
            const std::vector<ColumnTest> &of_run = tests.of_run(i);
            return runs.column(i).count(*work.stream, of_run.data(),
                                        static_cast<std::uint32_t>(of_run.size()), target, blocks.get(),
                                        counts[i], rows, capacity, found);
        });
}

void handle_match_column(Work &work, const protocol::QueryColumn &request, protocol::ColumnReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    Tests tests(buffer, request.tests, request.test_count);
    Results results(buffer, request.results, request.capacity);
    write_rows<Tid>(work, runs, results, reply,
                    [&](std::size_t i, Tid *tids, std::uint64_t capacity, std::uint64_t *found) {
                        const std::vector<ColumnTest> &of_run = tests.of_run(i);
                        work.items += runs.column(i).entries();
                        return runs.column(i).match(*work.stream, of_run.data(),
                                                    static_cast<std::uint32_t>(of_run.size()), tids, capacity,
                                                    found);
                    });
}

void handle_merge_column_dictionaries(Work &work, const protocol::MergeColumnDictionaries &request,
                                      protocol::MergeColumnDictionariesReply &reply) {
    if (request.main_count > max_dictionary_entries || request.delta_count > max_dictionary_entries) {
        refuse("more entries than a dictionary can hold");
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const Dictionary<std::uint64_t> main = {buffer.part<std::uint64_t>(request.main, request.main_count),
                                            request.main_count};
    const Dictionary<std::uint64_t> delta = {buffer.part<std::uint64_t>(request.delta, request.delta_count),
                                             request.delta_count};
    work.items = main.count + delta.count;
    MergedDictionary<std::uint64_t> merged = {buffer.part<std::uint64_t>(request.entries, work.items),
                                              buffer.part<std::uint32_t>(request.main_map, main.count),
                                              buffer.part<std::uint32_t>(request.delta_map, delta.count), 0};
    check(with_room(
        work, [&] { return work.engine->column().merge_dictionaries(*work.stream, main, delta, &merged); }));
    reply.count = merged.count;
    work.bytes = work.items * (2 * sizeof(std::uint64_t) + sizeof(std::uint32_t));
}

}  // namespace gpu_engine::server
