// Accumulators of queries: each kind, and what sums hold.
#include <set>

#include "query_fixture.h"

namespace query_test {

// All kinds of accumulators, of one group, some and many.
TYPED_TEST(EngineQuery, EachAccumulatorIsTheReferences) {
    using enum AccumulatorKind;
    for (const int key : {-1, 5, 2, 1}) {
        for (int round = 0; round < 3; ++round) {
            SCOPED_TRACE(key);
            const std::vector<Row> rows = make_rows(9000, this->random_, true);
            TestQuery query;
            query.begin(scan_types);
            query.add_input(rows);
            query.add_node(NodeKind::aggregate);
            for (std::uint16_t i = 0; i < scan_types.size(); ++i) {
                query.add_column(i, scan_types[i]);
            }
            // Squares of 128 bits, and a key that is NULL in some rows.
            const std::uint16_t square = query.add(Operation::multiply, ValueType::int128, 2, 2);
            if (key >= 0) {
                query.output(static_cast<std::uint16_t>(key));
            }
            const auto fraction = [&](double part) { return query.add_list({Value::of_real(part)}); };
            query.accumulate(count_rows);
            query.accumulate(count_rows, 0, 4);
            query.accumulate(round == 0 ? sum : least, round == 0 ? 2 : square);
            for (const std::uint16_t filter : {no_step, std::uint16_t{4}}) {
                for (std::uint16_t i = 0; i < scan_types.size(); ++i) {
                    query.accumulate(count, i, filter);
                    query.accumulate(least, i, filter);
                    query.accumulate(greatest, i, filter);
                    if (round == 1 || (i + round) % 2 == 0) {
                        query.accumulate(count, i, filter, true);
                    }
                    if (round == 2) {
                        query.accumulate(mode, i, filter);
                        query.accumulate(percentile_discrete, i, filter, false, fraction(0.25));
                        query.accumulate(percentile_below, i, filter, false, fraction(0.4));
                        query.accumulate(percentile_above, i, filter, false, fraction(0.4));
                    }
                }
                for (const std::uint16_t i : {0, 1, 2}) {
                    query.accumulate(sum, i, filter);
                    query.accumulate(sum, i, filter, round == 2);
                }
                query.accumulate(sum_float, 3, filter);
                query.accumulate(sum_float, 3, filter, round == 2);
                for (std::uint32_t part = 1; part < sum_parts; ++part) {
                    query.accumulate(sum_float, 3, filter, false, part);
                }
                query.accumulate(percentile_continuous, 3, filter, false, fraction(0.9));
                query.accumulate(percentile_continuous, 3, filter, false, fraction(0.1));
                query.accumulate(bit_and, 1, filter);
                query.accumulate(bit_or, 1, filter);
                query.accumulate(bit_xor, 1, filter);
            }
            this->check(&query, rows);
            if (this->HasFailure()) {
                return;
            }
        }
    }
}

// Sums of floats that need any exponents there are.
TYPED_TEST(EngineQuery, SumsOfFloatsAreExact) {
    const std::vector<std::pair<std::vector<double>, double>> cases = {
        {{1e300, 1, -1e300}, 1},
        {{4.9e-324, 1e308, -1e308}, 4.9e-324},
        {{0.1, 0.2, 0.3}, 0.6},
        {{1e16, 1, 1e-10}, 10000000000000002.0},
        {{9007199254740992.0, 1}, 9007199254740992.0},
        {{9007199254740992.0, 1, 5e-324}, 9007199254740994.0},
        {{1.7e308, 1.7e308, -1.7e308}, 1.7e308},
        {{-1.5, -2.25}, -3.75},
        {{INFINITY, 1e308}, INFINITY},
        {{2.5e-310, 2.5e-310}, 2.5e-310 * 2}};
    for (const auto &[values, sum] : cases) {
        std::vector<Row> rows;
        for (const double value : values) {
            rows.push_back({Value::of_real(value)});
        }
        const bool any_twice = std::set<double>(values.begin(), values.end()).size() < values.size();
        for (const bool distinct : {false, true}) {
            if (distinct && any_twice) {
                continue;
            }
            TestQuery query;
            query.begin({ValueType::float64});
            query.add_input(rows);
            query.add_node(NodeKind::aggregate);
            query.add_column(0, ValueType::float64);
            query.accumulate(AccumulatorKind::sum_float, 0, no_step, distinct);
            const std::unique_ptr<QueryResult> result = this->call(&query);
            ASSERT_NE(result, nullptr);
            ASSERT_EQ(result->outcome(), QueryOutcome::answered);
            EXPECT_EQ(this->read(*result, {ValueType::float64})[0][0].real, sum);
        }
    }
    TestQuery query;
    query.begin({ValueType::float64});
    query.add_input({{Value::of_real(1.7e308)}, {Value::of_real(1.6e308)}});
    query.add_node(NodeKind::aggregate);
    query.add_column(0, ValueType::float64);
    query.accumulate(AccumulatorKind::sum_float, 0);
    EXPECT_EQ(this->call(&query)->outcome(), QueryOutcome::failed);
}

// Parts of a sum, each of which is what those before it lack.
TYPED_TEST(EngineQuery, PartsOfSumsAreExact) {
    const std::vector<std::pair<std::vector<double>, std::array<double, sum_parts>>> cases = {
        {{1e300, 1, -1e-300}, {1e300, 1, -1e-300, 0}},
        {{-1e300, -1, 1e-300, 5e-324}, {-1e300, -1, 1e-300, 5e-324}},
        {{9007199254740992.0, 1}, {9007199254740992.0, 1, 0, 0}},
        {{9007199254740992.0, 3}, {9007199254740996.0, -1, 0, 0}},
        {{NAN, 1, 1e-40}, {NAN, 0, 0, 0}},
        {{0.0, -0.0}, {0, 0, 0, 0}}};
    for (const auto &[values, parts] : cases) {
        std::vector<Row> rows;
        for (const double value : values) {
            rows.push_back({Value::of_real(value)});
        }
        for (const bool with_key : {false, true}) {
            TestQuery query;
            query.begin({ValueType::float64});
            query.add_input(rows);
            query.add_node(NodeKind::aggregate);
            query.add_column(0, ValueType::float64);
            if (with_key) {
                query.output(query.add_constant(Value::of(ValueType::int64, 7)));
            }
            std::vector<ValueType> types(with_key ? 1 : 0, ValueType::int64);
            for (const std::uint32_t part : {3U, 0U, 1U, 2U}) {
                query.accumulate(AccumulatorKind::sum_float, 0, no_step, false, part);
                types.push_back(ValueType::float64);
            }
            const std::unique_ptr<QueryResult> result = this->call(&query);
            ASSERT_NE(result, nullptr);
            ASSERT_EQ(result->outcome(), QueryOutcome::answered);
            const Row row = this->read(*result, types)[0];
            const std::size_t first = with_key ? 1 : 0;
            for (std::size_t i = 0; i < sum_parts; ++i) {
                EXPECT_TRUE(is_same(row[first + i], Value::of_real(parts[(i + 3) % sum_parts])))
                    << i << ": " << row[first + i].real;
            }
        }
    }
}

TYPED_TEST(EngineQuery, NothingGivesOneGroupWithoutKeys) {
    for (const bool with_key : {false, true}) {
        TestQuery query;
        query.begin(scan_types);
        if (this->random_() % 2 == 0) {
            query.add_input({});
        }
        query.add_node(NodeKind::aggregate);
        for (std::uint16_t i = 0; i < scan_types.size(); ++i) {
            query.add_column(i, scan_types[i]);
        }
        if (with_key) {
            query.output(0);
        }
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 2);
        query.accumulate(AccumulatorKind::count, 0, no_step, true);
        query.accumulate(AccumulatorKind::mode, 3);
        EXPECT_EQ(this->check(&query, {}), QueryOutcome::answered);
    }
}

