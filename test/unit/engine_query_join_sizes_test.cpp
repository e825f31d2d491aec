// Joins on the device engine: of each kind by each of its ways, of many rows, of keys that many rows have,
// and of more pairs than 32 bits count.
#include <map>

#include "engine_under_test.h"
#include "query_reference.h"

#if defined(PG_GPU_HAVE_CUDA) && !defined(PG_GPU_NO_DEVICE_TESTS)

namespace query_join_sizes {

using namespace query_test;
using gpu_engine::query::AccumulatorKind;

// A query over several inputs, each of which has a scan.
struct JoinQuery : TestQuery {
    std::uint32_t add_scan(const std::vector<ValueType> &columns, const std::vector<Row> &rows) {
        begin(columns);
        add_input(rows);
        return scan;
    }
    std::uint32_t add_scan(const std::vector<ValueType> &columns, TestInput input) {
        begin(columns);
        input.scan = scan;
        input_data.push_back(std::move(input));
        return scan;
    }
    Node &add_join(JoinKind kind, std::uint32_t probed, std::uint32_t build) {
        return TestQuery::add_join(kind, probed, build, {});
    }
    // Behind the outputs.
    void match(const std::vector<std::pair<std::uint16_t, std::uint16_t>> &keys) {
        nodes.back().join_keys = {static_cast<std::uint32_t>(outputs.size()),
                                  static_cast<std::uint32_t>(2 * keys.size())};
        for (const auto &[probed, build] : keys) {
            outputs.push_back(probed);
            outputs.push_back(build);
        }
    }
    void output_first(std::uint16_t count) {
        for (std::uint16_t i = 0; i < count; ++i) {
            output(i);
        }
    }
};

inline TestInput input_of(const std::vector<std::vector<std::uint64_t>> &values) {
    TestInput input;
    input.values = values;
    input.nulls.resize(values.size());
    input.rows = values[0].size();
    return input;
}

// Both sides of joins here have these columns.
const std::vector<ValueType> side_types = {ValueType::int64, ValueType::float64, ValueType::int128,
                                           ValueType::boolean, ValueType::int64};
constexpr std::uint16_t side_columns = 5;
constexpr std::uint16_t value_column = 4;

enum class Filter { none, less, may_fail };

class QueryJoinSizes : public EngineTest {
  protected:
    std::unique_ptr<QueryResult> run(JoinQuery *query, StatusCode expected = StatusCode::ok) {
        std::unique_ptr<QueryResult> result;
        const Query view = query->view();
        EXPECT_EQ(find_problem(view), nullptr) << find_problem(view);
        const Status status = engine_->queries().run(*stream_, view, &result);
        EXPECT_EQ(status.code, expected) << status.message;
        return result;
    }
    std::vector<Row> read(const QueryResult &result, const std::vector<ValueType> &types) {
        std::vector<std::uint64_t> words(result.rows() * result.record_words());
        EXPECT_TRUE(result.read_rows(*stream_, 0, result.rows(), words.data()).ok());
        std::vector<Row> rows;
        for (std::uint64_t i = 0; i < result.rows(); ++i) {
            const std::uint64_t *record = words.data() + i * result.record_words();
            std::uint32_t word = null_words(static_cast<std::uint32_t>(types.size()));
            Row row;
            for (std::size_t column = 0; column < types.size(); ++column) {
                row.push_back(read_value(types[column], (record[column / 64] >> (column % 64) & 1) != 0,
                                         record + word));
                word += words_of(types[column]);
            }
            rows.push_back(row);
        }
        return rows;
    }
    static void compare(std::vector<Row> rows, std::vector<Row> expected) {
        ASSERT_EQ(rows.size(), expected.size());
        std::sort(rows.begin(), rows.end(), RowOrder());
        std::sort(expected.begin(), expected.end(), RowOrder());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            for (std::size_t column = 0; column < rows[i].size(); ++column) {
                ASSERT_TRUE(is_same(rows[i][column], expected[i][column])) << i << ", column " << column;
            }
        }
    }

