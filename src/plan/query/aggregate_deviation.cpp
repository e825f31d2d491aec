#include "plan/query/aggregate_deviation.h"

#include <cmath>

namespace pg_gpu::plan {

static Numeric add(Numeric a, Numeric b) {
    return DatumGetNumeric(DirectFunctionCall2(numeric_add, NumericGetDatum(a), NumericGetDatum(b)));
}

static Numeric multiply(Numeric a, Numeric b) {
    return DatumGetNumeric(DirectFunctionCall2(numeric_mul, NumericGetDatum(a), NumericGetDatum(b)));
}

static Numeric show_digits(Numeric value, int digits) {
    return DatumGetNumeric(DirectFunctionCall2(numeric_round, NumericGetDatum(value), Int32GetDatum(digits)));
}

// With x less c they are sums of x - c and of its square: the sum of x is theirs and n times c, and that of
// its square theirs, 2 c times the first, and n times the square of c.
Datum state_of_wide_deviation(const WideDeviation &deviation) {
    const Numeric count = int64_to_numeric(static_cast<int64>(deviation.count));
    const Numeric centre = make_numeric(deviation.centre, 0, 0);
    const Numeric unit = make_numeric(1, deviation.scale, deviation.scale);
    const Numeric less = make_numeric(deviation.sum, 0, 0);
    const Numeric all_centres = multiply(count, centre);
    const Numeric sum = add(less, all_centres);
    const Numeric squares =
        add(make_numeric(deviation.squares, 0, 0), multiply(centre, add(add(less, less), all_centres)));
    return state_of_squares(deviation.count, show_digits(multiply(sum, unit), deviation.shown),
                            show_digits(multiply(multiply(squares, unit), unit), 2 * deviation.shown),
                            deviation.shown);
}

// Nothing is rounded but the quotients.
float8 deviation_of_floats(const FloatDeviation &deviation, const Deviation &sums, bool *is_null) {
    *is_null = deviation.of_sample && sums.count == 1;
    if (*is_null)
        return 0;
    const Numeric sum = make_numeric(sums.sum, 0, 0);
    const Numeric squares =
        multiply(int64_to_numeric(static_cast<int64>(sums.count)), make_numeric(sums.squares, 0, 0));
    const Datum difference =
        DirectFunctionCall2(numeric_sub, NumericGetDatum(squares), NumericGetDatum(multiply(sum, sum)));
    const auto count = static_cast<double>(sums.count);
    const double all = std::ldexp(DatumGetFloat8(DirectFunctionCall1(numeric_float8, difference)) / count,
                                  2 * deviation.unit);
    if (unlikely(std::isinf(all)))
        float_overflow_error();
    const double variance = all / (deviation.of_sample ? count - 1 : count);
    return deviation.is_root ? std::sqrt(variance) : variance;
}

Datum finish_deviation(const FinalFunctions &functions, Datum serialized, bool *is_null) {
    const Datum state = call_support(functions.deserialize, {serialized, false}, {Datum{0}, true}, is_null);
    return call_support(functions.finish, {state, false}, {Datum{0}, true}, is_null);
}

}  // namespace pg_gpu::plan
