// Groups of rows of columns.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "server/column_tests.h"
#include "server/results.h"
#include "server/run_set.h"

#include "gpu_engine/boundary.h"

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

// The parts of a question, with all that they refer to.
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
void give_records(Work &work, KeptGroups kept, Results &results, protocol::AggregateReply &reply) {
    const AggregateAnswer &answer = *kept.answer;
    reply.outcome = static_cast<std::uint32_t>(answer.outcome());
    reply.groups = answer.groups();
    reply.doubtful = answer.doubtful();
    reply.counted = answer.counted();
    const auto take = [&results](std::uint64_t left, std::uint64_t words, std::uint64_t *here,
                                 std::uint64_t *place) {
        *here = std::min(left, results.room<std::uint64_t>() / words);
        return results.take<std::uint64_t>(*here * words, place);
    };
    // Without keys and accumulators a record has no words.
    const std::uint64_t words = std::max<std::uint64_t>(kept.words, 1);
    auto *groups = take(reply.groups - kept.groups_given, words, &reply.groups_here, &reply.groups_at);
    check(answer.read_groups(*work.stream, kept.groups_given, reply.groups_here, groups));
    kept.groups_given += reply.groups_here;
    const std::uint64_t doubtful_left =
        kept.groups_given == reply.groups ? reply.doubtful - kept.doubtful_given : 0;
    auto *doubtful = take(doubtful_left, kept.words + 1, &reply.doubtful_here, &reply.doubtful_at);
    check(answer.read_doubtful(*work.stream, kept.doubtful_given, reply.doubtful_here, doubtful));
    kept.doubtful_given += reply.doubtful_here;
    reply.needed = results.used();
    work.bytes = results.used();
    if (kept.groups_given < reply.groups || kept.doubtful_given < reply.doubtful) {
        work.connection.keep(std::move(kept));
    }
}

}  // namespace

void answer_aggregate_column(Work &work, const protocol::AggregateColumn &request,
                             protocol::AggregateReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    const TransferBuffer &buffer = work.connection.buffer;
    const AggregateProgram program = read_program(buffer, request.program);
    const Parts parts(buffer, request, runs, program.input_count);
    const std::unique_ptr<HeapBlocks> blocks =
        request.blocks.all_visible != 0 ? nullptr : keep_blocks(work, request.blocks);
    Results results(buffer, request.results, request.capacity);
    const AggregateQuestion question = {
        &program,   parts.parts().data(), static_cast<std::uint32_t>(parts.parts().size()),
        0,          blocks.get(),         request.max_groups,
        request.top};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        work.items += runs.column(run).entries();
    }
    KeptGroups kept;
    kept.engine = work.engine_name;
    kept.words = program.key_words + std::uint64_t(program.value_words);
    check(with_room(work,
                    [&] { return work.engine->column().aggregate(*work.stream, question, &kept.answer); }));
    give_records(work, std::move(kept), results, reply);
}

void answer_read_groups(Work &work, const protocol::ReadGroups &request, protocol::AggregateReply &reply) {
    KeptGroups kept = work.connection.take_kept();
    if (kept.answer == nullptr || kept.engine != work.engine_name) {
        refuse("there are no groups left to be read");
    }
    Results results(work.connection.buffer, request.results, request.capacity);
    give_records(work, std::move(kept), results, reply);
    work.items = reply.groups_here + reply.doubtful_here;
}

}  // namespace gpu_engine::server
