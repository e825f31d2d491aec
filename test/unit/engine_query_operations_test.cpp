// Operations of queries on each engine, against results of PostgreSQL 15.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <string>

#include "engine_under_test.h"
#include "query_reference.h"

namespace query_test {

template <typename UnderTest>
class EngineQueryOperation : public EngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    // The result of an operation is nothing if it fails.
    Status try_to_compute(Operation operation, ValueType type, const Row &operands, std::uint32_t detail,
                          std::uint8_t width, const std::vector<ZoneTransition> *zone,
                          std::optional<Value> *value) {
        TestQuery query;
        std::vector<ValueType> types;
        for (const Value &operand : operands) {
            types.push_back(operand.type);
        }
        query.begin(types);
        query.add_input({operands});
        query.add_node(NodeKind::compute);
        for (std::size_t i = 0; i < operands.size(); ++i) {
            query.add_column(static_cast<std::uint16_t>(i), types[i]);
        }
        if (zone != nullptr) {
            query.zones.push_back({zone->data(), zone->size()});
        }
        query.output(query.add(operation, type, 0, 1, 2, detail, width));
        std::unique_ptr<QueryResult> result;
        const query::Query view = query.view();
        const Status status = engine_->queries().run(*stream_, view, &result);
        value->reset();
        if (!status.ok() || result->outcome() == QueryOutcome::failed) {
            return status;
        }
        EXPECT_EQ(result->rows(), 1U);
        std::vector<std::uint64_t> record(result->record_words());
        EXPECT_TRUE(result->read_rows(*stream_, 0, 1, record.data()).ok());
        *value = read_value(type, (record[0] & 1) != 0, record.data() + 1);
        return status;
    }
    std::optional<Value> compute(Operation operation, ValueType type, const Row &operands,
                                 std::uint32_t detail = 0, std::uint8_t width = 0,
                                 const std::vector<ZoneTransition> *zone = nullptr) {
        std::optional<Value> value;
        const Status status = try_to_compute(operation, type, operands, detail, width, zone, &value);
        EXPECT_TRUE(status.ok()) << status.message;
        return value;
    }
    std::optional<std::int64_t> moment(Operation operation, std::int64_t operand, std::uint32_t detail) {
        const auto value = compute(operation, ValueType::int64, {integer(operand)}, detail);
        return value ? std::optional(static_cast<std::int64_t>(value->number)) : std::nullopt;
    }
    static Value integer(Wide value) { return Value::of(ValueType::int64, value); }
    static Value decimal(Wide value) { return Value::of(ValueType::int128, value); }
};
TYPED_TEST_SUITE(EngineQueryOperation, Engines, EngineName);

