// A question about groups whose runs are on several engines: what each of them is asked, and its answer on
// the way to be merged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gpu_engine/aggregate_merge.h"
#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"
#include "server/scratch.h"

namespace gpu_engine::server {

// How much of an answer is wanted.
struct AggregateLimits {
    std::uint64_t max_groups;
    AggregateTop top;
};

// How much each part must tell of. Which groups are the first ones, and how many there are, is known when
// those of all parts have been put together. Of rows the first ones of each part are enough.
inline AggregateLimits limits_of_parts(const AggregateLimits &whole) {
    const bool is_of_groups = (whole.top.of_rows & top_of_rows) == 0;
    const bool wants_less = whole.top.count > 0 || whole.top.of_rows != 0;
    return is_of_groups && wants_less ? AggregateLimits{UINT32_MAX, AggregateTop{}} : whole;
}

// What one of the engines has found. It stays on the engine until it is read.
class PartOfAnswer {
  public:
    void keep(std::unique_ptr<AggregateAnswer> answer) { answer_ = std::move(answer); }
    // Fewer groups are little to bring to the machine's memory and to merge there. Where that changes has not
    // been measured.
    bool has_many_groups() const { return answer_->groups() >= many_groups; }
    bool is_read() const { return groups_.has_value(); }
    const AggregateAnswer *answer() const { return answer_.get(); }

    // Brings it to the machine's memory, of which `memory` counts it.
    void read(MemoryBudget &memory, Stream &stream, const AggregateProgram &program) {
        const AggregateAnswer &answer = *answer_;
        const std::uint64_t words = program.key_words + std::uint64_t(program.value_words);
        group_count_ = answer.groups();
        doubtful_count_ = answer.doubtful();
        groups_.emplace(memory, group_count_ * words);
        doubtful_.emplace(memory, doubtful_count_ * (words + 1));
        const auto require = [](const Status &status) {
            if (!status.ok()) {
                throw Failure{status};
            }
        };
        require(answer.read_groups(stream, 0, group_count_, groups_->data()));
        require(answer.read_doubtful(stream, 0, doubtful_count_, doubtful_->data()));
    }
    AggregateRecords records() const {
        return {answer_->outcome(), group_count_, groups_->data(), doubtful_count_, doubtful_->data()};
    }

  private:
    static constexpr std::uint64_t many_groups = 1 << 14;

    std::unique_ptr<AggregateAnswer> answer_;
    std::uint64_t group_count_ = 0;
    std::uint64_t doubtful_count_ = 0;
    std::optional<Scratch<std::uint64_t>> groups_;
    std::optional<Scratch<std::uint64_t>> doubtful_;
};

inline bool have_many_groups(const std::vector<PartOfAnswer> &parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const PartOfAnswer &part) { return part.has_many_groups(); });
}

// Merges groups that are on devices on one of them. False where they must be read, and merged in the
// machine's memory: they lie elsewhere too, or the device has no room. Throws other failures.
inline bool merge_on_device([[maybe_unused]] Engine &engine, [[maybe_unused]] Stream &stream,
                            [[maybe_unused]] const AggregateProgram &program,
                            [[maybe_unused]] const AggregateLimits &limits,
                            [[maybe_unused]] const std::vector<PartOfAnswer> &parts,
                            [[maybe_unused]] std::unique_ptr<AggregateAnswer> *answer) {
#ifdef PG_GPU_HAVE_CUDA
    std::vector<const AggregateAnswer *> answers;
    for (const PartOfAnswer &part : parts) {
        answers.push_back(part.answer());
    }
    const Status status = device::merge_answers(
        engine, stream, {&program, limits.max_groups, limits.top, answers.data(), answers.size()}, answer);
    if (!status.ok() && status.code != StatusCode::unavailable && status.code != StatusCode::out_of_memory) {
        throw Failure{status};
    }
    return status.ok();
#else
    return false;
#endif
}

// Merges parts that have been read.
inline Status merge_in_memory(Engine &host, Stream &stream, const AggregateProgram &program,
                              const AggregateLimits &limits, const std::vector<PartOfAnswer> &parts,
                              std::unique_ptr<AggregateAnswer> *answer) {
    std::vector<AggregateRecords> records;
    for (const PartOfAnswer &part : parts) {
        records.push_back(part.records());
    }
    return host::merge_answers(
        host, stream, {&program, limits.max_groups, limits.top, records.data(), records.size()}, answer);
}

}  // namespace gpu_engine::server
