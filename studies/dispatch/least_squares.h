// Linear models by least squares, from the normal equations.
#pragma once

#include <array>
#include <cstddef>

namespace gpu_engine {

// Collects samples of some features and a value, and finds the coefficients with which the features add up to
// what comes closest to the values. Features may differ in scale by any factor.
template <std::size_t N>
class LeastSquares {
  public:
    using Vector = std::array<double, N>;

    void add(const Vector &features, double value) {
        for (std::size_t i = 0; i < N; ++i) {
            for (std::size_t j = 0; j < N; ++j) {
                products_[i][j] += features[i] * features[j];
            }
            targets_[i] += features[i] * value;
        }
    }

    // A feature that says nothing new has coefficient 0.
    // Gauss's elimination solves the equations; the matrix is symmetric and positive semidefinite.
    Vector fit() const {
        std::array<Vector, N> a = products_;
        Vector b = targets_;
        std::array<bool, N> used = {};
        for (std::size_t i = 0; i < N; ++i) {
            // Rounding leaves a little of what would be 0, which counts as 0 here.
            used[i] = a[i][i] > 1e-12 * products_[i][i];
            if (!used[i]) {
                continue;
            }
            for (std::size_t row = i + 1; row < N; ++row) {
                const double factor = a[row][i] / a[i][i];
                for (std::size_t column = i; column < N; ++column) {
                    a[row][column] -= factor * a[i][column];
                }
                b[row] -= factor * b[i];
            }
        }
        Vector x = {};
        for (std::size_t i = N; i-- > 0;) {
            if (!used[i]) {
                continue;
            }
            double rest = b[i];
            for (std::size_t column = i + 1; column < N; ++column) {
                rest -= a[i][column] * x[column];
            }
            x[i] = rest / a[i][i];
        }
        return x;
    }

  private:
    std::array<Vector, N> products_ = {};
    Vector targets_ = {};
};

}  // namespace gpu_engine