TYPED_TEST(EngineQuery, SumsOf128BitsFailWhereTheyHaveNoRoom) {
    const Wide large = Wide(1) << 126;
    for (const int rows : {1, 2}) {
        TestQuery query;
        query.begin({ValueType::int128});
        const std::vector<Row> all(static_cast<std::size_t>(rows), {Value::of(ValueType::int128, large)});
        query.add_input(all);
        query.add_node(NodeKind::aggregate);
        query.add_column(0, ValueType::int128);
        query.accumulate(AccumulatorKind::sum, 0);
        EXPECT_EQ(this->check(&query, all), rows == 1 ? QueryOutcome::answered : QueryOutcome::failed);
    }
}

// Values that are mostly different are listed by the host engine, and selected from.
TYPED_TEST(EngineQuery, PercentilesOfMostlyDifferentValues) {
    using enum AccumulatorKind;
    std::vector<Row> rows = make_rows(unit_test::few_or_many(30000, 200000), this->random_, false);
    for (Row &row : rows) {
        row[0] = Value::of(ValueType::int64, static_cast<Wide>(this->random_() % 700));
        row[1] = Value::of(ValueType::int64, static_cast<std::int64_t>(this->random_()));
        row[2] = Value::of(ValueType::int128, static_cast<Wide>(this->random_()) << 50);
        if (this->random_() % 8 > 0) {
            row[3] = Value::of_real(static_cast<double>(this->random_() % 1000003) / 7 - 50000);
        }
    }
    for (const int key : {-1, 0, 4}) {
        SCOPED_TRACE(key);
        TestQuery query;
        query.begin(scan_types);
        query.add_input(rows);
        query.add_node(NodeKind::aggregate);
        for (std::uint16_t i = 0; i < scan_types.size(); ++i) {
            query.add_column(i, scan_types[i]);
        }
        if (key >= 0) {
            query.output(static_cast<std::uint16_t>(key));
        }
        const auto fraction = [&](double part) { return query.add_list({Value::of_real(part)}); };
        query.accumulate(count_rows);
        for (const std::uint16_t filter : {no_step, std::uint16_t{4}}) {
            for (const double part : {0.0, 0.5, 0.999, 1.0}) {
                query.accumulate(percentile_continuous, 3, filter, false, fraction(part));
                query.accumulate(percentile_discrete, 1, filter, false, fraction(part));
            }
            query.accumulate(percentile_discrete, 2, filter, false, fraction(0.3));
            query.accumulate(percentile_below, 2, filter, false, fraction(0.4));
            query.accumulate(percentile_above, 2, filter, false, fraction(0.4));
        }
        // The same values are counted, too, so they are no list.
        query.accumulate(percentile_discrete, 0, no_step, false, fraction(0.7));
        query.accumulate(count, 0, no_step, true);
        this->check(&query, rows);
        if (this->HasFailure()) {
            return;
        }
    }
}

}  // namespace query_test
