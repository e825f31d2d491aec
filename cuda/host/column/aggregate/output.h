// The host engine's results of requests about groups.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "common/cancel.h"
#include "gpu_engine/column.h"
#include "gpu_engine/guard.h"
#include "host/column/aggregate/groups.h"

namespace gpu_engine::host {

// Records one behind the other.
class Records {
  public:
    Records(MemoryBudget &budget, std::uint32_t words) : budget_(&budget), words_(words) {}

    std::uint64_t count() const noexcept { return count_; }
    const std::uint64_t *record(std::uint64_t i) const noexcept { return records_.data() + i * words_; }
    // Makes room for `count` more records and returns the first.
    std::uint64_t *add(std::uint32_t count) {
        const std::uint64_t needed = (count_ + count) * words_;
        if (needed > records_.size()) {
            Buffer<std::uint64_t> larger(*budget_, std::max(needed, 2 * records_.size()));
            std::copy_n(records_.data(), count_ * words_, larger.data());
            records_ = std::move(larger);
        }
        count_ += count;
        return records_.data() + (count_ - count) * words_;
    }

  private:
    MemoryBudget *budget_;
    std::uint32_t words_;
    std::uint64_t count_ = 0;
    Buffer<std::uint64_t> records_;
};

class HostAggregateOutput final : public AggregateOutput {
  public:
    HostAggregateOutput(MemoryBudget &budget, AggregatePlan aggregate_plan, AggregateOutcome outcome)
        : plan(std::make_unique<AggregatePlan>(std::move(aggregate_plan))),
          result(outcome),
          budget_(budget) {}

    AggregateOutcome outcome() const noexcept override { return result; }
    std::uint64_t groups() const noexcept override {
        return result == AggregateOutcome::answered ? count(group_parts) + count(top_parts) : 0;
    }
    std::uint64_t unresolved() const noexcept override {
        return result == AggregateOutcome::answered ? count(unresolved_parts) : 0;
    }
    std::uint64_t counted() const noexcept override {
        return result == AggregateOutcome::answered ? only_counted : 0;
    }
    Status read_groups(Stream &stream, std::uint64_t first, std::uint64_t count,
                       std::uint64_t *records) const noexcept override {
        return guarded([&] {
            return top_parts.empty() ? read(stream, group_parts, plan->record_words(), first, count, records)
                                     : read(stream, top_parts, plan->record_words(), first, count, records);
        });
    }
    Status read_unresolved(Stream &stream, std::uint64_t first, std::uint64_t count,
                           std::uint64_t *records) const noexcept override {
        return guarded(
            [&] { return read(stream, unresolved_parts, plan->record_words() + 1, first, count, records); });
    }
    Status mark_keys(Stream &stream, const AggregateProgram &program,
                     KeyMarks *marks) const noexcept override;
    Status leave_out(Stream &stream, const AggregateProgram &program, const SharedKeys &shared,
                     const AggregateTop &top, std::unique_ptr<AggregateOutput> *rest) const noexcept override;

    // Filled in by who makes the result.
    const std::unique_ptr<AggregatePlan> plan;  // the groups refer to it
    AggregateOutcome result;
    std::uint64_t only_counted = 0;  // groups that are counted and aren't there
    std::vector<Groups> memory;      // owns the memory of group_parts
    std::vector<RecordSpan> group_parts;
    std::vector<Records> top_parts;  // instead of groups, where some were left out
    std::vector<Records> unresolved_parts;

  private:
    // Calls visit(record) for all groups.
    template <typename Visit>
    void for_groups(const Stream &stream, Visit visit) const;

    template <typename Part>
    static std::uint64_t count(const std::vector<Part> &parts) noexcept {
        std::uint64_t records = 0;
        for (const Part &part : parts) {
            records += part.count();
        }
        return records;
    }
    template <typename Part>
    static Status read(Stream &stream, const std::vector<Part> &parts, std::uint32_t words,
                       std::uint64_t first, std::uint64_t count, std::uint64_t *records) {
        for (const Part &part : parts) {
            check_cancelled(stream);
            const std::uint64_t here = first < part.count() ? std::min(count, part.count() - first) : 0;
            if (here > 0) {
                records = std::copy_n(part.record(first), here * words, records);
            }
            first -= std::min(first, part.count());
            count -= here;
        }
        return count == 0 ? Status{} : make_status(StatusCode::invalid_argument, "there are no such groups");
    }

    MemoryBudget &budget_;
};

}  // namespace gpu_engine::host
