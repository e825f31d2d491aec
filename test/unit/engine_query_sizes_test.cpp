// Queries of sizes at which the device engine takes another way: tables of groups that grow, many values and
// accumulators at once, floats far apart, the first rows of many.
#include <cmath>
#include <map>

#include "sized_query.h"

namespace query_sizes {

template <typename UnderTest>
class QuerySizesTest : public EngineTest {
  protected:
    void SetUp() override { open<UnderTest>(); }
};
TYPED_TEST_SUITE(QuerySizesTest, Engines, EngineName);

// Nobody expected so many groups; a key is as great as keys can be, which is what a free place looks like.
TYPED_TEST(QuerySizesTest, GroupsAreManyMoreThanExpected) {
    constexpr std::uint64_t rows = 200000;
    std::vector<std::int64_t> keys(rows);
    for (std::int64_t &key : keys) {
        key = static_cast<std::int64_t>(this->random_() % 90000) - 45000;
    }
    SizedQuery requested(rows);
    requested.add_column(ValueType::int64, [&](std::uint64_t row) { return Number(keys[row]); });
    requested.add_column(ValueType::int64, [](std::uint64_t row) { return Number(row); });
    const auto key = requested.step(Operation::column, ValueType::int64, 0);
    const auto value = requested.step(Operation::column, ValueType::int64, 1);
    requested.aggregate({key}, {count_rows(), of(AccumulatorKind::sum, value)});
    requested.nodes.back().expected_rows = 1;
    std::map<std::int64_t, std::pair<std::uint64_t, std::uint64_t>> expected;
    for (std::uint64_t row = 0; row < rows; ++row) {
        ++expected[keys[row]].first;
        expected[keys[row]].second += row;
    }
    ASSERT_EQ(expected.count(-1), 1U);
    const auto records = requested.run(*this->engine_, *this->stream_);
    ASSERT_EQ(records.size(), expected.size());
    for (const auto &record : records) {
        const auto &group = expected[static_cast<std::int64_t>(record[1])];
        EXPECT_EQ(record[0], 0U);
        EXPECT_EQ(record[2], group.first);
        EXPECT_EQ(record[3], group.second);
        EXPECT_EQ(record[4], 0U);
    }
}

TYPED_TEST(QuerySizesTest, KeysOfSeveralWordsMayBeNull) {
    constexpr std::uint64_t rows = 100000;
    const auto first_of = [](std::uint64_t row) { return row % 7 == 0 ? Number() : Number(row % 211); };
    const auto second_of = [](std::uint64_t row) { return row % 5 == 0 ? Number() : Number(-(row % 101)); };
    SizedQuery requested(rows);
    requested.add_column(ValueType::int64, first_of);
    requested.add_column(ValueType::int64, second_of);
    const auto first = requested.step(Operation::column, ValueType::int64, 0);
    const auto second = requested.step(Operation::widen, ValueType::int128,
                                       requested.step(Operation::column, ValueType::int64, 1));
    requested.aggregate({first, second},
                        {of(AccumulatorKind::count, first), of(AccumulatorKind::least, second)});
    std::map<std::pair<Number, Number>, std::uint64_t> expected;
    for (std::uint64_t row = 0; row < rows; ++row) {
        expected[{first_of(row), second_of(row)}] += first_of(row) ? 1 : 0;
    }
    const auto records = requested.run(*this->engine_, *this->stream_);
    ASSERT_EQ(records.size(), expected.size());
    for (const auto &record : records) {
        const Number own_first = (record[0] & 1) != 0 ? Number() : Number(record[1]);
        const Number own_second = (record[0] & 2) != 0 ? Number() : Number(record[2]);
        const auto found = expected.find({own_first, own_second});
        ASSERT_NE(found, expected.end());
        EXPECT_EQ(record[4], found->second);
        // The least of a group's own key is the key.
        EXPECT_EQ((record[0] & 8) != 0, !own_second);
        if (own_second) {
            EXPECT_EQ(record[5], record[2]);
            EXPECT_EQ(record[6], record[3]);
        }
    }
}

// One column is never NULL, so that each of its groups has a row that counts.
TYPED_TEST(QuerySizesTest, AnyValueIsTheGroups) {
    constexpr std::uint64_t rows = 20000;
    constexpr std::uint64_t groups = 257;
    SizedQuery asked(rows);
    asked.add_column(ValueType::int64, [](std::uint64_t row) { return Number(row % groups); });
    const auto key = asked.step(Operation::column, ValueType::int64, 0);
    const auto wide = asked.step(Operation::widen, ValueType::int128, key);
    asked.aggregate({key}, {of(AccumulatorKind::any_value, key), of(AccumulatorKind::any_value, wide)});
    const auto records = asked.run(*this->engine_, *this->stream_);
    ASSERT_EQ(records.size(), groups);
    for (const auto &record : records) {
        EXPECT_EQ(record[0], 0U);
        EXPECT_EQ(record[2], record[1]);
        EXPECT_EQ(record[3], record[1]);
        EXPECT_EQ(record[4], 0U);
    }
}

TYPED_TEST(QuerySizesTest, AccumulatorsAreMany) {
    constexpr std::uint64_t rows = 5000;
    constexpr std::uint32_t count = 300;
    for (const bool has_key : {false, true}) {
        SizedQuery requested(rows);
        requested.add_column(ValueType::int64, [](std::uint64_t row) { return Number(row % 3); });
        requested.add_column(ValueType::int64,
                             [](std::uint64_t row) { return row % 2 == 0 ? Number() : Number(row); });
        const auto key = requested.step(Operation::column, ValueType::int64, 0);
        const auto value = requested.step(Operation::column, ValueType::int64, 1);
        std::vector<Accumulator> sums;
        for (std::uint32_t i = 0; i < count; ++i) {
            const auto sum = requested.step(Operation::add, ValueType::int64, value, requested.constant(i));
            sums.push_back(of(AccumulatorKind::sum, sum));
        }
        requested.aggregate(has_key ? std::vector<std::uint16_t>{key} : std::vector<std::uint16_t>{}, sums);
        const auto records = requested.run(*this->engine_, *this->stream_);
        ASSERT_EQ(records.size(), has_key ? 3U : 1U);
        for (const auto &record : records) {
            const std::size_t first = (count + (has_key ? 1 : 0) + 63) / 64 + (has_key ? 1 : 0);
            std::uint64_t sum = 0;
            std::uint64_t counted = 0;
            for (std::uint64_t row = 1; row < rows; row += 2) {
                const bool is_own = !has_key || row % 3 == record[first - 1];
                sum += is_own ? row : 0;
                counted += is_own ? 1 : 0;
            }
            for (std::uint32_t i = 0; i < count; ++i) {
                EXPECT_EQ(record[first + 2 * i], sum + counted * i) << i;
            }
        }
    }
}

// All of the steps' results are wanted at the end.
TYPED_TEST(QuerySizesTest, ValuesAtOnceAreMany) {
    constexpr std::uint64_t rows = 3000;
    constexpr std::uint32_t count = 200;
    SizedQuery requested(rows);
    requested.add_column(ValueType::int64,
                         [](std::uint64_t row) { return row % 11 == 0 ? Number() : Number(row); });
    const auto value = requested.step(Operation::column, ValueType::int64, 0);
    std::vector<std::uint16_t> products;
    for (std::uint32_t i = 0; i < count; ++i) {
        products.push_back(
            requested.step(Operation::multiply, ValueType::int64, value, requested.constant(i)));
    }
    query::Node &node = requested.begin(query::NodeKind::compute);
    requested.set_outputs(&node, products);
    const auto records = requested.run(*this->engine_, *this->stream_);
    ASSERT_EQ(records.size(), rows);
    std::vector<bool> has_come(rows);
    std::uint64_t nulls = 0;
    for (const auto &record : records) {
        if ((record[0] & 1) != 0) {
            ++nulls;
            continue;
        }
        const std::uint64_t row = record[4 + 1];
        ASSERT_LT(row, rows);
        EXPECT_FALSE(has_come[row]);
        has_come[row] = true;
        for (std::uint32_t i = 0; i < count; ++i) {
            ASSERT_EQ(record[4 + i], row * i);
        }
    }
    EXPECT_EQ(nulls, (rows + 10) / 11);
}

// Numbers far apart, of which the great ones cancel each other out.
TYPED_TEST(QuerySizesTest, SumsOfFloatsFarApartAreExact) {
    constexpr std::uint64_t rows = 40000;
    for (const bool has_key : {false, true}) {
        SizedQuery requested(rows);
        requested.add_column(ValueType::float64, [](std::uint64_t row) {
            const double great = std::ldexp(1.0 + static_cast<double>(row / 4 % 97), 900);
            return Number(signed_bits_of(row % 4 == 0   ? great
                                         : row % 4 == 1 ? std::ldexp(1.0, -1000)
                                         : row % 4 == 2 ? -great
                                                        : 0.1));
        });
        requested.add_column(ValueType::int64, [](std::uint64_t row) { return Number(row / 4 % 3); });
        const auto value = requested.step(Operation::column, ValueType::float64, 0);
        const auto key = requested.step(Operation::column, ValueType::int64, 1);
        requested.aggregate(has_key ? std::vector<std::uint16_t>{key} : std::vector<std::uint16_t>{},
                            {of(AccumulatorKind::sum_float, value)});
        const auto records = requested.run(*this->engine_, *this->stream_);
        ASSERT_EQ(records.size(), has_key ? 3U : 1U);
        for (const auto &record : records) {
            std::uint64_t tenths = 0;
            for (std::uint64_t row = 3; row < rows; row += 4) {
                tenths += !has_key || row / 4 % 3 == record[1] ? 1 : 0;
            }
            // 0.1 as a double times a number is exact with 64 bits.
            const auto sum =
                static_cast<double>(static_cast<long double>(0.1) * static_cast<long double>(tenths));
            EXPECT_EQ(record.back(), bits_of(sum));
        }
    }
}

TYPED_TEST(QuerySizesTest, FirstRowsOfManyAreInOrder) {
    constexpr std::uint64_t rows = 400000;
    const auto value_of = [](std::uint64_t row) {
        return row % 50000 == 7 ? Number() : Number(static_cast<std::int64_t>(row * 7919 % 100003));
    };
    for (const bool nulls_first : {false, true}) {
        for (const bool descends : {false, true}) {
            SizedQuery requested(rows);
            requested.add_column(ValueType::int64, value_of);
            requested.add_column(ValueType::int64, [](std::uint64_t row) { return Number(row); });
            query::Node &node = requested.begin(query::NodeKind::sort);
            requested.sort_keys = {{0, descends, nulls_first, 0}, {1, 1, 0, 0}};
            node.sort_keys = {0, 2};
            node.limit = 100;
            std::vector<std::uint64_t> order(rows);
            for (std::uint64_t row = 0; row < rows; ++row) {
                order[row] = row;
            }
            std::partial_sort(order.begin(), order.begin() + 100, order.end(), [&](auto one, auto other) {
                const Number a = value_of(one);
                const Number b = value_of(other);
                if (a.has_value() != b.has_value()) {
                    return a.has_value() != nulls_first;
                }
                if (a != b) {
                    return descends ? *a > *b : *a < *b;
                }
                return one > other;
            });
            const auto records = requested.run(*this->engine_, *this->stream_);
            ASSERT_EQ(records.size(), 100U);
            for (std::uint64_t i = 0; i < 100; ++i) {
                EXPECT_EQ(records[i][2], order[i]) << i;
            }
        }
    }
}

TYPED_TEST(QuerySizesTest, ValuesOfManyGroupsAreOrdered) {
    constexpr std::uint64_t rows = 60000;
    constexpr std::uint64_t groups = 1000;
    SizedQuery requested(rows);
    requested.add_column(ValueType::int64, [](std::uint64_t row) { return Number(row % groups); });
    // A group has 60 rows: of each of the numbers 0 to 18 three, and three more of 5.
    requested.add_column(ValueType::int64, [](std::uint64_t row) {
        const auto own = static_cast<std::int64_t>(row / groups);
        return Number(own < 57 ? own % 19 : 5);
    });
    requested.constants = {{bits_of(0.5), 0}};
    const auto key = requested.step(Operation::column, ValueType::int64, 0);
    const auto value = requested.step(Operation::column, ValueType::int64, 1);
    Accumulator once = of(AccumulatorKind::sum, value);
    once.distinct = 1;
    Accumulator count = of(AccumulatorKind::count, value);
    count.distinct = 1;
    requested.aggregate({key}, {once, count, of(AccumulatorKind::percentile_discrete, value),
                                of(AccumulatorKind::mode, value), count_rows()});
    const auto records = requested.run(*this->engine_, *this->stream_);
    ASSERT_EQ(records.size(), groups);
    for (const auto &record : records) {
        EXPECT_EQ(record[2], 171U);
        EXPECT_EQ(record[4], 19U);
        EXPECT_EQ(record[5], 8U);
        EXPECT_EQ(record[6], 5U);
        EXPECT_EQ(record[7], 60U);
    }
}

}  // namespace query_sizes