TYPED_TEST(EngineQueryOperation, TablesAreLookedInto) {
    const auto look_up = [&](const std::vector<Constant> &table, std::int64_t value) {
        TestQuery query;
        query.begin({ValueType::int64});
        query.add_input({{this->integer(value)}});
        query.constants = {{7, 7}, {table.size(), 0}};
        query.constants.insert(query.constants.end(), table.begin(), table.end());
        query.add_node(NodeKind::compute);
        query.add_column(0, ValueType::int64);
        query.output(query.add(Operation::look_up, ValueType::int64, 0, no_step, no_step, 1));
        std::unique_ptr<QueryResult> result;
        const query::Query view = query.view();
        EXPECT_EQ(find_problem(view), nullptr);
        EXPECT_TRUE(this->engine_->queries().run(*this->stream_, view, &result).ok());
        std::uint64_t record[2] = {};
        if (result->outcome() == QueryOutcome::answered) {
            EXPECT_TRUE(result->read_rows(*this->stream_, 0, 1, record).ok());
            return std::optional(record[1]);
        }
        return std::optional<std::uint64_t>();
    };
    const std::vector<Constant> dense = {{3, 30}, {4, 40}, {5, 50}};
    const std::vector<Constant> sparse = {
        {UINT64_C(0) - 9, 1}, {UINT64_C(0) - 8, 2}, {2, 3}, {100, 4}, {INT64_MAX, 5}};
    for (const std::int64_t value : {3, 4, 5}) {
        EXPECT_EQ(look_up(dense, value), value * 10);
    }
    EXPECT_EQ(look_up(sparse, -9), 1);
    EXPECT_EQ(look_up(sparse, -8), 2);
    EXPECT_EQ(look_up(sparse, 2), 3);
    EXPECT_EQ(look_up(sparse, 100), 4);
    EXPECT_EQ(look_up(sparse, INT64_MAX), 5);
    for (const std::int64_t value : {INT64_MIN, INT64_C(-7), INT64_C(0), INT64_C(99), INT64_C(101)}) {
        EXPECT_EQ(look_up(sparse, value), std::nullopt);
    }
    EXPECT_EQ(look_up(dense, 2), std::nullopt);
    EXPECT_EQ(look_up(dense, 6), std::nullopt);
    EXPECT_EQ(look_up({}, 0), std::nullopt);

    TestQuery query;
    query.begin({ValueType::int64});
    query.constants = {{2, 0}, {1, 1}};
    query.add_node(NodeKind::compute);
    query.add_column(0, ValueType::int64);
    query.output(query.add(Operation::look_up, ValueType::int64, 0, no_step, no_step, 0));
    EXPECT_NE(find_problem(query.view()), nullptr) << "a table that is longer than the constants";
}

constexpr std::int64_t a_day = 86400000000;

TYPED_TEST(EngineQueryOperation, FieldsAreThoseOfExtract) {
    static constexpr DateField fields[] = {
        DateField::minute,          DateField::hour,        DateField::day,         DateField::week,
        DateField::month,           DateField::quarter,     DateField::year,        DateField::isoyear,
        DateField::decade,          DateField::century,     DateField::millennium,  DateField::day_of_week,
        DateField::iso_day_of_week, DateField::day_of_year, DateField::microseconds};
    static constexpr std::int64_t cases[][16] = {
        {1516708183222991, 49, 11, 23, 4, 1, 1, 2048, 2048, 204, 21, 3, 4, 4, 23, 43222991},
        {-211781865600000000, 0, 0, 24, 48, 11, 4, -4713, -4713, -472, -48, -5, 3, 3, 329, 0},
        {-63082281600000000, 0, 0, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0},
        {-63082281600000001, 59, 23, 31, 52, 12, 4, -1, -1, 0, -1, -1, 0, 7, 366, 59999999},
        {-1, 59, 23, 31, 52, 12, 4, 1999, 1999, 199, 20, 2, 5, 5, 365, 59999999},
        {6248308118399999999, 59, 23, 31, 52, 12, 4, 200000, 200000, 20000, 2000, 200, 0, 7, 366, 59999999},
        {3160771200000000, 0, 0, 28, 8, 2, 1, 2100, 2100, 210, 21, 3, 0, 7, 59, 0},
        {5140800000000, 0, 12, 29, 9, 2, 1, 2000, 2000, 200, 20, 2, 2, 2, 60, 0},
        {-101826705392813563, 3, 4, 29, 13, 3, 1, -1228, -1228, -123, -13, -2, 4, 4, 88, 27186437}};
    for (const auto &row : cases) {
        for (std::size_t i = 0; i < std::size(fields); ++i) {
            const auto field = static_cast<std::uint32_t>(fields[i]);
            EXPECT_EQ(this->moment(Operation::field_of_timestamp, row[0], field), row[i + 1])
                << row[0] << ", field " << field;
            if (fields[i] >= DateField::day) {
                const std::int64_t days = row[0] / a_day - (row[0] % a_day < 0 ? 1 : 0);
                EXPECT_EQ(this->moment(Operation::field_of_date, days, field), row[i + 1])
                    << days << ", field " << field;
            }
        }
    }
    const auto epoch = static_cast<std::uint32_t>(DateField::epoch_micros);
    EXPECT_EQ(this->moment(Operation::field_of_date, 0, epoch), 946684800000000);
    EXPECT_EQ(this->moment(Operation::field_of_timestamp, -946684800000001, epoch), -1);
    EXPECT_EQ(this->moment(Operation::field_of_date, 0, static_cast<std::uint32_t>(DateField::julian_day)),
              2451545);
    for (const std::int64_t infinity : {INT64_MIN, INT64_MAX}) {
        EXPECT_EQ(this->moment(Operation::field_of_timestamp, infinity, epoch), std::nullopt);
    }
    EXPECT_EQ(this->moment(Operation::field_of_date, INT32_MAX, epoch), std::nullopt);
}

