// The exact sum of a tile's floats, several at a time: each value is cut into slices of so many bits that the
// slices at one place add up without rounding.
//
// After "Fast Reproducible Floating-Point Summation" (Demmel, Nguyen, 2013), whose slices are of fixed
// places: here the first one begins at the greatest value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "common/query/sum_float.h"
#include "host/query/tile.h"

namespace gpu_engine::host {

class FloatSlices {
  public:
    // Takes a tile's values, of which those with `counted` 0 aren't added; nullptr: all are. False: one that
    // isn't finite is among them.
    bool take(const double *values, std::uint32_t count, const std::uint8_t *counted) noexcept {
        count_ = (count + lanes - 1) / lanes * lanes;
        double greatest[lanes] = {};
        double nothing[lanes] = {};  // NaN, where there is a value that isn't finite
        for (std::uint32_t i = 0; i < count; ++i) {
            rest_[i] = counted == nullptr || counted[i] != 0 ? values[i] : 0;
        }
        std::fill(rest_ + count, rest_ + count_, 0.0);
        for (std::uint32_t i = 0; i < count_; i += lanes) {
            for (std::uint32_t lane = 0; lane < lanes; ++lane) {
                const double size = std::fabs(rest_[i + lane]);
                greatest[lane] = size > greatest[lane] ? size : greatest[lane];
                nothing[lane] += size * 0.0;
            }
        }
        greatest_ = *std::max_element(greatest, greatest + lanes);
        return std::all_of(nothing, nothing + lanes, [](double value) { return value == 0; });
    }

    // Calls give(parts) for numbers that add up to the sum of what was taken, and add(value) for what is left
    // of values that have bits in more slices than are cut.
    template <typename Give, typename Add>
    void add_up(Give give, Add add) noexcept {
        if (greatest_ == 0) {
            return;
        }
        // All values are less than 2^(exponent + 1) in size, and what is left of them at most 2^-width of
        // that.
        int exponent = std::ilogb(greatest_);
        bool is_any_left = true;
        for (int slice = 0; slice < max_slices && is_any_left; ++slice, exponent -= width) {
            if (exponent > max_exponent || exponent < min_exponent) {
                break;
            }
            is_any_left = cut(1.5 * std::ldexp(1.0, exponent + tile_bits + 2), give);
        }
        for (std::uint32_t i = 0; is_any_left && i < count_; ++i) {
            if (rest_[i] != 0) {
                add(rest_[i]);
            }
        }
    }

  private:
    static constexpr std::uint32_t lanes = 8;
    static constexpr int max_slices = 4;
    static constexpr int tile_bits = 10;
    static_assert(query_tile_rows == 1 << tile_bits);
    // Adding a number of this many more places, and taking it away again, leaves the upper bits of a value.
    // What is cut off at one place has so few bits that a tile's add up exactly.
    static constexpr int width = 53 - tile_bits - 2;
    // The number that is added must be finite, and its last place one that floats have.
    static constexpr int max_exponent = 1023 - tile_bits - 3;
    static constexpr int min_exponent = -1022 + 53;

    // Adds up what of the values is left in the upper slice. Returns whether anything is left below.
    template <typename Give>
    bool cut(double splitter, Give give) noexcept {
        double sums[lanes] = {};
        double left[lanes] = {};
        for (std::uint32_t i = 0; i < count_; i += lanes) {
            for (std::uint32_t lane = 0; lane < lanes; ++lane) {
                const double value = rest_[i + lane];
                const double upper = (value + splitter) - splitter;
                const double rest = value - upper;
                sums[lane] += upper;
                left[lane] += std::fabs(rest);
                rest_[i + lane] = rest;
            }
        }
        double sum = 0;
        double all_left = 0;
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            sum += sums[lane];
            all_left += left[lane];
        }
        if (sum != 0) {
            give(query::split_float(sum));
        }
        return all_left != 0;
    }

    std::uint32_t count_ = 0;
    double greatest_ = 0;
    double rest_[query_tile_rows];
};

}  // namespace gpu_engine::host
