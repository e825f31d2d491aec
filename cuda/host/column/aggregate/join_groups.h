// Groups that several have found, put together, and what a result keeps of them.
#pragma once

#include <tbb/enumerable_thread_specific.h>

#include <cstdint>
#include <span>
#include <vector>

#include "common/column/aggregate.h"
#include "host/column/aggregate/output.h"
#include "host/column/aggregate/groups.h"
#include "host/column/aggregate/top_groups.h"
#include "host/parallel.h"

namespace gpu_engine::host {

// Makes one group of those that have the same key. No two of the results have a key in common. Returns false
// when there are more than `max_groups`. About `expected` will be there, or as many as one span of records
// has, where these are more. Throws Failure.
bool join_groups(MemoryBudget &budget, const Workers &workers, const AggregatePlan &plan,
                 std::span<const RecordSpan> found, std::uint64_t expected, std::uint64_t max_groups,
                 std::vector<Groups> *joined);

// The groups that are left if a result has only the first ones in an order, or only their number.
class GroupsLeft {
  public:
    // The groups that one thread has seen.
    class Local {
      public:
        Local(MemoryBudget &budget, const AggregateTop &top) : top_(top), first_(budget, top.count) {}
        void see(const std::uint64_t *record) {
            ++count_;
            if (top_.count > 0) {
                const std::uint64_t high = top_.is_wide != 0 ? record[top_.word + 1] : 0;
                first_.add(rank_in_order(top_, record[top_.word], high), record);
            }
        }

      private:
        friend class GroupsLeft;
        const AggregateTop &top_;
        TopGroups first_;
        std::uint64_t count_ = 0;
    };

    GroupsLeft(MemoryBudget &budget, const AggregateTop &top)
        : budget_(budget), top_(top), locals_([this] { return Local(budget_, top_); }) {}

    Local &local() { return locals_.local(); }
    // Has threads see all these groups.
    void see_all(const Workers &workers, std::span<const Groups> groups);
    // Copies what is left to the result.
    void give(HostAggregateOutput *output);

  private:
    MemoryBudget &budget_;
    const AggregateTop &top_;
    tbb::enumerable_thread_specific<Local> locals_;
};

// Has the result keep all of the groups, or only what is left of them. They are not numbered by their keys.
void give_groups(const Workers &workers, std::vector<Groups> groups, GroupsLeft *left,
                 HostAggregateOutput *output);

}  // namespace gpu_engine::host
