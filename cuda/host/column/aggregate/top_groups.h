// The first of many groups.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/buffer.h"

namespace gpu_engine::host {

// Groups with the greatest ranks: as many as are wanted, and all others with the last one's rank. It is told
// of one group after the other, and forgets those that can't be among them any more.
class TopGroups {
  public:
    struct Group {
        std::int64_t rank;
        const std::uint64_t *record;
    };

    TopGroups(MemoryBudget &budget, std::uint64_t wanted) : budget_(&budget), wanted_(wanted) {}

    // Throws Failure when there is no memory.
    void add(std::int64_t rank, const std::uint64_t *record) {
        if (rank < bound_) {
            return;
        }
        if (count_ == kept_.size()) {
            make_room();
        }
        kept_[count_++] = {rank, record};
    }
    void add(const TopGroups &others) {
        for (std::uint64_t i = 0; i < others.count_; ++i) {
            add(others.kept_[i].rank, others.kept_[i].record);
        }
    }
    // Forgets all that aren't among the first.
    void leave() {
        if (count_ <= wanted_) {
            return;
        }
        Group *const end = kept_.data() + count_;
        Group *const last = kept_.data() + wanted_ - 1;
        std::nth_element(kept_.data(), last, end,
                         [](const Group &one, const Group &other) { return one.rank > other.rank; });
        bound_ = last->rank;
        Group *const kept_end =
            std::partition(last + 1, end, [this](const Group &group) { return group.rank >= bound_; });
        count_ = static_cast<std::uint64_t>(kept_end - kept_.data());
    }

    std::uint64_t count() const noexcept { return count_; }
    const std::uint64_t *record(std::uint64_t i) const noexcept { return kept_[i].record; }

  private:
    // Many groups come before any are forgotten, so that forgetting takes little of each.
    void make_room() {
        constexpr std::uint64_t least = 1024;
        leave();
        if (count_ > kept_.size() / 2 || kept_.size() == 0) {
            Buffer<Group> larger(*budget_, std::max(least, 2 * kept_.size()));
            std::copy_n(kept_.data(), count_, larger.data());
            kept_ = std::move(larger);
        }
    }

    MemoryBudget *budget_;
    std::uint64_t wanted_;
    std::int64_t bound_ = INT64_MIN;
    std::uint64_t count_ = 0;
    Buffer<Group> kept_;
};

}  // namespace gpu_engine::host