    std::vector<Row> make_side(std::size_t count, std::int64_t step, bool is_unique) {
        static constexpr double floats[] = {NAN, 0.0, -0.0, 1.5, -INFINITY, 7, 8, 9};
        std::vector<Row> rows;
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t key =
                is_unique ? static_cast<std::int64_t>(i) : static_cast<std::int64_t>(random_() % 60);
            Row row = {Value::of(ValueType::int64, (key - 20) * step), Value::of_real(floats[random_() % 8]),
                       Value::of(ValueType::int128, (static_cast<Wide>(random_() % 40) - 20) << 70),
                       Value::of(ValueType::boolean, static_cast<Wide>(random_() % 2)),
                       Value::of(ValueType::int64, static_cast<Wide>(random_() % 300))};
            for (Value &value : row) {
                value.is_null = random_() % 11 == 0;
            }
            rows.push_back(row);
        }
        return rows;
    }

    static std::vector<Row> reference(JoinKind kind, const std::vector<std::uint16_t> &keys, Filter filter,
                                      const std::vector<Row> &probed, const std::vector<Row> &build) {
        const auto has_null_key = [&](const Row &row) {
            return std::any_of(keys.begin(), keys.end(), [&](std::uint16_t k) { return row[k].is_null; });
        };
        const auto are_equal = [&](const Row &one, const Row &other) {
            return !has_null_key(one) && !has_null_key(other) &&
                   std::all_of(keys.begin(), keys.end(),
                               [&](std::uint16_t k) { return is_same(one[k], other[k]); });
        };
        const auto passes = [&](const Row &one, const Row &other) {
            const Value &left = one[value_column];
            const Value &right = other[value_column];
            if (filter == Filter::none || left.is_null || right.is_null) {
                return filter == Filter::none;
            }
            if (filter == Filter::less) {
                return left.number < right.number;
            }
            if (left.number == right.number) {
                throw Failed{};
            }
            return 100 / (left.number - right.number) < 10;
        };
        const auto joined = [](Row row, const Row &other) {
            row.insert(row.end(), other.begin(), other.end());
            return row;
        };
        Row nothing;
        for (const ValueType type : side_types) {
            nothing.push_back(Value::null(type));
        }
        if (kind == JoinKind::anti_null && !build.empty()) {
            if (std::any_of(build.begin(), build.end(), has_null_key)) {
                return {};
            }
        }
        std::vector<Row> rows;
        std::vector<bool> is_matched(build.size());
        for (const Row &row : probed) {
            bool has_match = false;
            for (std::size_t i = 0; i < build.size(); ++i) {
                if (are_equal(row, build[i]) && passes(row, build[i])) {
                    has_match = is_matched[i] = true;
                    if (kind <= JoinKind::full) {
                        rows.push_back(joined(row, build[i]));
                    }
                }
            }
            if (!has_match && (kind == JoinKind::left || kind == JoinKind::full)) {
                rows.push_back(joined(row, nothing));
            }
            const bool is_unknown = kind == JoinKind::anti_null && has_null_key(row) && !build.empty();
            if (kind == JoinKind::semi ? has_match : kind > JoinKind::semi && !has_match && !is_unknown) {
                rows.push_back(row);
            }
        }
        for (std::size_t i = 0; i < build.size(); ++i) {
            if (!is_matched[i] && (kind == JoinKind::right || kind == JoinKind::full)) {
                rows.push_back(joined(nothing, build[i]));
            }
        }
        return rows;
    }

    static void add_filter(JoinQuery *query, Filter filter) {
        if (filter == Filter::none) {
            return;
        }
        std::uint16_t left = query->add_column(value_column, ValueType::int64);
        std::uint16_t right = query->add_column(side_columns + value_column, ValueType::int64);
        if (filter == Filter::may_fail) {
            const std::uint16_t distance = query->add(Operation::subtract, ValueType::int64, left, right);
            const std::uint16_t hundred = query->add_constant(Value::of(ValueType::int64, 100));
            left = query->add(Operation::divide, ValueType::int64, hundred, distance);
            right = query->add_constant(Value::of(ValueType::int64, 10));
        }
        query->nodes.back().filter = query->add(Operation::less, ValueType::boolean, left, right);
    }

    void check(JoinKind kind, const std::vector<std::uint16_t> &keys, Filter filter,
               const std::vector<Row> &probed, const std::vector<Row> &build) {
        JoinQuery query;
        const std::uint32_t left = query.add_scan(side_types, probed);
        const std::uint32_t right = query.add_scan(side_types, build);
        query.add_join(kind, left, right);
        add_filter(&query, filter);
        std::vector<ValueType> types = side_types;
        if (kind <= JoinKind::full) {
            types.insert(types.end(), side_types.begin(), side_types.end());
        }
        query.output_first(static_cast<std::uint16_t>(types.size()));
        std::vector<std::pair<std::uint16_t, std::uint16_t>> pairs;
        for (const std::uint16_t key : keys) {
            pairs.emplace_back(key, key);
        }
        query.match(pairs);
        const auto result = run(&query);
        ASSERT_NE(result, nullptr);
        std::vector<Row> expected;
        try {
            expected = reference(kind, keys, filter, probed, build);
        } catch (const Failed &) {
            EXPECT_EQ(result->outcome(), QueryOutcome::failed);
            return;
        }
        ASSERT_EQ(result->outcome(), QueryOutcome::answered);
        compare(read(*result, types), expected);
    }

    // How many rows the last node gives, and the sum of a column of them.
    void sum_rows(JoinQuery *query, std::uint16_t column, std::uint64_t count, Wide sum) {
        query->add_node(NodeKind::aggregate);
        const std::uint16_t step = query->add_column(column, ValueType::int64);
        query->accumulate(AccumulatorKind::count_rows);
        query->accumulate(AccumulatorKind::sum, step);
        const auto result = run(query);
        ASSERT_NE(result, nullptr);
        ASSERT_EQ(result->outcome(), QueryOutcome::answered);
        const std::vector<Row> rows = read(*result, {ValueType::int64, ValueType::int128});
        ASSERT_EQ(rows.size(), 1U);
        EXPECT_EQ(static_cast<std::uint64_t>(rows[0][0].number), count);
        EXPECT_TRUE(rows[0][1].number == sum);
    }
};