TYPED_TEST(EngineQueryOperation, TruncationsAreThoseOfDateTrunc) {
    static constexpr TimeUnit units[] = {TimeUnit::millisecond, TimeUnit::second,  TimeUnit::minute,
                                         TimeUnit::hour,        TimeUnit::day,     TimeUnit::week,
                                         TimeUnit::month,       TimeUnit::quarter, TimeUnit::year,
                                         TimeUnit::decade,      TimeUnit::century, TimeUnit::millennium};
    constexpr std::int64_t none = INT64_MIN;
    static constexpr std::int64_t cases[][13] = {
        {-211781865600000000, -211781865600000000, -211781865600000000, -211781865600000000,
         -211781865600000000, -211781865600000000, -211782038400000000, -211783852800000000,
         -211786531200000000, -211810204800000000, none, none, none},
        {-63082281600000001, -63082281600001000, -63082281601000000, -63082281660000000, -63082285200000000,
         -63082368000000000, -63082886400000000, -63084960000000000, -63090230400000000, -63113904000000000,
         -63113904000000000, -66238041600000000, -94639276800000000},
        {-1, -1000, -1000000, -60000000, -3600000000, -86400000000, -432000000000, -2678400000000,
         -7948800000000, -31536000000000, -315532800000000, -3124137600000000, -31525372800000000},
        {6248308118399999999, 6248308118399999000, 6248308118399000000, 6248308118340000000,
         6248308114800000000, 6248308032000000000, 6248307513600000000, 6248305440000000000,
         6248300169600000000, 6248276496000000000, 6248276496000000000, 6245152358400000000,
         6216751123200000000},
        {194233157715624, 194233157715000, 194233157000000, 194233140000000, 194230800000000, 194227200000000,
         193708800000000, 192067200000000, 189388800000000, 189388800000000, 0, 31622400000000,
         31622400000000}};
    for (const auto &row : cases) {
        for (std::size_t i = 0; i < std::size(units); ++i) {
            const auto expected = row[i + 1] == none ? std::nullopt : std::optional(row[i + 1]);
            EXPECT_EQ(
                this->moment(Operation::truncate_timestamp, row[0], static_cast<std::uint32_t>(units[i])),
                expected)
                << row[0] << ", unit " << i;
        }
    }
    const auto month = static_cast<std::uint32_t>(TimeUnit::month);
    EXPECT_EQ(this->moment(Operation::truncate_days, 45, month), 31);
    EXPECT_EQ(this->moment(Operation::truncate_days, INT32_MAX, month), INT32_MAX);
    EXPECT_EQ(this->moment(Operation::truncate_timestamp, INT64_MIN, month), INT64_MIN);
    EXPECT_EQ(this->moment(Operation::date_of_timestamp, -1, 0), -1);
    EXPECT_EQ(this->moment(Operation::date_of_timestamp, INT64_MAX, 0), INT32_MAX);
    EXPECT_EQ(this->moment(Operation::timestamp_of_date, INT32_MIN, 0), INT64_MIN);
    EXPECT_EQ(this->moment(Operation::timestamp_of_date, -2, 0), -2 * a_day);
    EXPECT_EQ(this->moment(Operation::timestamp_of_date, 106751983, 0), std::nullopt);
}

