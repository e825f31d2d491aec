// Functions of floats that are the C library's. Compiled for processors alone: a device has other ones, which
// differ in the last bit.
#pragma once

#include "common/query/numbers.h"

namespace gpu_engine::query {

// These return false where PostgreSQL's float.c raises an error, or where it depends on the C library whether
// it does.
bool compute_function(FloatFunction function, double value, double *result) noexcept;
bool compute_function(FloatFunction function, double left, double right, double *result) noexcept;

constexpr bool takes_two(FloatFunction function) noexcept {
    return function >= FloatFunction::power && function <= FloatFunction::arc_tangent_of_two;
}
constexpr bool takes_one(FloatFunction function) noexcept {
    return function >= FloatFunction::exponential && function < FloatFunction::power;
}

// A device engine answers no query that has them, so its code is never reached.
struct CallFloatFunction : OfOne<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double value, double *result) {
#ifdef __CUDA_ARCH__
        *result = value * context.detail;
        return false;
#else
        return compute_function(static_cast<FloatFunction>(context.detail), value, result);
#endif
    }
};
struct CallFloatFunctionOfTwo : OfTwo<double> {
    GPU_ENGINE_BOTH static bool call(const StepContext &context, double left, double right, double *result) {
#ifdef __CUDA_ARCH__
        *result = left * right * context.detail;
        return false;
#else
        return compute_function(static_cast<FloatFunction>(context.detail), left, right, result);
#endif
    }
};

}  // namespace gpu_engine::query
