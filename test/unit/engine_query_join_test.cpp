// Joins of queries, compared with a reference that looks at all pairs of rows.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "engine_under_test.h"
#include "query_reference.h"
#include "rounds.h"

namespace {

using namespace query_test;
using gpu_engine::query::AccumulatorKind;
using gpu_engine::query::Operation;
using Keys = std::vector<std::pair<std::uint16_t, std::uint16_t>>;

constexpr std::uint16_t integer_column = 0;
constexpr std::uint16_t float_column = 1;
constexpr std::uint16_t wide_column = 2;
constexpr std::uint16_t truth_column = 3;
constexpr std::uint16_t number_column = 4;
const std::vector<ValueType> side_types = {ValueType::int64, ValueType::float64, ValueType::int128,
                                           ValueType::boolean, ValueType::int64};

// What a side's rows are like.
struct SideShape {
    std::size_t rows = 0;
    std::int64_t values = 20;  // how many different ones a column has
    std::int64_t factor = 1;   // how far integers are apart
    int nulls = 8;             // one in so many is NULL; 0: none
};

constexpr JoinKind all_kinds[] = {JoinKind::inner, JoinKind::left, JoinKind::right,    JoinKind::full,
                                  JoinKind::semi,  JoinKind::anti, JoinKind::anti_null};

const Keys key_sets[] = {
    {},
    {{integer_column, integer_column}},
    {{float_column, float_column}},
    {{wide_column, wide_column}},
    {{truth_column, truth_column}},
    {{integer_column, number_column}, {float_column, float_column}},
    {{wide_column, wide_column}, {truth_column, truth_column}, {number_column, integer_column}},
};

template <typename UnderTest>
class EngineQueryJoin : public EngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    std::vector<Row> make_side(const SideShape &shape) {
        const double floats[] = {0.0,
                                 -0.0,
                                 std::numeric_limits<double>::quiet_NaN(),
                                 -std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::infinity(),
                                 1.5,
                                 -2.25};
        std::vector<Row> rows;
        for (std::size_t i = 0; i < shape.rows; ++i) {
            const auto pick = [&] {
                return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(shape.values));
            };
            Row row;
            row.push_back(Value::of(ValueType::int64, (pick() - shape.values / 3) * shape.factor));
            const std::int64_t number = pick();
            row.push_back(Value::of_real(number < 7 ? floats[number] : static_cast<double>(number)));
            const Wide high = pick() % 3 - 1;
            row.push_back(Value::of(ValueType::int128, high * (Wide(1) << 70) + pick()));
            row.push_back(Value::of(ValueType::boolean, static_cast<Wide>(random_() % 2)));
            row.push_back(Value::of(ValueType::int64, pick() * shape.factor));
            for (Value &value : row) {
                value.is_null = shape.nulls > 0 && random_() % static_cast<std::uint64_t>(shape.nulls) == 0;
            }
            rows.push_back(row);
        }
        return rows;
    }

    // The probed side's scan is node 0, the build side's node 1.
    static TestQuery begin(const std::vector<Row> &probed, const std::vector<Row> &build) {
        TestQuery query;
        query.begin(side_types);
        query.add_input(probed);
        query.begin(side_types);
        query.add_input(build);
        return query;
    }
    // Some of the joined row's columns, in any order, one of them twice.
    void add_outputs(TestQuery *query) {
        const JoinKind kind = query->nodes.back().join;
        const std::size_t columns = kind <= JoinKind::full
                                        ? query->joined_columns(query->nodes.back()).size()
                                        : query->columns_of(query->nodes.back().input).size();
        std::vector<std::uint16_t> chosen;
        for (std::size_t i = 0; i < columns; ++i) {
            if (random_() % 4 != 0) {
                chosen.push_back(static_cast<std::uint16_t>(i));
            }
        }
        chosen.push_back(static_cast<std::uint16_t>(random_() % columns));
        std::shuffle(chosen.begin(), chosen.end(), random_);
        for (const std::uint16_t column : chosen) {
            query->output(column);
        }
    }
    // A filter that about half of the pairs pass, and some don't tell: one side's number is less than the
    // other's.
    static void add_filter(TestQuery *query) {
        const std::uint16_t one = query->add_column(number_column, ValueType::int64);
        const std::uint16_t other = query->add_column(
            static_cast<std::uint16_t>(number_column + side_types.size()), ValueType::int64);
        query->nodes.back().filter = query->add(Operation::less, ValueType::boolean, one, other);
    }
    // What add_filter's filter says of a build row's number.
    static void add_bound(TestQuery *query) {
        query->nodes.back().at_least = query->add_bound(number_column, number_column);
    }
    // Which bounds a join has, and a filter that says so.
    enum class Bounds { at_least, at_most, of_two_columns, of_one_column, of_floats };
    static void add_bounds(TestQuery *query, Bounds bounds) {
        const auto build_column = [](std::uint16_t column) {
            return static_cast<std::uint16_t>(column + side_types.size());
        };
        const ValueType type = bounds == Bounds::of_floats ? ValueType::float64 : ValueType::int64;
        const auto add_condition = [&](Operation operation, std::uint16_t less, std::uint16_t greater) {
            const std::uint16_t one = query->add_column(less, type);
            const std::uint16_t other = query->add_column(greater, type);
            const std::uint16_t condition = query->add(operation, ValueType::boolean, one, other);
            Node &join = query->nodes.back();
            join.filter = join.filter == no_step ? condition
                                                 : query->add(Operation::logical_and, ValueType::boolean,
                                                              join.filter, condition);
        };
        if (bounds == Bounds::of_floats) {
            query->nodes.back().at_most = query->add_bound(float_column, float_column);
            query->nodes.back().at_least = query->add_bound(float_column, float_column);
            add_condition(Operation::less_or_equal, build_column(float_column), float_column);
            add_condition(Operation::less_or_equal, float_column, build_column(float_column));
            return;
        }
        const std::uint16_t low = bounds == Bounds::of_two_columns ? integer_column : number_column;
        if (bounds != Bounds::at_least) {
            query->nodes.back().at_most = query->add_bound(number_column, low);
            add_condition(Operation::less_or_equal, build_column(low), number_column);
        }
        const std::uint16_t reached = bounds == Bounds::of_one_column ? integer_column : number_column;
        if (bounds != Bounds::at_most) {
            query->nodes.back().at_least = query->add_bound(reached, number_column);
            add_condition(Operation::less, reached, build_column(number_column));
        }
    }

    std::unique_ptr<QueryResult> call(TestQuery *query) {
        std::unique_ptr<QueryResult> result;
        const query::Query view = query->view();
        EXPECT_EQ(find_problem(view), nullptr) << find_problem(view);
        const Status status = engine_->queries().run(*stream_, view, &result);
        EXPECT_TRUE(status.ok()) << status.message;
        return status.ok() ? std::move(result) : nullptr;
    }
    std::vector<Row> read(const QueryResult &result, const std::vector<ValueType> &types) {
        std::vector<std::uint64_t> words(result.rows() * result.record_words() + 1);
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
    // Asks, and compares with the reference. Returns the outcome.
    QueryOutcome check(TestQuery *query) {
        const std::unique_ptr<QueryResult> result = call(query);
        if (result == nullptr) {
            return QueryOutcome::failed;
        }
        std::vector<Row> expected;
        try {
            expected = Reference(*query).run(query->scanned[0]);
        } catch (const Failed &) {
            EXPECT_EQ(result->outcome(), QueryOutcome::failed);
            return result->outcome();
        }
        EXPECT_EQ(result->outcome(), QueryOutcome::answered);
        compare_rows(read(*result, query->columns_of(query->last())), expected);
        return result->outcome();
    }
    static void compare_rows(std::vector<Row> found, std::vector<Row> expected) {
        ASSERT_EQ(found.size(), expected.size());
        std::sort(found.begin(), found.end(), RowOrder());
        std::sort(expected.begin(), expected.end(), RowOrder());
        for (std::size_t i = 0; i < found.size(); ++i) {
            for (std::size_t column = 0; column < found[i].size(); ++column) {
                ASSERT_TRUE(is_same(found[i][column], expected[i][column]))
                    << "row " << i << ", column " << column;
            }
        }
    }

    // With `few`, too, where each row has many matches.
    void check_kinds(const SideShape &probed_shape, const SideShape &build_shape, bool few) {
        for (const Keys &keys : key_sets) {
            if (!few && (keys.empty() || keys == Keys{{truth_column, truth_column}})) {
                continue;
            }
            const std::vector<Row> probed = make_side(probed_shape);
            const std::vector<Row> build = make_side(build_shape);
            for (const JoinKind kind : all_kinds) {
                for (const bool filters : {false, true}) {
                    if (kind == JoinKind::anti_null && (filters || keys.size() != 1)) {
                        continue;
                    }
                    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", keys " +
                                 std::to_string(&keys - key_sets) + ", filter " + std::to_string(filters) +
                                 ", rows " + std::to_string(probed.size()) + " and " +
                                 std::to_string(build.size()));
                    TestQuery query = begin(probed, build);
                    query.add_join(kind, 0, 1, keys);
                    if (filters) {
                        add_filter(&query);
                    }
                    add_outputs(&query);
                    ASSERT_EQ(check(&query), QueryOutcome::answered);
                    if (this->HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
};

TYPED_TEST_SUITE(EngineQueryJoin, Engines, EngineName);

TYPED_TEST(EngineQueryJoin, EveryKindOfFewRows) {
    for (const std::size_t probed : {0, 1, 7, 60}) {
        for (const std::size_t build : {0, 1, 5, 70}) {
            for (const int nulls : {0, 3}) {
                this->check_kinds({probed, 6, 1, nulls}, {build, 6, 1, nulls}, true);
            }
        }
    }
}

TYPED_TEST(EngineQueryJoin, EveryKindOfManyRows) {
    // Dense keys, sparse ones, and those in between; most with a match, and few.
    for (const std::int64_t factor : {std::int64_t(1), std::int64_t(37), std::int64_t(1) << 40}) {
        this->check_kinds({2100, 900, factor, 9}, {1200, 700, factor, 0}, false);
        this->check_kinds({1100, 20000, factor, 0}, {2500, 1000, factor, 9}, false);
    }
}

TYPED_TEST(EngineQueryJoin, KeysOfManyRows) {
    // Each key has hundreds of rows on one side, and on the other.
    this->check_kinds({8, 3, 1, 0}, {2300, 3, 1, 9}, true);
    this->check_kinds({2300, 3, std::int64_t(1) << 50, 9}, {8, 3, std::int64_t(1) << 50, 0}, true);
}

TYPED_TEST(EngineQueryJoin, PairsBeyondBoundsAreLeftOut) {
    using Bounds = typename TestFixture::Bounds;
    for (const std::int64_t factor : {std::int64_t(1), std::int64_t(37), std::int64_t(1) << 60}) {
        for (const auto &[probed_rows, build_rows] :
             {std::pair(0, 9), std::pair(9, 0), std::pair(60, 70), std::pair(3, 2300), std::pair(1500, 20)}) {
            const std::vector<Row> probed =
                this->make_side({static_cast<std::size_t>(probed_rows), 7, factor, 9});
            const std::vector<Row> build =
                this->make_side({static_cast<std::size_t>(build_rows), 7, factor, 9});
            for (const Bounds bounds : {Bounds::at_least, Bounds::at_most, Bounds::of_two_columns,
                                        Bounds::of_one_column, Bounds::of_floats}) {
                for (const Keys &keys : {key_sets[0], key_sets[1], key_sets[2], key_sets[6]}) {
                    const JoinKind kind = all_kinds[this->random_() % 6];
                    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", bounds " +
                                 std::to_string(static_cast<int>(bounds)) + ", keys " +
                                 std::to_string(keys.size()) + ", rows " + std::to_string(probed_rows) +
                                 " and " + std::to_string(build_rows));
                    TestQuery query = this->begin(probed, build);
                    query.add_join(kind, 0, 1, keys);
                    this->add_bounds(&query, bounds);
                    this->add_outputs(&query);
                    ASSERT_EQ(this->check(&query), QueryOutcome::answered);
                    if (this->HasFatalFailure()) {
                        return;
                    }
                }
            }
        }
    }
}

// Pairs beyond the bounds aren't looked at: all of them would take minutes.
TYPED_TEST(EngineQueryJoin, RangesOfManyRows) {
    constexpr std::int64_t rows = 1 << 19;
    constexpr std::int64_t width = 16;
    const auto make_rows = [](bool is_build) {
        std::vector<Row> result;
        for (std::int64_t i = 0; i < rows; ++i) {
            const std::int64_t place = i * 2654435761 % rows;
            result.push_back({Value::of(ValueType::int64, place),
                              Value::of(ValueType::int64, is_build ? place + width : i)});
        }
        return result;
    };
    for (const bool has_key : {false, true}) {
        TestQuery query;
        query.begin({ValueType::int64, ValueType::int64});
        query.add_input(make_rows(false));
        query.begin({ValueType::int64, ValueType::int64});
        query.add_input(make_rows(true));
        // All rows have the same key.
        for (std::uint32_t side = 0; side < 2; ++side) {
            query.add_node(NodeKind::compute).input = side;
            query.output(query.add_column(0, ValueType::int64));
            query.output(query.add_column(1, ValueType::int64));
            query.output(query.add_constant(Value::of(ValueType::int64, 5)));
        }
        query.add_join(JoinKind::inner, 2, 3, has_key ? Keys{{2, 2}} : Keys{});
        query.nodes.back().at_most = query.add_bound(0, 0);
        query.nodes.back().at_least = query.add_bound(0, 1);
        const std::uint16_t value = query.add_column(0, ValueType::int64);
        const std::uint16_t low = query.add_column(3, ValueType::int64);
        const std::uint16_t high = query.add_column(4, ValueType::int64);
        query.nodes.back().filter =
            query.add(Operation::logical_and, ValueType::boolean,
                      query.add(Operation::less_or_equal, ValueType::boolean, low, value),
                      query.add(Operation::less, ValueType::boolean, value, high));
        query.output(0);
        query.add_node(NodeKind::aggregate);
        query.add_column(0, ValueType::int64);
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 0);
        const std::unique_ptr<QueryResult> result = this->call(&query);
        ASSERT_NE(result, nullptr);
        ASSERT_EQ(result->outcome(), QueryOutcome::answered);
        const std::vector<Row> found = this->read(*result, query.columns_of(query.last()));
        ASSERT_EQ(found.size(), 1U);
        // A row of place p is in the ranges of the `width` places up to p, as far as there are so many.
        Wide sum = 0;
        for (std::int64_t place = 0; place < rows; ++place) {
            sum += static_cast<Wide>(place) * std::min(place + 1, width);
        }
        EXPECT_EQ(found[0][0].number, static_cast<Wide>(rows) * width - width * (width - 1) / 2);
        EXPECT_EQ(found[0][1].number, sum);
    }
}

TYPED_TEST(EngineQueryJoin, AKeyWithNearlyAllRowsBesideOthers) {
    std::vector<Row> probed = this->make_side({1500, 500, 977, 0});
    std::vector<Row> build = this->make_side({5000, 500, 977, 0});
    for (std::size_t i = 0; i < build.size(); ++i) {
        if (i % 100 != 0) {
            build[i][0] = Value::of(ValueType::int64, 977);
        }
    }
    for (std::size_t i = 0; i < probed.size(); i += 70) {
        probed[i][0] = Value::of(ValueType::int64, 977);
    }
    for (const JoinKind kind : all_kinds) {
        TestQuery query = this->begin(probed, build);
        query.add_join(kind, 0, 1, {{0, 0}});
        query.output(0);
        query.output(4);
        query.add_node(NodeKind::aggregate);
        query.output(query.add_column(0, ValueType::int64));
        query.add_column(1, ValueType::int64);
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 1);
        ASSERT_EQ(this->check(&query), QueryOutcome::answered) << static_cast<int>(kind);
    }
}

// Steps below, between and above joins; build sides that are joins and aggregates themselves.
TYPED_TEST(EngineQueryJoin, RandomTrees) {
    for (int round = 0; round < unit_test::few_or_many(60, 3000); ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        TestQuery query;
        std::vector<std::uint32_t> free_nodes;
        const std::int64_t factor = this->random_() % 2 == 0 ? 1 : std::int64_t(1) << 33;
        for (std::uint64_t i = 2 + this->random_() % 3; i > 0; --i) {
            free_nodes.push_back(query.begin(side_types));
            const std::size_t rows = this->random_() % 6 == 0 ? 0 : this->random_() % 200;
            query.add_input(this->make_side({rows, 40, factor, static_cast<int>(this->random_() % 2) * 9}));
            if (this->random_() % 2 == 0) {
                query.add_node(NodeKind::compute);
                for (std::uint16_t column = 0; column < side_types.size(); ++column) {
                    query.output(query.add_column(column, side_types[column]));
                }
                query.nodes.back().filter =
                    query.add(Operation::less, ValueType::boolean, number_column, integer_column);
                free_nodes.back() = query.last();
            } else if (this->random_() % 4 == 0) {
                query.add_node(NodeKind::aggregate);
                for (std::uint16_t column = 0; column < number_column; ++column) {
                    query.output(query.add_column(column, side_types[column]));
                }
                query.add_column(number_column, ValueType::int64);
                query.accumulate(AccumulatorKind::greatest, number_column);
                free_nodes.back() = query.last();
            }
        }
        while (free_nodes.size() > 1) {
            std::shuffle(free_nodes.begin(), free_nodes.end(), this->random_);
            const std::uint32_t probed = free_nodes.back();
            free_nodes.pop_back();
            const std::uint32_t build = free_nodes.back();
            const JoinKind kind = all_kinds[this->random_() % std::size(all_kinds)];
            const Keys &keys = key_sets[1 + this->random_() % 3];
            query.add_join(kind, probed, build, keys);
            if (kind != JoinKind::anti_null && this->random_() % 2 == 0) {
                this->add_filter(&query);
                if (this->random_() % 2 == 0) {
                    this->add_bound(&query);
                }
            }
            // As both sides' columns have these types, so have a join's.
            for (std::uint16_t column = 0; column < side_types.size(); ++column) {
                const bool is_build = kind <= JoinKind::full && this->random_() % 2 == 0;
                query.output(static_cast<std::uint16_t>(column + (is_build ? side_types.size() : 0)));
            }
            free_nodes.back() = query.last();
        }
        if (this->random_() % 2 == 0) {
            query.add_node(NodeKind::aggregate);
            query.output(query.add_column(float_column, ValueType::float64));
            query.add_column(wide_column, ValueType::int128);
            query.accumulate(AccumulatorKind::count_rows);
            query.accumulate(AccumulatorKind::sum, 1);
        }
        ASSERT_EQ(this->check(&query), QueryOutcome::answered);
        if (this->HasFatalFailure()) {
            return;
        }
    }
}

TYPED_TEST(EngineQueryJoin, SumsOfFloatsThatNeedAnotherPass) {
    std::vector<Row> probed = this->make_side({3000, 200, 1, 9});
    for (std::size_t i = 0; i < probed.size(); ++i) {
        probed[i][1] =
            Value::of_real(i % 2 == 0 ? std::ldexp(1, 94) : std::ldexp(static_cast<double>(i), -20));
    }
    for (const JoinKind kind : {JoinKind::inner, JoinKind::full}) {
        TestQuery query = this->begin(probed, this->make_side({500, 300, 1, 0}));
        query.add_join(kind, 0, 1, {{0, 0}});
        query.output(1);
        query.output(static_cast<std::uint16_t>(side_types.size()));
        query.add_node(NodeKind::aggregate);
        query.output(query.add_column(1, ValueType::int64));
        query.add_column(0, ValueType::float64);
        query.accumulate(AccumulatorKind::sum_float, 1);
        query.accumulate(AccumulatorKind::count_rows);
        ASSERT_EQ(this->check(&query), QueryOutcome::answered);
    }
}

// A filter fails in pairs whose keys are equal, and in no others.
TYPED_TEST(EngineQueryJoin, AFilterThatFails) {
    for (const std::int64_t divisor : {0, 1}) {
        std::vector<Row> probed = this->make_side({1000, 50, 1, 0});
        std::vector<Row> build = this->make_side({1000, 50, 1, 0});
        for (Row &row : build) {
            // Only rows that have no probed row divide by 0.
            const bool is_matched = row[0].number >= -16 && row[0].number < 30;
            row[0].number += is_matched ? 0 : 1000;
            row[4].number = is_matched ? 1 : 0;
        }
        build[500] = build[501];
        build[500][0].number = 3;
        build[500][4].number = divisor;
        probed[400][0].number = 3;
        TestQuery query = this->begin(probed, build);
        query.add_join(JoinKind::inner, 0, 1, {{0, 0}});
        const std::uint16_t one = query.add_column(0, ValueType::int64);
        const std::uint16_t other = query.add_column(9, ValueType::int64);
        const std::uint16_t quotient = query.add(Operation::divide, ValueType::int64, one, other);
        const std::uint16_t limit = query.add_constant(Value::of(ValueType::int64, 20));
        query.nodes.back().filter = query.add(Operation::less, ValueType::boolean, quotient, limit);
        query.output(0);
        query.output(9);
        EXPECT_EQ(this->check(&query), divisor == 0 ? QueryOutcome::failed : QueryOutcome::answered);
    }
}

TYPED_TEST(EngineQueryJoin, RowsBeyondALimitAreLeftOut) {
    TestQuery query = this->begin(this->make_side({3000, 50, 1, 0}), this->make_side({3000, 50, 1, 0}));
    query.add_join(JoinKind::inner, 0, 1, {{0, 0}});
    query.output(0);
    query.max_rows = 10000;
    EXPECT_EQ(this->call(&query)->outcome(), QueryOutcome::too_many_rows);
    query.add_node(NodeKind::compute);
    query.output(query.add_column(0, ValueType::int64));
    query.nodes.back().limit = 10000;
    const std::unique_ptr<QueryResult> result = this->call(&query);
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->outcome(), QueryOutcome::answered);
    EXPECT_EQ(result->rows(), 10000U);
}

