#include "plan/query/float_moments.h"

#include <cmath>

namespace pg_gpu::plan::query {

using gpu_engine::query::sum_parts;

namespace {

// A sum that is exact: numbers that ascend and have no bit's place in common (Shewchuk, Adaptive Precision
// Floating-Point Arithmetic, 1997).
struct ExactSum {
    static constexpr int kRoom = 64;
    double part[kRoom];
    int count;
};

}  // namespace

static void add(ExactSum *sum, double value) {
    int kept = 0;
    for (int i = 0; i < sum->count; i++) {
        double other = sum->part[i];
        if (std::fabs(value) < std::fabs(other))
            std::swap(value, other);
        const double high = value + other;
        const double low = other - (high - value);
        if (low != 0)
            sum->part[kept++] = low;
        value = high;
    }
    Assert(kept < ExactSum::kRoom);
    sum->part[kept++] = value;
    sum->count = kept;
}

static void add_product(ExactSum *sum, double one, double other) {
    const double product = one * other;
    add(sum, std::fma(one, other, -product));
    add(sum, product);
}

// The nearest float. What lies below the first rounding decides only where it was a tie.
static double round_sum(const ExactSum &sum) {
    int i = sum.count - 1;
    double high = sum.part[i];
    double low = 0;
    while (i > 0 && low == 0) {
        const double before = high;
        high = before + sum.part[--i];
        low = sum.part[i] - (high - before);
    }
    if (i > 0 && low != 0 && (low < 0) == (sum.part[i - 1] < 0)) {
        const double twice = low * 2;
        const double other = high + twice;
        if (other - high == twice)
            high = other;
    }
    return high;
}

// count * sum of products - sum of one * sum of the other, by the count.
static double find_differences(const double *products, const double *one, const double *other, double count) {
    ExactSum sum = {{0}, 1};
    for (uint32 i = 0; i < 2 * sum_parts; i++)
        add_product(&sum, count, products[i]);
    for (uint32 i = 0; i < sum_parts; i++)
        for (uint32 j = 0; j < sum_parts; j++)
            add_product(&sum, -one[i], other[j]);
    return round_sum(sum) / count;
}

bool find_moments(const FloatSums &sums, double count, bool has_y, double *state) {
    const bool is_x_finite = std::isfinite(sums.x[0]);
    const bool is_y_finite = !has_y || std::isfinite(sums.y[0]);
    // Where squares are no more than what was rounded away of the parts, they are none.
    const auto squares = [count](const double *products, const double *one) {
        return Max(find_differences(products, one, one, count), 0.0);
    };
    state[0] = count;
    state[1] = sums.x[0];
    state[2] = is_x_finite ? squares(sums.xx, sums.x) : get_float8_nan();
    if (is_x_finite && !std::isfinite(state[2]))
        return false;
    if (!has_y)
        return true;
    state[3] = sums.y[0];
    state[4] = is_y_finite ? squares(sums.yy, sums.y) : get_float8_nan();
    state[5] =
        is_x_finite && is_y_finite ? find_differences(sums.xy, sums.x, sums.y, count) : get_float8_nan();
    return (!is_y_finite || std::isfinite(state[4])) &&
           (!is_x_finite || !is_y_finite || std::isfinite(state[5]));
}

}  // namespace pg_gpu::plan::query