TYPED_TEST(EngineQueryOperation, MonthsAreAdded) {
    const auto added = [&](std::int64_t moment, std::int64_t months, std::uint32_t detail) {
        const auto value = this->compute(Operation::months_added, ValueType::int64,
                                         {this->integer(moment), this->integer(months)}, detail);
        return value ? std::optional(static_cast<std::int64_t>(value->number)) : std::nullopt;
    };
    EXPECT_EQ(added(-63082281600000001, 1487, 0), -59171904000000001);
    EXPECT_EQ(added(3160771200000000, -1449, 0), -649987200000000);
    EXPECT_EQ(added(-65388947399932284, -589, 0), -66937840199932284);
    EXPECT_EQ(added(-211781865600000000, -731, 0), std::nullopt);
    EXPECT_EQ(added(INT64_MAX, 1, 0), INT64_MAX);
    EXPECT_EQ(added(30, 1, 1), 59);      // 31 January 2000
    EXPECT_EQ(added(59, -12, 1), -307);  // 29 February 2000
    EXPECT_EQ(added(0, INT64_MAX, 1), std::nullopt);
}

TYPED_TEST(EngineQueryOperation, ZonesAreShiftedAsPostgresqlDoes) {
    // Europe/Berlin, from the last Sunday of March 2020 to that of October 2021.
    constexpr std::int64_t hour = 3600000000;
    const std::vector<ZoneTransition> zone = {{INT64_MIN, hour},
                                              {638758800000000, 2 * hour},
                                              {656902800000000, hour},
                                              {670208400000000, 2 * hour},
                                              {688957200000000, hour}};
    const auto shift = [&](Operation operation, std::int64_t moment) {
        const auto value = this->compute(operation, ValueType::int64, {this->integer(moment)}, 0, 0, &zone);
        return value ? std::optional(static_cast<std::int64_t>(value->number)) : std::nullopt;
    };
    static constexpr std::int64_t cases[][3] = {{630980233700000, 630976633700000, 630983833700000},
                                                {638766062100000, 638758862100000, 638773262100000},
                                                {656906463400000, 656902863400000, 656910063400000},
                                                {670216384600000, 670209184600000, 670223584600000},
                                                {688961500400000, 688957900400000, 688965100400000}};
    for (const auto &row : cases) {
        EXPECT_EQ(shift(Operation::unshift_zone, row[0]), row[1]);
        EXPECT_EQ(shift(Operation::shift_zone, row[0]), row[2]);
    }
    // A local time that was left out, and one that was there twice.
    EXPECT_EQ(shift(Operation::unshift_zone, 638758800000000 + hour + hour / 2), 638758800000000 + hour / 2);
    EXPECT_EQ(shift(Operation::unshift_zone, 656902800000000 + hour + hour / 2), 656902800000000 + hour / 2);
    EXPECT_EQ(shift(Operation::shift_zone, INT64_MAX), std::nullopt);
}

TYPED_TEST(EngineQueryOperation, QuotientsAreThoseOfNumeric) {
    struct Case {
        Wide left;
        Wide right;
        std::int64_t digits;
        const char *quotient;  // of 24 digits behind the point, without it
    };
    const Case cases[] = {{789248467, 19157451, 16, "411979895968414587100000000"},
                          {42533927, 1293, 12, "328955351894818252000000000000"},
                          {3922119525164, 196467226, 12, "199632254448586758000000000000"},
                          {87556749853755, 51527, 8, "16992402013265860620000000000000000"},
                          {400159543144, 641572001, 16, "6237172796198754315700000000"},
                          {-100, 3000, 20, "-333333333333333333330000"},
                          {0, 5, 16, "0"}};
    constexpr std::uint32_t detail = 2 | 3 << 8 | 24 << 16;
    for (const Case &one : cases) {
        const Row operands = {this->decimal(one.left), this->decimal(one.right), this->integer(one.digits)};
        const auto digits =
            this->compute(Operation::quotient_digits, ValueType::int64, {operands[0], operands[1]}, detail);
        ASSERT_TRUE(digits.has_value());
        EXPECT_EQ(static_cast<std::int64_t>(digits->number), one.digits);
        Wide expected = 0;
        for (const char *digit = one.quotient; *digit != '\0'; ++digit) {
            expected = *digit == '-' ? 0 : expected * 10 + (*digit - '0');
        }
        expected = one.quotient[0] == '-' ? -expected : expected;
        const auto quotient = this->compute(Operation::quotient, ValueType::int128, operands, detail);
        ASSERT_TRUE(quotient.has_value());
        EXPECT_TRUE(quotient->number == expected) << one.quotient;
    }
    const Value zero = this->decimal(0);
    EXPECT_FALSE(this->compute(Operation::quotient_digits, ValueType::int64, {zero, zero}, detail));
    EXPECT_FALSE(
        this->compute(Operation::quotient, ValueType::int128, {zero, zero, this->integer(3)}, detail));
    // The result has no room for that many digits.
    EXPECT_FALSE(this->compute(Operation::quotient, ValueType::int128,
                               {this->decimal(Wide(1) << 100), this->decimal(1), this->integer(24)}, detail));
    EXPECT_FALSE(this->compute(Operation::quotient, ValueType::int128,
                               {this->decimal(1), this->decimal(1), this->integer(25)}, detail));
}

