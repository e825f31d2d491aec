// A question about groups whose runs are on several engines: what each of them is asked, and its answer on
// the way to be merged.
#pragma once

#include <cstdint>
#include <optional>

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

// What one of the engines has found, brought to the machine's memory, of which `memory` counts it.
class PartOfAnswer {
  public:
    void read(MemoryBudget &memory, Stream &stream, const AggregateProgram &program,
              const AggregateAnswer &answer) {
        const std::uint64_t words = program.key_words + std::uint64_t(program.value_words);
        outcome_ = answer.outcome();
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
        return {outcome_, group_count_, groups_->data(), doubtful_count_, doubtful_->data()};
    }

  private:
    AggregateOutcome outcome_{};
    std::uint64_t group_count_ = 0;
    std::uint64_t doubtful_count_ = 0;
    std::optional<Scratch<std::uint64_t>> groups_;
    std::optional<Scratch<std::uint64_t>> doubtful_;
};

}  // namespace gpu_engine::server
