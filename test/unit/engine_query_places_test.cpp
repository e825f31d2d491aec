// Groups whose keys make numbers, and values that are counted as bits: what has such places, what has none,
// and what turns out to have none while rows are added.
#include <functional>
#include <map>
#include <set>

#include "sized_query.h"

namespace query_sizes {

template <typename UnderTest>
class QueryPlacesTest : public EngineTest {
  protected:
    using NumberOf = std::function<Number(std::uint64_t row)>;
    static constexpr std::uint64_t many_rows = 150000;

    void SetUp() override { open<UnderTest>(); }

    // Groups of two keys with how many rows they have and what their numbers come to.
    void compare_groups(std::uint64_t rows, std::uint64_t expected_groups, const NumberOf &first_of,
                        const NumberOf &second_of) {
        SizedQuery requested(rows);
        requested.add_column(ValueType::int64, first_of);
        requested.add_column(ValueType::int64, second_of);
        const auto first = requested.step(Operation::column, ValueType::int64, 0);
        const auto second = requested.step(Operation::column, ValueType::int64, 1);
        requested.aggregate({first, second}, {count_rows(), of(AccumulatorKind::greatest, first)});
        requested.nodes.back().expected_rows = expected_groups;
        std::map<std::pair<Number, Number>, std::uint64_t> expected;
        for (std::uint64_t row = 0; row < rows; ++row) {
            ++expected[{first_of(row), second_of(row)}];
        }
        const auto records = requested.run(*this->engine_, *this->stream_);
        ASSERT_EQ(records.size(), expected.size());
        for (const auto &record : records) {
            const Number own_first = (record[0] & 1) != 0 ? Number() : Number(record[1]);
            const Number own_second = (record[0] & 2) != 0 ? Number() : Number(record[2]);
            const auto found = expected.find({own_first, own_second});
            ASSERT_NE(found, expected.end());
            EXPECT_EQ(record[3], found->second);
            EXPECT_EQ((record[0] & 8) != 0, !own_first);
            EXPECT_TRUE(!own_first || record[4] == record[1]);
        }
    }