TYPED_TEST(EngineQueryOperation, FloatsAreRoundedOnce) {
    const auto to_float = [&](Wide value, std::uint32_t digits, std::uint8_t width) {
        return this->compute(Operation::to_float, ValueType::float64, {this->decimal(value)}, digits, width)
            ->real;
    };
    EXPECT_EQ(to_float(1, 1, 8), 0.1);
    EXPECT_EQ(to_float(1, 1, 4), static_cast<double>(0.1F));
    EXPECT_EQ(to_float(-12345678901234567, 5, 8), -123456789012.34567);
    EXPECT_EQ(to_float((Wide(1) << 53) + 1, 0, 8), 9007199254740992.0);
    EXPECT_EQ(to_float(static_cast<Wide>(UINT64_MAX) * 1000000007, 20, 8), 184467442.0283676);
    EXPECT_EQ(to_float(1, 38, 8), 1e-38);
    EXPECT_EQ(to_float(1, 38, 4), static_cast<double>(1e-38F));
    EXPECT_EQ(to_float(0, 38, 8), 0.0);
    const auto of_float = [&](Operation operation, ValueType type, double value, std::uint8_t width) {
        return this->compute(operation, type, {Value::of_real(value)}, 0, width);
    };
    EXPECT_EQ(of_float(Operation::round_even, ValueType::float64, 2.5, 8)->real, 2);
    EXPECT_EQ(of_float(Operation::round_even, ValueType::float64, -3.5, 8)->real, -4);
    EXPECT_EQ(of_float(Operation::square_root, ValueType::float64, 2, 8)->real, std::sqrt(2.0));
    EXPECT_FALSE(of_float(Operation::square_root, ValueType::float64, -1, 8));
    EXPECT_EQ(of_float(Operation::is_negative, ValueType::boolean, -0.0, 8)->number, 1);
    EXPECT_EQ(of_float(Operation::is_negative, ValueType::boolean, 0.0, 8)->number, 0);
    EXPECT_EQ(of_float(Operation::float_to_float, ValueType::float64, 0.1, 4)->real,
              static_cast<double>(0.1F));
    EXPECT_FALSE(of_float(Operation::float_to_float, ValueType::float64, 1e39, 4));
    EXPECT_FALSE(of_float(Operation::float_to_float, ValueType::float64, 1e-60, 4));
    EXPECT_EQ(static_cast<std::int64_t>(
                  of_float(Operation::float_to_integer, ValueType::int64, 32767.4, 2)->number),
              32767);
    EXPECT_FALSE(of_float(Operation::float_to_integer, ValueType::int64, 32767.5, 2));
    EXPECT_FALSE(of_float(Operation::float_to_integer, ValueType::int64, 9223372036854775808.0, 8));
    EXPECT_FALSE(of_float(Operation::float_to_integer, ValueType::int64, std::nan(""), 8));
    EXPECT_FALSE(this->compute(Operation::multiply, ValueType::float64,
                               {Value::of_real(1e20), Value::of_real(1e20)}, 0, 4));
    EXPECT_FALSE(
        this->compute(Operation::divide, ValueType::float64, {Value::of_real(1), Value::of_real(0)}));
    EXPECT_TRUE(std::isnan(this->compute(Operation::divide, ValueType::float64,
                                         {Value::of_real(std::nan("")), Value::of_real(0)})
                               ->real));
}