template <typename UnderTest>
class QueryJoinSizesTest : public QueryJoinSizes {
  protected:
    void SetUp() override { open<UnderTest>(); }
};
using JoiningEngines = testing::Types<CudaEngineUnderTest, SmallDeviceUnderTest>;
TYPED_TEST_SUITE(QueryJoinSizesTest, JoiningEngines, EngineName);

TYPED_TEST(QueryJoinSizesTest, EachKindIsTheReferences) {
    const std::vector<std::vector<std::uint16_t>> keys = {{}, {0}, {1}, {2}, {3}, {0, 1, 3}, {2, 0}};
    for (std::uint32_t kind = 1; kind <= 7; ++kind) {
        for (const auto &key : keys) {
            for (const Filter filter : {Filter::none, Filter::less, Filter::may_fail}) {
                const auto join = static_cast<JoinKind>(kind);
                if (join == JoinKind::anti_null && (key.size() != 1 || filter != Filter::none)) {
                    continue;
                }
                for (int round = 0; round < 4; ++round) {
                    SCOPED_TRACE(testing::Message() << "kind " << kind << ", " << key.size() << " keys from "
                                                    << (key.empty() ? 0 : key[0]) << ", filter "
                                                    << static_cast<int>(filter) << ", round " << round);
                    const std::int64_t step = round % 2 == 0 ? 1 : 0x123456789abcd;
                    const std::size_t most[] = {170, 300, 40, 3};
                    const auto probed = this->make_side(this->random_() % most[round], step, false);
                    const auto build = this->make_side(this->random_() % most[(round + 1) % 4], step,
                                                       round < 2 && this->random_() % 2 == 0);
                    this->check(join, key, filter, probed, build);
                    if (this->HasFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

// NOT IN of lists without a NULL, or of nothing.
TYPED_TEST(QueryJoinSizesTest, NotInOfValues) {
    for (const std::size_t count : {0, 30}) {
        auto build = this->make_side(count, 1, true);
        for (Row &row : build) {
            row[0].is_null = false;
        }
        this->check(JoinKind::anti_null, {0}, Filter::none, this->make_side(200, 1, false), build);
    }
}

// Joins above joins, of both ways, and groups of their rows.
TYPED_TEST(QueryJoinSizesTest, ChainsOfJoinsAreGrouped) {
    for (const JoinKind second : {JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full}) {
        for (const bool is_unique : {true, false}) {
            SCOPED_TRACE(testing::Message() << static_cast<int>(second) << (is_unique ? ", unique" : ""));
            const auto fact = this->make_side(700, 1, false);
            const auto one = this->make_side(45, 1, is_unique);
            const auto two = this->make_side(50, 1, is_unique);
            JoinQuery query;
            const std::uint32_t fact_scan = query.add_scan(side_types, fact);
            const std::uint32_t one_scan = query.add_scan(side_types, one);
            const std::uint32_t two_scan = query.add_scan(side_types, two);
            query.add_join(JoinKind::inner, fact_scan, one_scan);
            query.output_first(side_columns);
            query.output(side_columns + 2);
            query.match({{0, 0}});
            query.add_join(second, query.last(), two_scan);
            for (const std::uint16_t output : {5, 6, 4, 10}) {
                query.output(output);
            }
            query.match({{0, 0}});
            query.add_node(NodeKind::aggregate);
            const std::uint16_t key = query.add_column(0, ValueType::int128);
            const std::uint16_t number = query.add_column(1, ValueType::int64);
            const std::uint16_t other = query.add_column(3, ValueType::int64);
            query.output(key);
            query.accumulate(AccumulatorKind::count_rows);
            query.accumulate(AccumulatorKind::sum, number);
            query.accumulate(AccumulatorKind::count, other);
            const auto result = this->run(&query);
            ASSERT_NE(result, nullptr);
            ASSERT_EQ(result->outcome(), QueryOutcome::answered);

            std::vector<Row> pairs;
            for (Row &row : this->reference(JoinKind::inner, {0}, Filter::none, fact, one)) {
                const Value chosen = row[side_columns + 2];
                row.resize(side_columns);
                // The reference joins rows of these columns alone, so the group's key takes the place of one
                // that nobody reads.
                row[2] = chosen;
                pairs.push_back(row);
            }
            std::map<Row, Row, RowOrder> groups;
            for (const Row &row : this->reference(second, {0}, Filter::none, pairs, two)) {
                Row &group = groups
                                 .try_emplace({row[2]}, Row{Value::of(ValueType::int64, 0),
                                                            Value::null(ValueType::int128),
                                                            Value::of(ValueType::int64, 0)})
                                 .first->second;
                ++group[0].number;
                if (const Value &value = row[side_columns]; !value.is_null) {
                    group[1].is_null = false;
                    group[1].number += value.number;
                }
                group[2].number += row[side_columns + value_column].is_null ? 0 : 1;
            }
            std::vector<Row> expected;
            for (const auto &[group, sums] : groups) {
                Row row = group;
                row.insert(row.end(), sums.begin(), sums.end());
                expected.push_back(row);
            }
            this->compare(this->read(*result, {ValueType::int128, ValueType::int64, ValueType::int128,
                                               ValueType::int64}),
                          expected);
        }
    }
}

// Keys of all 64 bits, and of few, of many rows. Half of the probed rows have a match.
TYPED_TEST(QueryJoinSizesTest, ManyRowsFindTheirs) {
    constexpr std::uint64_t build_rows = 300000;
    constexpr std::uint64_t probed_rows = 1000000;
    for (const std::uint64_t step : {std::uint64_t(1), std::uint64_t(0x9e3779b97f4a7c15)}) {
        std::vector<std::vector<std::uint64_t>> build(2);
        for (std::uint64_t i = 0; i < build_rows; ++i) {
            build[0].push_back((2 * i) * step);
            build[1].push_back(i * i);
        }
        std::vector<std::vector<std::uint64_t>> probed(1);
        std::uint64_t count = 0;
        Wide sum = 0;
        for (std::uint64_t i = 0; i < probed_rows; ++i) {
            const std::uint64_t key = this->random_() % (2 * build_rows);
            probed[0].push_back(key * step);
            count += key % 2 == 0 ? 1 : 0;
            sum += key % 2 == 0 ? static_cast<Wide>((key / 2) * (key / 2)) : 0;
        }
        JoinQuery query;
        const std::uint32_t left = query.add_scan({ValueType::int64}, input_of(probed));
        const std::uint32_t right = query.add_scan({ValueType::int64, ValueType::int64}, input_of(build));
        query.add_join(JoinKind::inner, left, right);
        query.output_first(3);
        query.match({{0, 0}});
        this->sum_rows(&query, 2, count, sum);
    }
}

// One key has nearly all rows of the build side.
TYPED_TEST(QueryJoinSizesTest, AKeyHasAMillionRows) {
    constexpr std::uint64_t build_rows = 1000000;
    std::vector<std::vector<std::uint64_t>> build(2);
    for (std::uint64_t i = 0; i < build_rows; ++i) {
        build[0].push_back(i % 1000 == 0 ? i : 7);
        build[1].push_back(i);
    }
    std::vector<std::vector<std::uint64_t>> probed(1);
    for (std::uint64_t i = 0; i < 100000; ++i) {
        probed[0].push_back(i % 40000 == 0 ? 7 : 10 * i);
    }
    std::map<std::uint64_t, std::pair<std::uint64_t, Wide>> by_key;
    for (std::uint64_t i = 0; i < build_rows; ++i) {
        auto &[count, sum] = by_key[build[0][i]];
        ++count;
        sum += i;
    }
    std::uint64_t count = 0;
    Wide sum = 0;
    for (const std::uint64_t key : probed[0]) {
        if (const auto found = by_key.find(key); found != by_key.end()) {
            count += found->second.first;
            sum += found->second.second;
        }
    }
    JoinQuery query;
    const std::uint32_t left = query.add_scan({ValueType::int64}, input_of(probed));
    const std::uint32_t right = query.add_scan({ValueType::int64, ValueType::int64}, input_of(build));
    query.add_join(JoinKind::inner, left, right);
    query.output_first(3);
    query.match({{0, 0}});
    this->sum_rows(&query, 2, count, sum);
}

// Pairs are looked at piece by piece where a filter leaves few of them, and refused where there is no memory.
TYPED_TEST(QueryJoinSizesTest, MorePairsThan32BitsCount) {
    constexpr std::uint64_t rows = 70000;
    std::vector<std::vector<std::uint64_t>> numbers(1);
    for (std::uint64_t i = 0; i < rows; ++i) {
        numbers[0].push_back(i);
    }
    JoinQuery query;
    const std::uint32_t left = query.add_scan({ValueType::int64}, input_of(numbers));
    for (std::uint64_t &number : numbers[0]) {
        number -= rows - 10;
    }
    const std::uint32_t right = query.add_scan({ValueType::int64}, input_of(numbers));
    query.add_join(JoinKind::inner, left, right);
    const std::uint16_t probed = query.add_column(0, ValueType::int64);
    const std::uint16_t build = query.add_column(1, ValueType::int64);
    query.nodes.back().filter = query.add(Operation::less, ValueType::boolean, probed, build);
    query.output_first(2);
    query.match({});
    this->sum_rows(&query, 1, 45, 9 * 9 + 8 * 8 + 7 * 7 + 6 * 6 + 5 * 5 + 4 * 4 + 3 * 3 + 2 * 2 + 1);

    // All of them are counted without a filter.
    JoinQuery counted;
    const std::uint32_t all = counted.add_scan({ValueType::int64}, input_of(numbers));
    const std::uint32_t ones =
        counted.add_scan({ValueType::int64}, input_of({std::vector<std::uint64_t>(rows, 1)}));
    counted.add_join(JoinKind::inner, all, ones);
    counted.output_first(2);
    counted.match({});
    this->sum_rows(&counted, 1, rows * rows, static_cast<Wide>(rows * rows));

    JoinQuery endless;
    numbers[0].resize(std::size_t(1) << 21);
    const std::uint32_t many = endless.add_scan({ValueType::int64}, input_of(numbers));
    const std::uint32_t as_many = endless.add_scan({ValueType::int64}, input_of(numbers));
    endless.add_join(JoinKind::inner, many, as_many);
    endless.output_first(1);
    endless.match({});
    EXPECT_EQ(this->run(&endless, StatusCode::out_of_memory), nullptr);
}

}  // namespace query_join_sizes

#endif
