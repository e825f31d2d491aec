// Groups of rows of columns.
#include <cstring>
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
    std::unique_ptr<AggregateAnswer> answer;
    check(with_room(work, [&] { return work.engine->column().aggregate(*work.stream, question, &answer); }));
    reply.outcome = static_cast<std::uint32_t>(answer->outcome());
    reply.groups = answer->groups();
    reply.doubtful = answer->doubtful();
    reply.counted = answer->counted();
    const std::uint64_t words = program.key_words + std::uint64_t(program.value_words);
    const std::uint64_t group_words = reply.groups * words;
    const std::uint64_t doubtful_words = reply.doubtful * (words + 1);
    reply.needed =
        aligned(group_words * sizeof(std::uint64_t)) + aligned(doubtful_words * sizeof(std::uint64_t));
    if (reply.needed > results.room<char>()) {
        throw Failure{make_status(StatusCode::insufficient_space, "the results don't fit")};
    }
    auto *groups = results.take<std::uint64_t>(group_words, &reply.groups_at);
    check(answer->read_groups(*work.stream, 0, reply.groups, groups));
    auto *doubtful = results.take<std::uint64_t>(doubtful_words, &reply.doubtful_at);
    check(answer->read_doubtful(*work.stream, 0, reply.doubtful, doubtful));
    work.bytes = results.used();
}

}  // namespace gpu_engine::server