// The same to the last bit, on processors. A device has other functions and answers no query with them.
TYPED_TEST(EngineQueryOperation, FunctionsOfFloatsAreTheCLibrarys) {
    const auto check = [&](FloatFunction function, const Row &operands, std::optional<double> expected) {
        std::optional<Value> value;
        const Status status = this->try_to_compute(
            operands.size() == 1 ? Operation::float_function : Operation::float_function_of_two,
            ValueType::float64, operands, static_cast<std::uint32_t>(function), 0, nullptr, &value);
        const std::string name = "function " + std::to_string(static_cast<int>(function));
        if (std::string(TypeParam::name) != "host") {
            EXPECT_EQ(status.code, gpu_engine::StatusCode::unavailable) << name;
            return;
        }
        ASSERT_TRUE(status.ok()) << status.message;
        ASSERT_EQ(value.has_value(), expected.has_value()) << name << " of " << operands[0].real;
        if (expected && std::isnan(*expected)) {
            EXPECT_TRUE(std::isnan(value->real)) << name;
        } else if (expected) {
            EXPECT_EQ(std::bit_cast<std::uint64_t>(value->real), std::bit_cast<std::uint64_t>(*expected))
                << name << " of " << operands[0].real;
        }
    };
    const auto of = [&](FloatFunction function, double value, std::optional<double> expected) {
        check(function, {Value::of_real(value)}, expected);
    };
    const auto of_two = [&](FloatFunction function, double left, double right,
                            std::optional<double> expected) {
        check(function, {Value::of_real(left), Value::of_real(right)}, expected);
    };
    using enum FloatFunction;
    // Not known to the compiler, which would compute its own results.
    for (volatile double x : {0.3, 0.7071067811865476, 1e-300, 0.999}) {
        of(exponential, x, std::exp(x));
        of(natural_logarithm, x, std::log(x));
        of(decimal_logarithm, x, std::log10(x));
        of(cube_root, -x, std::cbrt(-x));
        of(sine, x * 100, std::sin(x * 100));
        of(cosine, x * 100, std::cos(x * 100));
        of(tangent, x, std::tan(x));
        of(cotangent, x, 1 / std::tan(x));
        of(arc_sine, x, std::asin(x));
        of(arc_cosine, -x, std::acos(-x));
        of(arc_tangent, x * 9, std::atan(x * 9));
        of(hyperbolic_sine, x, std::sinh(x));
        of(hyperbolic_cosine, x, std::cosh(x));
        of(hyperbolic_tangent, x, std::tanh(x));
        of(area_sine, x, std::asinh(x));
        of(area_cosine, x + 1, std::acosh(x + 1));
        of(area_tangent, x, std::atanh(x));
        of_two(power, x + 1, x * 7, std::pow(x + 1, x * 7));
        of_two(arc_tangent_of_two, x, -3, std::atan2(x, -3));
    }
    for (const FloatFunction function : {natural_logarithm, sine, arc_sine, area_cosine, exponential}) {
        of(function, NAN, NAN);
    }
    of(exponential, 710, std::nullopt);
    of(exponential, -750, std::nullopt);
    of(exponential, -INFINITY, 0);
    of(exponential, INFINITY, INFINITY);
    of(natural_logarithm, 0, std::nullopt);
    of(decimal_logarithm, -1, std::nullopt);
    of(natural_logarithm, 1, 0);
    of(natural_logarithm, INFINITY, INFINITY);
    of(cube_root, -0.0, -0.0);
    of(sine, -0.0, -0.0);
    for (const FloatFunction function : {sine, cosine, tangent, cotangent}) {
        of(function, INFINITY, std::nullopt);
    }
    of(cotangent, 0, INFINITY);
    of(arc_sine, 1.5, std::nullopt);
    of(arc_cosine, -1.5, std::nullopt);
    of(area_cosine, 0.5, std::nullopt);
    of(area_tangent, -1, -INFINITY);
    of(area_tangent, 1.5, std::nullopt);
    of(hyperbolic_sine, -1000, -INFINITY);
    of_two(power, NAN, 0, 1);
    of_two(power, 1, NAN, 1);
    of_two(power, 2, NAN, NAN);
    of_two(power, 0, -1, std::nullopt);
    of_two(power, -2, 0.5, std::nullopt);
    of_two(power, -2, 3, -8);
    of_two(power, 1e200, 2, std::nullopt);
    of_two(power, 1e-200, 2, std::nullopt);
    of_two(power, -1, INFINITY, 1);
    of_two(power, 0.5, -INFINITY, INFINITY);
    of_two(power, -INFINITY, 3, -INFINITY);
    of_two(power, -INFINITY, -3, -0.0);
    of_two(power, -INFINITY, 4, INFINITY);
    of_two(power, -INFINITY, -4, 0);
    of_two(power, INFINITY, 0, 1);
    of_two(arc_tangent_of_two, -0.0, -1, std::atan2(-0.0, -1.0));
}

