// Groups of one column with few codes, added up by code: no step is computed for a row, only a key for each
// code in the end.
#pragma once

#include <vector>

#include "common/column/aggregate.h"
#include "host/column/aggregate/groups.h"
#include "host/column/load/store.h"
#include "host/column/aggregate/tile.h"

namespace gpu_engine::host {

// The sums that one thread makes of a part.
class CodeGroups {
  public:
    // Throws Failure when there is no memory.
    CodeGroups(MemoryBudget &budget, const AggregatePlan &plan);

    // Goes on to another part. Its rows can be added up by code only if `is_used` then.
    void begin_part(const StoreParts &parts, const AggregateInput *inputs);
    bool is_used() const noexcept { return is_used_; }

    // Adds the selected rows of a tile, a bit each.
    void add(std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected);
    // Adds all to their groups, and ends the part. Returns false when there are too many groups.
    bool give(Groups *groups);

  private:
    // An accumulator of a column's codes.
    struct Sum {
        const Accumulator *accumulator = nullptr;
        std::uint32_t column = 0;
        std::uint64_t offset = 0;
        std::vector<std::uint64_t> by_slot;
    };

    bool can_add(const StoreParts &parts, const AggregateInput *inputs) const;
    const AggregateInput *input_of(const AggregateInput *inputs, std::uint16_t step) const;
    void make_slots(std::uint32_t bits);
    // Unpacks the codes of the chosen rows.
    void read(std::uint32_t column, std::uint64_t first, std::uint32_t groups, const std::uint64_t *selected,
              std::uint32_t *codes);
    bool give(const std::uint32_t *codes, std::uint32_t count, Groups *groups);

    const AggregatePlan &plan_;
    bool is_used_ = false;
    const StoreParts *parts_ = nullptr;
    const AggregateInput *inputs_ = nullptr;
    std::uint32_t key_column_ = 0;
    std::uint64_t slots_ = 0;
    std::uint64_t apart_ = 0;
    std::vector<std::uint32_t> counts_;
    std::vector<Sum> sums_;
    bool all_ = false;  // set when all of a tile's rows are chosen
    std::uint32_t count_ = 0;
    Buffer<std::uint16_t> positions_;
    Buffer<std::uint32_t> keys_;
    Buffer<std::uint32_t> codes_;
    Buffer<std::uint32_t> unpacked_;
};

}  // namespace gpu_engine::host