TYPED_TEST(EngineQueryJoin, ABuildSideWithoutRoom) {
    gpu_engine::EngineOptions options;
    options.memory_limit = 4 << 20;
    std::unique_ptr<gpu_engine::Engine> engine;
    const Status opened = TypeParam::open(options, &engine);
    ASSERT_TRUE(opened.ok()) << opened.message;
    std::unique_ptr<gpu_engine::Stream> stream;
    ASSERT_TRUE(engine->open_stream(&stream).ok());
    TestQuery query =
        this->begin(this->make_side({100, 50, 1, 0}), this->make_side({200000, 1 << 30, 1 << 20, 0}));
    query.add_join(JoinKind::inner, 0, 1, {{0, 0}});
    query.output(9);
    std::unique_ptr<QueryResult> result;
    EXPECT_EQ(engine->queries().run(*stream, query.view(), &result).code, StatusCode::out_of_memory);
    EXPECT_EQ(result, nullptr);
    EXPECT_EQ(engine->memory().used(), 0U);
}

TYPED_TEST(EngineQueryJoin, ACancelledJoinEnds) {
    TestQuery query = this->begin(this->make_side({2000, 50, 1, 0}), this->make_side({2000, 50, 1, 0}));
    query.add_join(JoinKind::inner, 0, 1, {{0, 0}});
    query.output(9);
    std::unique_ptr<QueryResult> result;
    this->stream_->cancel();
    EXPECT_EQ(this->engine_->queries().run(*this->stream_, query.view(), &result).code,
              StatusCode::cancelled);
    this->stream_->resume();
    EXPECT_EQ(this->engine_->memory().used(), 0U);
    EXPECT_EQ(this->call(&query)->outcome(), QueryOutcome::answered);
}

