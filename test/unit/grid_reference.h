// The reference of tests of grid files: points are kept as they come, and every request is answered by
// looking at all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gpu_engine/grid.h"

namespace grid_test {

using gpu_engine::Tid;

inline Tid make_tid(std::uint64_t number) {
    return Tid{static_cast<std::uint16_t>(number >> 32), static_cast<std::uint16_t>(number >> 16),
               static_cast<std::uint16_t>(number)};
}
inline std::uint64_t tid_number(const Tid &tid) {
    return static_cast<std::uint64_t>(tid.block_high) << 32 |
           static_cast<std::uint32_t>(tid.block_low) << 16 | tid.offset;
}

// Keys in the width they are handed over in.
class Keys {
  public:
    explicit Keys(bool wide = false) : wide_(wide) {}

    bool wide() const { return wide_; }
    std::uint64_t highest() const { return wide_ ? UINT64_MAX : UINT32_MAX; }
    void push(std::uint64_t key) {
        if (wide_) {
            wide_keys_.push_back(key);
        } else {
            narrow_keys_.push_back(static_cast<std::uint32_t>(key));
        }
    }
    std::uint64_t operator[](std::size_t i) const { return wide_ ? wide_keys_[i] : narrow_keys_[i]; }
    const void *data() const {
        return wide_ ? static_cast<const void *>(wide_keys_.data())
                     : static_cast<const void *>(narrow_keys_.data());
    }

  private:
    bool wide_;
    std::vector<std::uint64_t> wide_keys_;
    std::vector<std::uint32_t> narrow_keys_;
};

struct Points {
    std::vector<Keys> keys;
    std::vector<std::uint8_t> nulls;  // empty: none
    std::vector<Tid> tids;
    std::vector<bool> dead;  // empty: none

    std::size_t count() const { return tids.size(); }
    std::uint32_t columns() const { return static_cast<std::uint32_t>(keys.size()); }
    bool is_dead(std::size_t i) const { return !dead.empty() && dead[i]; }
    std::uint32_t null_mask(std::size_t i) const { return nulls.empty() ? 0 : nulls[i]; }

    gpu_engine::GridEntries entries() const {
        gpu_engine::GridEntries result = {};
        result.columns = columns();
        for (std::uint32_t c = 0; c < columns(); ++c) {
            result.key_bytes[c] = keys[c].wide() ? 8 : 4;
            result.keys[c] = keys[c].data();
        }
        result.nulls = nulls.empty() ? nullptr : nulls.data();
        result.tids = tids.data();
        result.count = count();
        return result;
    }
};

struct Boxes {
    std::vector<Keys> low;
    std::vector<Keys> high;
    std::vector<std::uint8_t> open;
    std::vector<std::uint8_t> null;

    explicit Boxes(const Points &points) {
        for (const Keys &keys : points.keys) {
            low.emplace_back(keys.wide());
            high.emplace_back(keys.wide());
        }
    }
    std::size_t count() const { return open.size(); }

    gpu_engine::GridBoxes boxes() const {
        gpu_engine::GridBoxes result = {};
        for (std::size_t c = 0; c < low.size(); ++c) {
            result.low[c] = low[c].data();
            result.high[c] = high[c].data();
        }
        result.open = open.data();
        result.null = null.data();
        return result;
    }

    bool has(const Points &points, std::size_t box, std::size_t i) const {
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            if ((open[box] >> c & 1) != 0) {
                continue;
            }
            const bool is_null = (points.null_mask(i) >> c & 1) != 0;
            const bool null_only = (null[box] >> c & 1) != 0;
            const std::uint64_t key = points.keys[c][i];
            if (is_null != null_only || (!is_null && (key < low[c][box] || key > high[c][box]))) {
                return false;
            }
        }
        return true;
    }
    // Live ones, ascending.
    std::vector<std::uint64_t> matches(const Points &points, std::size_t box) const {
        std::vector<std::uint64_t> result;
        for (std::size_t i = 0; i < points.count(); ++i) {
            if (!points.is_dead(i) && has(points, box, i)) {
                result.push_back(tid_number(points.tids[i]));
            }
        }
        std::sort(result.begin(), result.end());
        return result;
    }
};

}  // namespace grid_test