TYPED_TEST(EngineQueryOperation, BitsAreShiftedWithinTheirWidth) {
    const auto shifted = [&](Operation operation, std::int64_t value, std::int64_t places,
                             std::uint8_t width) {
        return static_cast<std::int64_t>(this->compute(operation, ValueType::int64,
                                                       {this->integer(value), this->integer(places)}, 0,
                                                       width)
                                             ->number);
    };
    EXPECT_EQ(shifted(Operation::shift_left, 1, 31, 4), INT32_MIN);
    EXPECT_EQ(shifted(Operation::shift_left, 1, 33, 4), 2);
    EXPECT_EQ(shifted(Operation::shift_left, 1, 20, 2), 0);
    EXPECT_EQ(shifted(Operation::shift_left, 1, 63, 8), INT64_MIN);
    EXPECT_EQ(shifted(Operation::shift_right, -8, 1, 4), -4);
    EXPECT_EQ(shifted(Operation::shift_right, -8, 65, 8), -4);
}

// A product of floats and what it lacks are the exact product.
TYPED_TEST(EngineQueryOperation, RestsOfProductsAreExact) {
    const auto rest = [this](double left, double right) {
        const auto value = this->compute(Operation::product_rest, ValueType::float64,
                                         {Value::of_real(left), Value::of_real(right)});
        return value ? std::optional(value->real) : std::nullopt;
    };
    EXPECT_EQ(rest(3, 5), 0);
    EXPECT_EQ(rest(1 + 0x1p-52, 1 + 0x1p-52), 0x1p-104);
    EXPECT_EQ(rest(0x1p27 + 1, -(0x1p27 + 1)), -1);
    EXPECT_EQ(rest(0.1, 0.1), std::fma(0.1, 0.1, -(0.1 * 0.1)));
    EXPECT_EQ(rest(0, 1e300), 0);
    EXPECT_EQ(rest(INFINITY, 0), 0);
    EXPECT_EQ(rest(NAN, 1), 0);
    EXPECT_EQ(rest(INFINITY, 3), 0);
    EXPECT_EQ(rest(1e-160, 1e-160), std::nullopt);
    EXPECT_EQ(rest(1e-200, 1e-200), std::nullopt);
}