// What is no join is refused before it runs.
TYPED_TEST(EngineQueryJoin, BrokenJoinsAreRefused) {
    const auto refuses = [&](auto change) {
        TestQuery query = this->begin(this->make_side({5}), this->make_side({5}));
        query.add_join(JoinKind::semi, 0, 1, {{0, 0}});
        query.output(0);
        change(&query, &query.nodes.back());
        std::unique_ptr<QueryResult> result;
        return this->engine_->queries().run(*this->stream_, query.view(), &result).code ==
               StatusCode::invalid_argument;
    };
    EXPECT_FALSE(refuses([](TestQuery *, Node *) {}));
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->build = 0; }));
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->build = 2; }));
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->join = static_cast<JoinKind>(8); }));
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->join = static_cast<JoinKind>(0); }));
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->join_keys.count = 1; }));
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->join_keys.first = 100; }));
    // A bound without a filter, of columns that aren't there, and of another type.
    EXPECT_TRUE(refuses([](TestQuery *, Node *node) { node->at_most = {0, 2}; }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *node) {
        node->filter = query->add_constant(Value::of(ValueType::boolean, 1));
        node->at_least = {0, 1};
    }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *node) {
        node->filter = query->add_constant(Value::of(ValueType::boolean, 1));
        node->at_least = query->add_bound(0, 5);
    }));
    for (const auto &[probed, build] :
         {std::pair(wide_column, wide_column), {integer_column, float_column}}) {
        EXPECT_TRUE(refuses([probed, build](TestQuery *query, Node *node) {
            node->filter = query->add_constant(Value::of(ValueType::boolean, 1));
            node->at_least = query->add_bound(probed, build);
        }));
    }
    EXPECT_TRUE(refuses([](TestQuery *query, Node *) { query->outputs[0] = 1; }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *) { query->outputs[1] = 5; }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *) { query->outputs[2] = 5; }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *node) {
        node->join = JoinKind::anti_null;
        node->join_keys.count = 0;
        query->outputs[0] = 0;
    }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *) {
        query->add_join(JoinKind::semi, 2, 1, {{0, 0}});
        query->output(0);
    }));
    EXPECT_TRUE(refuses([](TestQuery *query, Node *) { query->nodes[1].table = 0; }));
}

}  // namespace
