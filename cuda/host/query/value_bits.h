// Which values groups have, a bit for each group and value: for counts of values that lie near each other.
#pragma once

#include <bit>

#include "host/query/tile.h"

namespace gpu_engine::host {

class ValueBits {
  public:
    explicit ValueBits(MemoryBudget &budget) : budget_(&budget) {}

    // Adds values of a tile's rows to groups, of which there are so many. Returns false, and adds none, where
    // that would take much memory, or the values aren't integers.
    bool add(const Vector &values, const std::uint32_t *numbers, std::uint64_t groups, std::uint32_t count,
             const std::uint8_t *counted);

    std::uint64_t groups() const noexcept { return words_ > 0 ? bits_.size() / words_ : 0; }
    // Bits are those of values from `least` on, a multiple of 64.
    std::int64_t least() const noexcept { return least_; }
    std::uint64_t words() const noexcept { return words_; }
    // Adds the values that a group of others has, of which all have room.
    void add(std::uint64_t group, const ValueBits &others, std::uint64_t others_group) noexcept {
        const std::uint64_t shift = static_cast<std::uint64_t>(others.least_ - least_) / 64;
        std::uint64_t *own = bits_.data() + group * words_ + shift;
        const std::uint64_t *from = others.bits_.data() + others_group * others.words_;
        for (std::uint64_t i = 0; i < others.words_; ++i) {
            own[i] |= from[i];
        }
    }
    // Of a group's values.
    std::uint64_t count(std::uint64_t group) const noexcept {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < words_; ++i) {
            count += static_cast<std::uint64_t>(std::popcount(bits_[group * words_ + i]));
        }
        return count;
    }
    // Makes words that have room for the values of others, too. Returns false where there is no room.
    bool reach(std::int64_t least, std::uint64_t words, std::uint64_t groups);

    // Calls visit(group, value) for all of them.
    template <typename Visit>
    void for_all(Visit visit) const {
        for (std::uint64_t i = 0; i < bits_.size(); ++i) {
            for (std::uint64_t bits = bits_[i]; bits != 0; bits &= bits - 1) {
                visit(i / words_,
                      least_ + static_cast<std::int64_t>(i % words_ * 64 +
                                                         static_cast<std::uint64_t>(std::countr_zero(bits))));
            }
        }
    }
    // Forgets all.
    void clear() noexcept {
        bits_ = Buffer<std::uint64_t>();
        words_ = 0;
    }

  private:
    MemoryBudget *budget_;
    std::int64_t least_ = 0;
    std::uint64_t words_ = 0;     // of a group
    Buffer<std::uint64_t> bits_;  // those of a group one behind the other
};

}  // namespace gpu_engine::host
