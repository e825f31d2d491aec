// Comparing entries with a box, some at a time, in loops that the compiler vectorises.
#pragma once

#include <algorithm>
#include <cstdint>

#include "host/grid/file.h"

namespace gpu_engine::host {

class HitTest {
  public:
    static constexpr std::uint64_t batch = 256;

    HitTest(const GridParts &parts, const DeadBitmap *dead, const Box &box)
        : parts_(parts), dead_(dead), box_(box) {}

    // Returns how many of the positions are live entries inside the box in `columns`.
    std::uint64_t count(std::uint64_t first, std::uint64_t last, std::uint32_t columns) {
        std::uint64_t found = 0;
        for (; first < last; first += batch) {
            const std::uint64_t size = std::min(batch, last - first);
            look(first, size, columns);
            std::uint32_t hits = 0;
            for (std::uint64_t i = 0; i < size; ++i) {
                hits += hit_[i];
            }
            found += hits;
        }
        return found;
    }

    // Calls each(position) for the positions that `count` would count.
    template <typename Each>
    void for_each(std::uint64_t first, std::uint64_t last, std::uint32_t columns, Each each) {
        for (; first < last; first += batch) {
            const std::uint64_t size = std::min(batch, last - first);
            look(first, size, columns);
            for (std::uint64_t i = 0; i < size; ++i) {
                if (hit_[i] != 0) {
                    each(first + i);
                }
            }
        }
    }

  private:
    template <typename Key>
    void compare(const Key *keys, std::uint64_t size, std::uint64_t low, std::uint64_t high) noexcept {
        const auto from = static_cast<Key>(low);
        const auto width = static_cast<Key>(high - low);
        for (std::uint64_t i = 0; i < size; ++i) {
            hit_[i] &= static_cast<Key>(keys[i] - from) <= width ? 1 : 0;
        }
    }

    void look(std::uint64_t first, std::uint64_t size, std::uint32_t columns) noexcept {
        std::fill_n(hit_, size, 1);
        for (std::uint32_t c = 0; c < parts_.columns; ++c) {
            if ((columns >> c & 1) == 0) {
                continue;
            }
            const GridColumn &column = parts_.keys[c];
            if (column.is_wide) {
                compare(column.wide.data() + first, size, box_.low[c], box_.high[c]);
            } else {
                compare(column.narrow.data() + first, size, box_.low[c], box_.high[c]);
            }
        }
        if (dead_ != nullptr) {
            for (std::uint64_t i = 0; i < size; ++i) {
                hit_[i] &= dead_->is_dead(first + i) ? 0 : 1;
            }
        }
    }

    const GridParts &parts_;
    const DeadBitmap *dead_;
    const Box &box_;
    std::uint8_t hit_[batch];
};

}  // namespace gpu_engine::host
