#include "host/column/aggregate/join_groups.h"

#include <algorithm>
#include <atomic>
#include <memory>

namespace gpu_engine::host {
namespace {

// Up to so many groups are merged by one thread. When there are more, each thread merges those of some
// hashes.
constexpr std::uint64_t max_merged_alone = 1 << 15;
constexpr std::uint32_t shares = 64;

class Joiner {
  public:
    Joiner(MemoryBudget &budget, const Workers &workers, const AggregatePlan &plan, std::uint64_t expected,
           std::uint64_t max_groups)
        : budget_(budget), workers_(workers), plan_(plan), expected_(expected), max_groups_(max_groups) {}

    bool join_alone(std::span<const RecordSpan> found, std::vector<Groups> *joined) {
        Groups merged(budget_, plan_, max_groups_, 0);
        for (const RecordSpan &records : found) {
            if (!merged.merge(records, nullptr, records.count())) {
                return false;
            }
        }
        joined->push_back(std::move(merged));
        return true;
    }

    bool join_shares(std::span<const RecordSpan> found, std::vector<Groups> *joined) {
        std::vector<Shared> shared(found.size());
        workers_.for_pieces(found.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t i = first; i < last; ++i) {
                share_out(found[i], &shared[i]);
            }
        });
        std::vector<std::unique_ptr<Groups>> merged(shares);
        workers_.for_pieces(shares, 1, [&](std::uint64_t first, std::uint64_t last) {
            for (std::uint64_t share = first; share < last && !is_full_; ++share) {
                merged[share] = merge_share(shared, share);
            }
        });
        for (const std::unique_ptr<Groups> &own : merged) {
            if (own != nullptr) {
                joined->push_back(std::move(*own));
            }
        }
        return !is_full_;
    }

  private:
    // Some groups, ordered by the share of hashes that they belong to.
    struct Shared {
        RecordSpan records;
        Buffer<std::uint32_t> numbers;
        std::uint64_t starts[shares + 1] = {};
    };

    std::uint32_t share_of(const std::uint64_t *record) const {
        return static_cast<std::uint32_t>(hash_key(record, plan_.program.key_words) >> 58);
    }

    void share_out(const RecordSpan &records, Shared *shared) {
        shared->records = records;
        shared->numbers = Buffer<std::uint32_t>(budget_, records.count());
        for (std::uint64_t i = 0; i < records.count(); ++i) {
            ++shared->starts[share_of(records.record(i)) + 1];
        }
        for (std::uint32_t share = 0; share < shares; ++share) {
            shared->starts[share + 1] += shared->starts[share];
        }
        std::uint64_t at[shares];
        std::copy_n(shared->starts, shares, at);
        for (std::uint64_t i = 0; i < records.count(); ++i) {
            shared->numbers[at[share_of(records.record(i))]++] = static_cast<std::uint32_t>(i);
        }
    }

    std::unique_ptr<Groups> merge_share(const std::vector<Shared> &shared, std::uint64_t share) {
        // The share has at least as many groups as one of the threads has found of it.
        std::uint64_t expected = expected_ / shares;
        for (const Shared &one : shared) {
            expected = std::max(expected, one.starts[share + 1] - one.starts[share]);
        }
        auto merged = std::make_unique<Groups>(budget_, plan_, max_groups_, 0, expected);
        for (const Shared &one : shared) {
            const std::uint64_t first = one.starts[share];
            if (!merged->merge(one.records, one.numbers.data() + first, one.starts[share + 1] - first)) {
                is_full_ = true;
                break;
            }
        }
        return merged;
    }

    MemoryBudget &budget_;
    const Workers &workers_;
    const AggregatePlan &plan_;
    const std::uint64_t expected_;
    const std::uint64_t max_groups_;
    std::atomic<bool> is_full_{false};
};

}  // namespace

bool join_groups(MemoryBudget &budget, const Workers &workers, const AggregatePlan &plan,
                 std::span<const RecordSpan> found, std::uint64_t expected, std::uint64_t max_groups,
                 std::vector<Groups> *joined) {
    std::uint64_t groups = 0;
    for (const RecordSpan &records : found) {
        groups += records.count();
    }
    Joiner joiner(budget, workers, plan, expected, max_groups);
    return groups <= max_merged_alone ? joiner.join_alone(found, joined) : joiner.join_shares(found, joined);
}

void GroupsLeft::see_all(const Workers &workers, std::span<const Groups> groups) {
    workers.for_pieces(groups.size(), 1, [&](std::uint64_t first, std::uint64_t last) {
        Local &left = local();
        for (std::uint64_t part = first; part < last; ++part) {
            for (std::uint64_t i = 0; i < groups[part].numbers(); ++i) {
                left.see(groups[part].record(i));
            }
        }
    });
}

void GroupsLeft::give(HostAggregateOutput *output) {
    if (top_.count == 0) {
        for (const Local &left : locals_) {
            output->only_counted += left.count_;
        }
        return;
    }
    TopGroups first(budget_, top_.count);
    for (const Local &left : locals_) {
        first.add(left.first_);
    }
    first.leave();
    const std::uint32_t words = output->plan->record_words();
    Records kept(budget_, words);
    for (std::uint64_t i = 0; i < first.count(); ++i) {
        std::copy_n(first.record(i), words, kept.add(1));
    }
    output->top_parts.push_back(std::move(kept));
}

void give_groups(const Workers &workers, std::vector<Groups> groups, GroupsLeft *left,
                 HostAggregateOutput *output) {
    if (left != nullptr) {
        left->see_all(workers, groups);
        left->give(output);
        return;
    }
    for (const Groups &own : groups) {
        output->group_parts.emplace_back(own.record(0), own.numbers(), output->plan->record_words());
    }
    output->memory = std::move(groups);
}

}  // namespace gpu_engine::host