    // How many values each group has, as integers of 64 and of 128 bits.
    void compare_counts(std::uint64_t rows, const NumberOf &key_of, const NumberOf &value_of) {
        SizedQuery requested(rows);
        requested.add_column(ValueType::int64, key_of);
        requested.add_column(ValueType::int64, value_of);
        const auto key = requested.step(Operation::column, ValueType::int64, 0);
        const auto value = requested.step(Operation::column, ValueType::int64, 1);
        const auto wide = requested.step(Operation::widen, ValueType::int128, value);
        Accumulator distinct = of(AccumulatorKind::count, value);
        distinct.distinct = 1;
        Accumulator of_wide = of(AccumulatorKind::count, wide);
        of_wide.distinct = 1;
        requested.aggregate({key}, {distinct, of_wide});
        std::map<Number, std::set<std::int64_t>> expected;
        for (std::uint64_t row = 0; row < rows; ++row) {
            auto &values = expected[key_of(row)];
            if (const Number own = value_of(row); own) {
                values.insert(*own);
            }
        }
        const auto records = requested.run(*this->engine_, *this->stream_);
        ASSERT_EQ(records.size(), expected.size());
        for (const auto &record : records) {
            const Number own = (record[0] & 1) != 0 ? Number() : Number(record[1]);
            const auto found = expected.find(own);
            ASSERT_NE(found, expected.end());
            EXPECT_EQ(record[2], found->second.size());
            EXPECT_EQ(record[3], found->second.size());
        }
    }
};
TYPED_TEST_SUITE(QueryPlacesTest, Engines, EngineName);

inline std::uint64_t scattered(std::uint64_t row) {
    return (row + 1) * 0x9e3779b97f4a7c15 >> 20;
}

TYPED_TEST(QueryPlacesTest, KeysHavePlaces) {
    const auto one = [](std::uint64_t) { return Number(1); };
    const auto scattered_key = [](std::uint64_t row) { return Number(scattered(row) % 200000); };
    // Few were expected, and the first rows have no room for so many places.
    this->compare_groups(this->many_rows, 1, scattered_key, one);
    this->compare_groups(this->many_rows, 100000, scattered_key, one);
    // The window grows with each tile, upwards or downwards.
    this->compare_groups(
        this->many_rows, 1, [](std::uint64_t row) { return Number(row / 2); }, one);
    this->compare_groups(
        this->many_rows, 1, [](std::uint64_t row) { return Number(-static_cast<std::int64_t>(row / 3)); },
        one);
    this->compare_groups(1, 1, one, one);
}

TYPED_TEST(QueryPlacesTest, KeysWithNullHavePlaces) {
    const auto null = [](std::uint64_t) { return Number(); };
    const auto first_of = [](std::uint64_t row) { return row % 7 == 0 ? Number() : Number(row % 1009); };
    const auto second_of = [](std::uint64_t row) {
        return row % 5 == 0 ? Number() : Number(-static_cast<std::int64_t>(scattered(row) % 101));
    };
    this->compare_groups(this->many_rows, 100000, first_of, second_of);
    this->compare_groups(this->many_rows, 100000, first_of, null);
    this->compare_groups(5000, 1, null, null);
    // Of the first tiles there are only NULLs, and then great numbers.
    this->compare_groups(
        20000, 1,
        [](std::uint64_t row) { return row < 9000 ? Number() : Number((std::int64_t(1) << 40) + row % 9); },
        null);
}

TYPED_TEST(QueryPlacesTest, KeysLoseTheirPlaces) {
    const auto far_of = [](std::uint64_t row) {
        const std::int64_t far[] = {INT64_MIN, INT64_MAX, -1, 0};
        return Number(row % 3000 == 2999 ? far[row / 3000 % 4] : static_cast<std::int64_t>(row % 500));
    };
    const auto few = [](std::uint64_t row) { return row % 2 == 0 ? Number(row % 3) : Number(); };
    this->compare_groups(this->many_rows, 1, far_of, few);
    // Only some threads see what has no place.
    this->compare_groups(
        this->many_rows, 100000,
        [](std::uint64_t row) {
            return Number(row < 140000 ? static_cast<std::int64_t>(scattered(row) % 90000) : INT64_MAX);
        },
        few);
    // One key at an end of all integers has places.
    this->compare_groups(
        20000, 1, [](std::uint64_t row) { return Number(INT64_MIN + static_cast<std::int64_t>(row % 600)); },
        [](std::uint64_t row) { return Number(INT64_MAX - static_cast<std::int64_t>(row % 5)); });
    // Together the keys have too many places, each by itself has few.
    this->compare_groups(
        20000, 1, [](std::uint64_t row) { return Number(scattered(row) % 5000); },
        [](std::uint64_t row) { return Number(scattered(row) / 5000 % 5000); });
}

TYPED_TEST(QueryPlacesTest, ValuesAreCounted) {
    const auto few = [](std::uint64_t row) { return row % 11 == 0 ? Number() : Number(row % 7); };
    const auto many = [](std::uint64_t row) { return Number(scattered(row) % 30000); };
    const auto near = [](std::uint64_t row) { return Number(scattered(row * 3) % 40000 - 20000); };
    this->compare_counts(this->many_rows, few, near);
    this->compare_counts(this->many_rows, many,
                         [](std::uint64_t row) { return row % 3 == 0 ? Number() : Number(row % 63); });
    this->compare_counts(this->many_rows, few, [](std::uint64_t row) { return Number(row); });
    this->compare_counts(this->many_rows, few,
                         [](std::uint64_t row) { return Number(-static_cast<std::int64_t>(row)); });
    this->compare_counts(5000, few, [](std::uint64_t) { return Number(); });
    this->compare_counts(1, few, [](std::uint64_t) { return Number(-64); });
}

TYPED_TEST(QueryPlacesTest, ValuesTooFarApartAreCounted) {
    const auto few = [](std::uint64_t row) { return Number(row % 7); };
    // With many groups there is no room for so many values each.
    this->compare_counts(
        this->many_rows, [](std::uint64_t row) { return Number(scattered(row) % 30000); },
        [](std::uint64_t row) { return Number(scattered(row) % 70000); });
    // Only some threads see what is far away.
    this->compare_counts(this->many_rows, few, [](std::uint64_t row) {
        return Number(row < 140000 ? static_cast<std::int64_t>(row % 999) : std::int64_t(1) << 50);
    });
    this->compare_counts(20000, few, [](std::uint64_t row) {
        const std::int64_t ends[] = {INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX - 1, 0, -1};
        return Number(ends[row % 6]);
    });
    for (const std::int64_t end : {INT64_MIN, INT64_MAX - 100, INT64_MAX / 4 - 50, INT64_MIN / 4 - 50}) {
        this->compare_counts(20000, few, [end](std::uint64_t row) {
            return Number(end + static_cast<std::int64_t>(row % 100));
        });
    }
}

}  // namespace query_sizes