// What printf writes of so many significant digits: an integer, and how many digits are behind its point.
struct Printed {
    Wide digits;
    int places;
};
Printed print(double value, int significant) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.*e", significant - 1, value);
    const std::string mantissa(text, std::strchr(text, 'e'));
    Printed printed = {0, significant - 1 - std::atoi(std::strchr(text, 'e') + 1)};
    for (const char c : mantissa) {
        printed.digits = c >= '0' && c <= '9' ? printed.digits * 10 + (c - '0') : printed.digits;
    }
    for (; printed.digits != 0 && printed.digits % 10 == 0; printed.digits /= 10) {
        --printed.places;
    }
    printed.digits = value < 0 ? -printed.digits : printed.digits;
    return printed;
}

TYPED_TEST(EngineQueryOperation, FloatsAreTheDecimalsOfPrintf) {
    std::vector<double> values = {1,
                                  0.1,
                                  -0.3,
                                  1e15,
                                  123456789012345.5,
                                  0.5,
                                  2.5e-7,
                                  1.0 / 3,
                                  1e-16,
                                  1e37,
                                  1e22,
                                  9.5e-5,
                                  999999999999999.9,
                                  1e14,
                                  12.345,
                                  -1e-9,
                                  9.9999,
                                  1023,
                                  0x1p62,
                                  0x1p-40,
                                  5e-16};
    std::mt19937_64 random(7);
    for (int i = 0; i < 300; ++i) {
        const auto mantissa = static_cast<double>(random() >> 11);
        values.push_back(std::ldexp(mantissa, static_cast<int>(random() % 150) - 100));
    }
    for (const double value : values) {
        for (const int significant : {6, 15}) {
            const auto detail = static_cast<std::uint32_t>(significant) << 8;
            const Printed printed = print(value, significant);
            const auto places =
                this->compute(Operation::float_scale, ValueType::int64, {Value::of_real(value)}, detail);
            ASSERT_EQ(places.has_value(), std::fabs(value) >= 1e-16 && std::fabs(value) <= 1e37) << value;
            if (!places) {
                continue;
            }
            EXPECT_TRUE(places->number == std::max(printed.places, 0)) << value;
            constexpr int scale = 20;
            Wide whole = printed.digits;
            bool has_room = printed.places <= scale;
            for (int i = printed.places; i < scale && has_room; ++i) {
                has_room = !__builtin_mul_overflow(whole, 10, &whole) && whole < Wide(1) << 126 &&
                           whole > -(Wide(1) << 126);
            }
            const auto exact = this->compute(Operation::float_to_decimal, ValueType::int128,
                                             {Value::of_real(value)}, detail | scale | 38 << 16 | 1 << 24);
            if (has_room) {
                EXPECT_TRUE(exact && exact->number == whole) << value;
            } else if (printed.places > scale) {
                EXPECT_FALSE(exact.has_value()) << value;
            }
        }
    }
}

TYPED_TEST(EngineQueryOperation, FloatsAreRoundedTwice) {
    const auto rounded = [this](double value, std::uint32_t scale, std::uint32_t precision) {
        const auto number = this->compute(Operation::float_to_decimal, ValueType::int128,
                                          {Value::of_real(value)}, scale | 15 << 8 | precision << 16);
        return number ? std::optional(static_cast<std::int64_t>(number->number)) : std::nullopt;
    };
    EXPECT_EQ(rounded(2.675, 2, 10), 268);  // the decimal is 2.675, which the float is less than
    EXPECT_EQ(rounded(-2.675, 2, 10), -268);
    EXPECT_EQ(rounded(0.5, 0, 10), 1);
    EXPECT_EQ(rounded(1e-20, 15, 38), 0);
    EXPECT_EQ(rounded(4e-300, 0, 38), 0);
    EXPECT_EQ(rounded(-0.0, 3, 38), 0);
    EXPECT_EQ(rounded(1e-16, 15, 38), 0);
    EXPECT_EQ(rounded(99.994, 2, 4), 9999);
    EXPECT_EQ(rounded(99.995, 2, 4), std::nullopt);
    EXPECT_EQ(rounded(1e20, 20, 38), std::nullopt);
    EXPECT_EQ(rounded(NAN, 2, 38), std::nullopt);
    EXPECT_EQ(rounded(INFINITY, 2, 38), std::nullopt);
}

}  // namespace query_test
