// Groups of rows of columns.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "server/requests/aggregate_parts.h"
#include "server/requests/column_tests.h"
#include "server/requests/results.h"
#include "server/requests/run_set.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {
namespace {

// A byte of a truth value may be anything, since a session wrote it.
bool read_truth(const bool &truth) {
    unsigned char byte;
    std::memcpy(&byte, &truth, sizeof(byte));
    return byte != 0;
}

// The program is read once, since others may write there.
AggregateProgram read_program(const TransferBuffer &buffer, std::uint64_t offset) {
    AggregateProgram program;
    std::memcpy(&program, buffer.part<AggregateProgram>(offset, 1), sizeof(program));
    for (AggregateKey &key : program.key) {
        key.may_be_null = read_truth(key.may_be_null);
    }
    return program;
}

const void *map_at(const TransferBuffer &buffer, const protocol::AggregateInputPlace &place) {
    if (place.places > UINT32_MAX) {
        refuse("a map has too many places");
    }
    switch (static_cast<AggregateInputKind>(place.kind)) {
        case AggregateInputKind::map8:
            return buffer.part<std::uint8_t>(place.values, place.places);
        case AggregateInputKind::map32:
            return buffer.part<std::uint32_t>(place.values, place.places);
        case AggregateInputKind::map64:
            return buffer.part<std::uint64_t>(place.values, place.places);
        case AggregateInputKind::map128:
        case AggregateInputKind::ranges:
            return buffer.part<std::uint64_t>(place.values, 2 * place.places);
        case AggregateInputKind::bits:
            return buffer.part<std::uint64_t>(place.values, (place.places + 63) / 64);
        default:
            return nullptr;
    }
}

AggregateInput input_at(const TransferBuffer &buffer, const protocol::AggregateInputPlace &place) {
    AggregateInput input = {};
    input.kind = static_cast<AggregateInputKind>(place.kind);
    input.column_null_is_null = place.column_null_is_null != 0;
    input.column = place.column;
    input.offset = place.offset;
    input.of_column_null = place.of_column_null;
    if (input.kind != AggregateInputKind::code) {
        input.places = place.places;
        input.values = map_at(buffer, place);
        if (place.nulls != protocol::nowhere) {
            input.nulls = buffer.part<std::uint64_t>(place.nulls, (place.places + 63) / 64);
        }
    }
    return input;
}

// The parts of a request that are here, with all that they refer to.
class Parts {
  public:
    Parts(const TransferBuffer &buffer, const protocol::AggregateColumn &request, const RunSet &runs,
          std::uint32_t inputs)
        : inputs_(runs.size()), tests_(runs.size()) {
        if (inputs > max_aggregate_inputs) {
            refuse("a program has too many inputs");
        }
        const auto *places =
            buffer.part<protocol::AggregateInputPlace>(request.inputs, runs.size() * std::uint64_t(inputs));
        Tests tests(buffer, request.tests, request.test_count);
        for (std::size_t run = 0; run < runs.size(); ++run) {
            if (!runs.is_here(run)) {
                continue;
            }
            for (std::uint32_t i = 0; i < inputs; ++i) {
                const protocol::AggregateInputPlace place = places[run * inputs + i];
                inputs_[run].push_back(input_at(buffer, place));
            }
            tests_[run] = tests.of_run(run);
            parts_.push_back({&runs.column(run), tests_[run].data(),
                              static_cast<std::uint32_t>(tests_[run].size()), 0, inputs_[run].data()});
        }
    }

    const std::vector<AggregatePart> &parts() const noexcept { return parts_; }

  private:
    std::vector<std::vector<AggregateInput>> inputs_;
    std::vector<std::vector<ColumnTest>> tests_;
    std::vector<AggregatePart> parts_;
};

// Copies the next records to the buffer, and keeps the answer for the next request if there are more.
void give_records(Work &work, CachedGroups cached, Results &results, protocol::AggregateReply &reply) {
    const AggregateOutput &result = *cached.result;
    reply.outcome = static_cast<std::uint32_t>(result.outcome());
    reply.groups = result.groups();
    reply.unresolved = result.unresolved();
    reply.counted = result.counted();
    const auto take = [&results](std::uint64_t left, std::uint64_t words, std::uint64_t *here,
                                 std::uint64_t *place) {
        *here = std::min(left, results.room<std::uint64_t>() / words);
        return results.take<std::uint64_t>(*here * words, place);
    };
    // A record has no words where there are neither keys nor accumulators.
    const std::uint64_t words = std::max<std::uint64_t>(cached.words, 1);
    auto *groups = take(reply.groups - cached.groups_given, words, &reply.groups_here, &reply.groups_at);
    check(result.read_groups(*work.stream, cached.groups_given, reply.groups_here, groups));
    cached.groups_given += reply.groups_here;
    const std::uint64_t unresolved_left =
        cached.groups_given == reply.groups ? reply.unresolved - cached.unresolved_given : 0;
    auto *unresolved = take(unresolved_left, cached.words + 1, &reply.unresolved_here, &reply.unresolved_at);
    check(result.read_unresolved(*work.stream, cached.unresolved_given, reply.unresolved_here, unresolved));
    cached.unresolved_given += reply.unresolved_here;
    reply.needed = results.used();
    work.bytes = results.used();
    if (cached.groups_given < reply.groups || cached.unresolved_given < reply.unresolved) {
        work.connection.keep(std::move(cached));
    }
}

CachedGroups begin_cached(const Work &work, const AggregateProgram &program) {
    CachedGroups cached;
    cached.engine = work.engine_name;
    cached.held_by = work.id;
    cached.words = program.key_words + std::uint64_t(program.value_words);
    return cached;
}

// Asks the runs that are here.
std::unique_ptr<AggregateOutput> find_groups(Work &work, const protocol::AggregateColumn &request,
                                             const AggregateProgram &program, const RunSet &runs,
                                             const AggregateLimits &limits, std::uint64_t rows_of_all) {
    const Parts parts(work.connection.buffer, request, runs, program.input_count);
    const std::unique_ptr<HeapBlocks> blocks =
        request.blocks.all_visible != 0 ? nullptr : keep_blocks(work, request.blocks);
    const AggregateRequest engine_request = {
        &program,   parts.parts().data(), static_cast<std::uint32_t>(parts.parts().size()),
        0,          blocks.get(),         limits.max_groups,
        limits.top, rows_of_all};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        work.items += runs.is_here(run) ? runs.entries(run) : 0;
    }
    std::unique_ptr<AggregateOutput> result;
    check(with_room(work,
                    [&] { return work.engine->column().aggregate(*work.stream, engine_request, &result); }));
    return result;
}

