// What loads of mirrors really took, beside what they were expected to take. Plain C++, tested without
// PostgreSQL.
//
// Loads of one size are compared with one another. A small run that waits for others at the server process
// may take ten times its estimate, which tells that a load waits so many milliseconds, and not that one of a
// thousand times the size takes ten times its own.
#pragma once

#include "client/path_record.h"

namespace pg_gpu::client {

class LoadRecord {
  public:
    // A load took so many microseconds where so many were estimated.
    void note(double estimate, double taken) { ratios_[class_of(estimate)].note(estimate, taken); }

    // What a load is expected to take, in microseconds.
    double expected(double estimate) const {
        const std::size_t own = class_of(estimate);
        if (ratios_[own].is_known())
            return estimate * ratios_[own].value();
        for (std::size_t distance = 1; distance < kClasses; distance++) {
            // A larger load that is slow is likely to be so by its size.
            if (own + distance < kClasses && ratios_[own + distance].is_known())
                return estimate * ratios_[own + distance].value();
            if (distance <= own && ratios_[own - distance].is_known())
                return estimate + ratios_[own - distance].excess();
        }
        return estimate;
    }

  private:
    // Each is four times as large as the one before.
    static constexpr std::size_t kClasses = 20;

    struct Ratio : FadedRatio {
        double loads = 0;

        void note(double estimate, double taken) {
            loads = loads * kKept + 1;
            FadedRatio::note(estimate, taken);
        }
        // Microseconds that a load took beyond its estimate.
        double excess() const { return std::max((actual - estimated) / loads, 0.0); }
    };

    static std::size_t class_of(double estimate) {
        const double size = std::log2(std::max(estimate, 1.0)) / 2;
        return std::min(static_cast<std::size_t>(size), kClasses - 1);
    }

    std::array<Ratio, kClasses> ratios_{};
};

}  // namespace pg_gpu::client
