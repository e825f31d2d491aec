// Numbers from Zipf's distribution by rejection-inversion (W. Hörmann, G. Derflinger: "Rejection-Inversion to
// Generate Variates from Monotone Discrete Distributions", 1996).
#pragma once

#include <cmath>
#include <cstdint>

#include "bench/kary/measure.cuh"

namespace gpu_engine::bench::paper {

// Draws numbers from 1 to `max`, k as often as k^-exponent says; the exponent is above 0.
class Zipf {
  public:
    Zipf(std::uint64_t max, double exponent)
        : max_(static_cast<double>(max)),
          exponent_(exponent),
          low_(integral(1.5) - 1),
          high_(integral(max_ + 0.5)),
          margin_(2 - inverse(integral(2.5) - std::pow(2, -exponent))) {}

    // Returns the same number for the same `seed` each time.
    __host__ __device__ std::uint64_t draw(std::uint64_t seed) const {
        for (std::uint64_t state = seed;; state = scramble(state)) {
            state += 0x9e3779b97f4a7c15;
            const double uniform = static_cast<double>(scramble(state) >> 11) * 0x1p-53;
            const double area = high_ + uniform * (low_ - high_);
            const double x = inverse(area);
            const double k = fmin(fmax(floor(x + 0.5), 1.0), max_);
            if (k - x <= margin_ || area >= integral(k + 0.5) - pow(k, -exponent_)) {
                return static_cast<std::uint64_t>(k);
            }
        }
    }

  private:
    // The integral of x^-exponent.
    __host__ __device__ double integral(double x) const {
        return exponent_ == 1 ? log(x) : expm1((1 - exponent_) * log(x)) / (1 - exponent_);
    }
    __host__ __device__ double inverse(double area) const {
        return exponent_ == 1 ? exp(area) : exp(log1p((1 - exponent_) * area) / (1 - exponent_));
    }

    double max_;
    double exponent_;
    double low_;
    double high_;
    double margin_;
};

}  // namespace gpu_engine::bench::paper
