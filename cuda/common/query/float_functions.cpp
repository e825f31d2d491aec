// As PostgreSQL's float.c, function by function: the C library's result, and before and after it the same
// tests.
#include "common/query/float_functions.h"

#include <cerrno>
#include <cmath>
#include <limits>

namespace gpu_engine::query {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Neither an overflow nor, where a result of 0 is one, an underflow.
bool is_in_range(double result, bool is_exact_infinity, bool is_exact_zero) noexcept {
    return (!std::isinf(result) || is_exact_infinity) && (result != 0 || is_exact_zero);
}

bool exponential(double value, double *result) noexcept {
    if (std::isinf(value)) {
        *result = value > 0 ? value : 0;
        return true;
    }
    errno = 0;
    *result = std::exp(value);
    return errno != ERANGE && is_in_range(*result, false, false);
}

template <typename Logarithm>
bool logarithm(double value, double *result, Logarithm function) noexcept {
    if (value <= 0) {
        *result = 0;
        return false;
    }
    *result = function(value);
    return is_in_range(*result, std::isinf(value), value == 1);
}

// Of an infinity there is no result; otherwise whatever the library gives.
template <typename Function>
bool of_angle(double value, double *result, Function function) noexcept {
    if (std::isinf(value)) {
        *result = 0;
        return false;
    }
    errno = 0;
    *result = function(value);
    return errno == 0;
}

template <typename Function>
bool within_one(double value, double *result, Function function) noexcept {
    if (value < -1 || value > 1) {
        *result = 0;
        return false;
    }
    *result = function(value);
    return !std::isinf(*result);
}

bool hyperbolic_sine(double value, double *result) noexcept {
    errno = 0;
    *result = std::sinh(value);
    if (errno == ERANGE) {
        *result = value < 0 ? -infinity : infinity;
    }
    return true;
}

bool hyperbolic_cosine(double value, double *result) noexcept {
    errno = 0;
    *result = std::cosh(value);
    if (errno == ERANGE) {
        *result = infinity;
    }
    return *result != 0;
}

bool area_tangent(double value, double *result) noexcept {
    if (value == 1 || value == -1) {
        *result = value * infinity;
        return true;
    }
    return within_one(value, result, [](double x) { return std::atanh(x); });
}

bool is_odd(double whole) noexcept {
    const double half = whole / 2;
    return std::floor(half) != half;
}

double power_of_infinite(double base, double exponent) noexcept {
    if (std::isinf(exponent)) {
        const double size = std::fabs(base);
        return size == 1 ? 1 : (size > 1) == (exponent > 0) ? infinity : 0;
    }
    if (exponent == 0) {
        return 1;
    }
    const bool is_negative = base < 0 && is_odd(exponent);
    const double size = exponent > 0 ? infinity : 0;
    return is_negative ? -size : size;
}

bool power(double base, double exponent, double *result) noexcept {
    if (std::isnan(base) || std::isnan(exponent)) {
        *result = (!std::isnan(base) && base == 1) || (!std::isnan(exponent) && exponent == 0)
                      ? 1
                      : std::numeric_limits<double>::quiet_NaN();
        return true;
    }
    *result = 0;
    if ((base == 0 && exponent < 0) || (base < 0 && std::floor(exponent) != exponent)) {
        return false;
    }
    if (std::isinf(base) || std::isinf(exponent)) {
        *result = power_of_infinite(base, exponent);
        return true;
    }
    errno = 0;
    *result = std::pow(base, exponent);
    return errno == 0 && !std::isnan(*result) && is_in_range(*result, false, base == 0);
}

}  // namespace

bool compute_function(FloatFunction function, double value, double *result) noexcept {
    if (std::isnan(value)) {
        *result = value;
        return true;
    }
    switch (function) {
        case FloatFunction::exponential:
            return exponential(value, result);
        case FloatFunction::natural_logarithm:
            return logarithm(value, result, [](double x) { return std::log(x); });
        case FloatFunction::decimal_logarithm:
            return logarithm(value, result, [](double x) { return std::log10(x); });
        case FloatFunction::cube_root:
            *result = std::cbrt(value);
            return is_in_range(*result, std::isinf(value), value == 0);
        case FloatFunction::sine:
            return of_angle(value, result, [](double x) { return std::sin(x); });
        case FloatFunction::cosine:
            return of_angle(value, result, [](double x) { return std::cos(x); });
        case FloatFunction::tangent:
            return of_angle(value, result, [](double x) { return std::tan(x); });
        case FloatFunction::cotangent:
            return of_angle(value, result, [](double x) { return 1 / std::tan(x); });
        case FloatFunction::arc_sine:
            return within_one(value, result, [](double x) { return std::asin(x); });
        case FloatFunction::arc_cosine:
            return within_one(value, result, [](double x) { return std::acos(x); });
        case FloatFunction::arc_tangent:
            *result = std::atan(value);
            return true;
        case FloatFunction::hyperbolic_sine:
            return hyperbolic_sine(value, result);
        case FloatFunction::hyperbolic_cosine:
            return hyperbolic_cosine(value, result);
        case FloatFunction::hyperbolic_tangent:
            *result = std::tanh(value);
            return true;
        case FloatFunction::area_sine:
            *result = std::asinh(value);
            return true;
        case FloatFunction::area_cosine:
            *result = value < 1 ? 0 : std::acosh(value);
            return value >= 1;
        case FloatFunction::area_tangent:
            return area_tangent(value, result);
        default:
            *result = 0;
            return false;
    }
}

bool compute_function(FloatFunction function, double left, double right, double *result) noexcept {
    if (function == FloatFunction::power) {
        return power(left, right, result);
    }
    *result = std::atan2(left, right);
    return function == FloatFunction::arc_tangent_of_two;
}

}  // namespace gpu_engine::query