// Returns the rows of all parts.
std::uint64_t entries_of_all(Spread &spread) {
    std::uint64_t entries = 0;
    for (std::size_t part = 0; part < spread.size(); ++part) {
        for (std::size_t run = 0; run < spread.runs().size(); ++run) {
            entries += spread.runs().entries_on(run, spread.work(part).id);
        }
    }
    return entries;
}

}  // namespace

void handle_aggregate_column(Work &work, const protocol::AggregateColumn &request,
                             protocol::AggregateReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const AggregateProgram program = read_program(buffer, request.program);
    const AggregateLimits limits = {request.max_groups, request.top};
    CachedGroups cached = begin_cached(work, program);
    cached.result = find_groups(work, request, program, runs, limits, 0);
    Results results(buffer, request.results, request.capacity);
    give_records(work, std::move(cached), results, reply);
}

void spread_aggregate_column(Spread &spread, const protocol::AggregateColumn &request,
                             protocol::AggregateReply &reply) {
    Work &work = spread.whole();
    const TransferBuffer &buffer = work.connection.buffer;
    const AggregateLimits limits = {request.max_groups, request.top};
    const AggregateProgram program =
        program_of_parts(read_program(buffer, request.program), limits, request.blocks.all_visible != 0);
    MemoryBudget &memory = work.server().engines().host().memory();
    const std::uint64_t rows_of_all = is_of_groups(limits) ? entries_of_all(spread) : 0;
    std::vector<PartOfResult> parts(spread.size());
    spread.run([&](std::size_t part, Work &its_work) {
        const RunSet runs(its_work, request.run, request.runs, column_bits, reply.header);
        parts[part].keep(memory, *its_work.stream, program, limits,
                         find_groups(its_work, request, program, runs, limits_of_parts(limits), rows_of_all));
    });
    leave_out_of_parts(memory, program, limits, parts, [&](auto body) {
        spread.run([&](std::size_t part, Work &its_work) { body(part, *its_work.stream); });
    });
    for (std::size_t part = 0; part < parts.size(); ++part) {
        work.items += spread.work(part).items;
    }
    const auto give = [&](Work &first, CachedGroups cached) {
        Results results(buffer, request.results, request.capacity);
        give_records(first, std::move(cached), results, reply);
        work.bytes = first.bytes;
    };
    if (have_many_groups(parts)) {
        bool is_merged = false;
        spread.run_one(0, [&](Work &first) {
            CachedGroups cached = begin_cached(first, program);
            is_merged = merge_on_device(*first.engine, *first.stream, program, limits, parts, &cached.result);
            if (is_merged) {
                give(first, std::move(cached));
            }
        });
        if (is_merged) {
            return;
        }
        spread.run([&](std::size_t part, Work &its_work) {
            if (!parts[part].is_read()) {
                parts[part].read(memory, *its_work.stream, program);
            }
        });
    }
    spread.run_one(0, [&](Work &first) {
        CachedGroups cached = begin_cached(first, program);
        check(merge_in_memory(work.server().engines().host(), *first.stream, program, limits, parts,
                              &cached.result));
        give(first, std::move(cached));
    });
}

void handle_read_groups(Work &work, const protocol::ReadGroups &request, protocol::AggregateReply &reply) {
    CachedGroups cached = work.connection.take_cached<CachedGroups>();
    if (cached.result == nullptr || cached.engine != work.engine_name) {
        refuse("there are no groups left to be read");
    }
    Results results(work.connection.buffer, request.results, request.capacity);
    give_records(work, std::move(cached), results, reply);
    work.items = reply.groups_here + reply.unresolved_here;
}

}  // namespace gpu_engine::server
