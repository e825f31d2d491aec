// Queries over runs and inputs on each engine, which are compared with a plain reference.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "column_run.h"
#include "engine_under_test.h"
#include "heap_facts.h"
#include "query_reference.h"
#include "rounds.h"

// Not a nameless namespace: sources are compiled together, and others have other things of these names.
namespace query_test {

// ---- rows -------------------------------------------------------------------------------------------------

// The columns of the scans here.
const std::vector<ValueType> scan_types = {ValueType::int64,   ValueType::int64,   ValueType::int128,
                                           ValueType::float64, ValueType::boolean, ValueType::int64};
constexpr std::uint64_t first_offset = std::uint64_t(0) - 1300;
constexpr std::uint64_t map_places = 60;

inline double some_float(std::mt19937_64 &random) {
    const std::uint64_t kind = random() % 12;
    return kind == 0   ? std::nan("")
           : kind == 1 ? INFINITY
           : kind == 2 ? -INFINITY
           : kind == 3 ? 0.0
           : kind == 4 ? -0.0
                       : std::ldexp(static_cast<double>(static_cast<std::int64_t>(random()) >> 20), -20);
}

// A run with what a scan reads of it, and its rows.
struct QueryRun {
    column_test::ColumnRun run;
    column_test::Pages pages;
    std::unique_ptr<ColumnStore> store;
    std::vector<std::uint64_t> float_map;
    std::vector<std::uint64_t> flag_map;
    std::vector<std::uint64_t> float_nulls;
    std::vector<query::RunColumn> columns;
    std::vector<std::shared_ptr<const query::KeptMap>> kept;
    std::vector<Row> rows;

    // Has the engine keep some of the maps, whose values are the caller's no more.
    void keep_maps(Engine &engine, Stream &stream, std::mt19937_64 &random) {
        for (query::RunColumn &column : columns) {
            if (column.form == ColumnForm::map && random() % 2 == 0) {
                kept.emplace_back();
                EXPECT_TRUE(
                    engine.queries()
                        .keep_map(stream, {column.places, 1, column.values, column.nulls}, &kept.back())
                        .ok());
                column.kept = kept.back().get();
                column.places = 0;
                column.values = column.nulls = nullptr;
            }
        }
    }

    void make_columns(std::mt19937_64 &random, bool special_floats) {
        for (std::uint64_t i = 0; i < map_places; ++i) {
            const double value = special_floats ? some_float(random) : static_cast<double>(random() % 1000);
            std::uint64_t bits;
            std::memcpy(&bits, &value, sizeof(bits));
            float_map.push_back(bits);
            flag_map.push_back(random() % 3 == 0 ? 0 : random());
        }
        float_nulls = {random() & random() & random()};
        const std::uint64_t places = 45;  // of 50: codes behind them are NULL
        const auto coded = [](ColumnForm form, std::uint32_t column, std::uint64_t offset,
                              std::uint32_t power) {
            query::RunColumn made = {};
            made.form = form;
            made.column = column;
            made.offset = offset;
            made.power = power;
            return made;
        };
        const auto mapped = [&](std::uint64_t count, const std::uint64_t *values,
                                const std::uint64_t *nulls) {
            query::RunColumn made = coded(ColumnForm::map, 2, 0, 0);
            made.places = count;
            made.values = values;
            made.nulls = nulls;
            return made;
        };
        columns = {coded(ColumnForm::integer, 0, first_offset, 0),
                   coded(ColumnForm::integer, 1, 5, 0),
                   coded(ColumnForm::decimal, 6, 7, 3),
                   mapped(places, float_map.data(), float_nulls.data()),
                   mapped(map_places, flag_map.data(), nullptr),
                   coded(ColumnForm::code, 2, 0, 0)};
        const std::vector<std::uint64_t> codes =
            column_test::codes_of(run.columns[2], pages.layout.column[2]);
        for (std::size_t i = 0; i < run.rows(); ++i) {
            const auto integer = [&](std::size_t column, std::uint64_t offset) {
                const auto &value = run.columns[column].values[i];
                return value ? Value::of(ValueType::int64, static_cast<std::int64_t>(*value + offset))
                             : Value::null(ValueType::int64);
            };
            Value wide = integer(6, 7);
            wide.type = ValueType::int128;
            wide.number *= 1000;
            const std::uint64_t code = codes[i];
            const bool is_null = code >= places || (float_nulls[0] >> code & 1) != 0;
            rows.push_back({integer(0, first_offset), integer(1, 5), wide,
                            read_value(ValueType::float64, is_null, &float_map[code]),
                            Value::of(ValueType::boolean, flag_map[code] != 0 ? 1 : 0),
                            Value::of(ValueType::int64, static_cast<Wide>(code))});
        }
    }
};

inline std::vector<Row> make_rows(std::size_t count, std::mt19937_64 &random, bool special_floats) {
    std::vector<Row> rows;
    // Some products of numbers of 64 bits have no room in as many.
    const std::uint64_t kind = random() % 3;
    for (std::size_t i = 0; i < count; ++i) {
        Wide wide = static_cast<std::int64_t>(random() % 100000);
        if (kind > 0 && random() % 50 == 0) {
            wide *= kind == 1 ? Wide(random()) * 1000000 : Wide(random() >> 20);
        }
        Row row = {Value::of(ValueType::int64, static_cast<std::int64_t>(random() % 700) - 300),
                   Value::of(ValueType::int64, static_cast<std::int64_t>(random() % 300) * 0x123456789abcd),
                   Value::of(ValueType::int128, random() % 2 == 0 ? wide : -wide),
                   Value::of_real(special_floats ? some_float(random) : static_cast<double>(random() % 1000)),
                   Value::of(ValueType::boolean, static_cast<Wide>(random() % 2)),
                   Value::of(ValueType::int64, static_cast<Wide>(random() % 50))};
        for (std::size_t column = 0; column < row.size(); ++column) {
            row[column].is_null = column != 5 && random() % 7 == 0;
        }
        rows.push_back(row);
    }
    return rows;
}

// ---- programs ---------------------------------------------------------------------------------------------

// Adds random steps to a node. Some fail in some rows.
class RandomSteps {
  public:
    // They take columns from number `first` on.
    RandomSteps(TestQuery *query, const std::vector<ValueType> &columns, std::mt19937_64 &random,
                std::size_t first = 0)
        : query_(*query), random_(random) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::uint16_t column = query_.add_column(static_cast<std::uint16_t>(i), columns[i]);
            if (i >= first) {
                note(column);
            }
        }
        note(query_.add_constant(Value::of(ValueType::int64, static_cast<Wide>(random_() % 20) - 5)));
        note(query_.add_constant(Value::of(ValueType::int128, static_cast<Wide>(random_()) * 77)));
        note(query_.add_constant(Value::of(ValueType::boolean, static_cast<Wide>(random_() % 2))));
        note(query_.add_constant(Value::of_real(static_cast<double>(random_() % 100) / 4)));
        note(query_.add(Operation::null, static_cast<ValueType>(1 + random_() % 4)));
        for (std::uint64_t steps = 5 + random_() % 30; steps > 0; --steps) {
            add();
        }
    }
    // A step of a type, or of any.
    std::uint16_t pick(ValueType type) { return pick_from(by_type_[static_cast<int>(type)]); }
    std::uint16_t pick() { return pick_from(all_); }
    std::uint16_t pick_late() {
        return all_[all_.size() - 1 - random_() % std::min<std::size_t>(all_.size(), 15)];
    }

  private:
    std::uint16_t pick_from(const std::vector<std::uint16_t> &steps) {
        return steps[random_() % steps.size()];
    }
    std::uint16_t note(std::uint16_t step) {
        by_type_[static_cast<int>(query_.step(step).type)].push_back(step);
        all_.push_back(step);
        return step;
    }
    void add() {
        using enum Operation;
        const auto type = static_cast<ValueType>(1 + random_() % 4);
        const auto number = static_cast<ValueType>(2 + random_() % 3);
        const auto integer = static_cast<ValueType>(2 + random_() % 2);
        const std::uint16_t guard = random_() % 3 == 0 ? pick(ValueType::boolean) : no_step;
        const auto two = [&](Operation operation, ValueType result, ValueType operand) {
            note(query_.add(operation, result, pick(operand), pick(operand), 0, 0, 0, guard));
        };
        switch (random_() % 15) {
            case 0:
                two(random_() % 2 == 0 ? add_or_subtract() : multiply, number, number);
                break;
            case 1: {
                static constexpr Operation divisions[] = {divide, modulo, divide_round, divide_ceiling,
                                                          divide_floor};
                const std::uint16_t divisor = pick(integer);
                // Most divisions are kept from failing.
                const std::uint16_t zero = query_.add_constant(Value::of(integer, 0));
                const std::uint16_t is_not = note(query_.add(not_equal, ValueType::boolean, divisor, zero));
                note(query_.add(divisions[random_() % 5], integer, pick(integer), divisor, 0, 0, 0,
                                random_() % 4 == 0 ? guard : is_not));
                break;
            }
            case 2:
                note(query_.add(random_() % 2 == 0 ? negate : absolute, number, pick(number), 0, 0, 0, 0,
                                guard));
                break;
            case 3:
                two(random_() % 2 == 0 ? greater : lesser, type, type);
                break;
            case 4:
                note(query_.add(widen, ValueType::int128,
                                pick(random_() % 2 == 0 ? ValueType::int64 : ValueType::boolean), 0, 0, 0, 0,
                                guard));
                break;
            case 5:
                note(query_.add(narrow, ValueType::int64,
                                pick(random_() % 3 == 0 ? integer : ValueType::boolean), 0, 0, 0, 4, guard));
                break;
            case 6:
            case 7: {
                static constexpr Operation comparisons[] = {equal, not_equal, less, less_or_equal,
                                                            is_distinct};
                two(comparisons[random_() % 5], ValueType::boolean, type);
                break;
            }
            case 8:
                two(random_() % 2 == 0 ? logical_and : logical_or, ValueType::boolean, ValueType::boolean);
                break;
            case 9: {
                static constexpr Operation truths[] = {logical_not, is_true, is_false, is_null};
                note(query_.add(truths[random_() % 4], ValueType::boolean, pick(ValueType::boolean), 0, 0, 0,
                                0, guard));
                break;
            }
            case 10:
                note(query_.add(is_null, ValueType::boolean, pick(), 0, 0, 0, 0, guard));
                break;
            case 11:
                note(query_.add(choose, type, pick(ValueType::boolean), pick(type), pick(type), 0, 0, guard));
                break;
            case 12:
                two(random_() % 2 == 0 ? coalesce : null_if_equal, type, type);
                break;
            case 13: {
                // Most values that aren't in the table are kept from it.
                const ValueType word = ValueType::int64;
                const auto first = static_cast<std::uint32_t>(query_.constants.size());
                query_.constants.insert(query_.constants.end(),
                                        {{3, 0}, {UINT64_C(0) - 2, 70}, {1, 5}, {4, 9}});
                const std::uint16_t keys =
                    query_.add_list({Value::of(word, -2), Value::of(word, 1), Value::of(word, 4)});
                const std::uint16_t looked_up = pick(word);
                const std::uint16_t is_there =
                    note(query_.add(in_list, ValueType::boolean, looked_up, 3, keys));
                note(query_.add(look_up, word, looked_up, 0, 0, first, 0,
                                random_() % 4 == 0 ? guard : is_there));
                break;
            }
            default: {
                const std::uint16_t list = query_.add_list({Value::of(integer, -200), Value::of(integer, 3),
                                                            Value::of(integer, 4), Value::of(integer, 17)});
                const auto items = static_cast<std::uint16_t>(random_() % 5);
                note(query_.add(in_list, ValueType::boolean, pick(integer), items, list,
                                static_cast<std::uint32_t>(random_() % 2), 0, guard));
            }
        }
    }
    Operation add_or_subtract() { return random_() % 2 == 0 ? Operation::add : Operation::subtract; }

    TestQuery &query_;
    std::mt19937_64 &random_;
    std::vector<std::uint16_t> by_type_[5];
    std::vector<std::uint16_t> all_;
};

// ---- the tests --------------------------------------------------------------------------------------------

template <typename UnderTest>
class EngineQuery : public EngineTest {
  protected:
    void SetUp() override { this->template open<UnderTest>(); }

    QueryRun make_run(std::size_t rows, bool special_floats = true) {
        QueryRun run;
        run.run = column_test::make_run(rows, random_);
        run.pages = column_test::make_pages(run.run);
        std::unique_ptr<ColumnLoader> loader;
        EXPECT_TRUE(engine_->column().open_loader(*stream_, run.pages.layout, &loader).ok());
        EXPECT_TRUE(loader
                        ->append_pages(*stream_, run.pages.images.data(),
                                       static_cast<std::uint32_t>(run.pages.count()))
                        .ok());
        EXPECT_TRUE(loader->finish(*stream_, &run.store).ok());
        run.make_columns(random_, special_floats);
        run.keep_maps(*engine_, *stream_, random_);
        return run;
    }
    static void add_run(const QueryRun &run, const std::vector<ColumnTest> &tests, TestQuery *query) {
        query->runs.push_back(
            {run.store.get(), tests.data(), static_cast<std::uint32_t>(tests.size()), 0, run.columns.data()});
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
            EXPECT_EQ(word, result.record_words());
            rows.push_back(row);
        }
        return rows;
    }

    // Asks, and compares with the reference. Returns the outcome.
    QueryOutcome check(TestQuery *query, const std::vector<Row> &rows) {
        const std::unique_ptr<QueryResult> result = call(query);
        if (result == nullptr) {
            return QueryOutcome::failed;
        }
        std::vector<Row> expected;
        try {
            expected = Reference(*query).run(rows);
        } catch (const Failed &) {
            EXPECT_EQ(result->outcome(), QueryOutcome::failed);
            return result->outcome();
        }
        EXPECT_EQ(result->outcome(), QueryOutcome::answered);
        compare_rows(*query, read(*result, types_of(*query)), expected);
        return result->outcome();
    }
    static std::vector<ValueType> types_of(const TestQuery &query) {
        std::size_t last = query.nodes.size() - 1;
        while (query.nodes[last].kind == NodeKind::sort) {
            --last;
        }
        if (query.nodes[last].kind == NodeKind::window) {
            return query.columns_of(static_cast<std::uint32_t>(last));
        }
        const Node &node = query.nodes[last];
        if (node.kind == NodeKind::scan) {
            return query.types;
        }
        std::vector<ValueType> types;
        for (std::uint32_t i = 0; i < node.outputs.count; ++i) {
            types.push_back(query.steps[node.steps.first + query.outputs[node.outputs.first + i]].type);
        }
        for (std::uint32_t i = 0; node.kind == NodeKind::aggregate && i < node.accumulators.count; ++i) {
            const Accumulator &accumulator = query.accumulators[node.accumulators.first + i];
            types.push_back(accumulator.kind == AccumulatorKind::count_rows ||
                                    accumulator.kind == AccumulatorKind::count
                                ? ValueType::int64
                            : accumulator.kind == AccumulatorKind::sum
                                ? ValueType::int128
                                : query.steps[node.steps.first + accumulator.argument].type);
        }
        return types;
    }
    static void compare_rows(const TestQuery &query, std::vector<Row> found, std::vector<Row> expected) {
        ASSERT_EQ(found.size(), expected.size());
        const bool is_sorted =
            query.nodes.back().kind == NodeKind::sort || query.nodes.back().kind == NodeKind::window;
        if (is_sorted) {
            // Rows that are equal in the order may come in any, and others may be left out by the limit.
            const Reference reference(query);
            for (std::size_t i = 0; i < found.size(); ++i) {
                ASSERT_FALSE(reference.comes_before(query.nodes.back(), found[i], expected[i])) << i;
                ASSERT_FALSE(reference.comes_before(query.nodes.back(), expected[i], found[i])) << i;
            }
            if (query.nodes.back().limit != UINT64_MAX) {
                return;
            }
        }
        std::sort(found.begin(), found.end(), RowOrder());
        std::sort(expected.begin(), expected.end(), RowOrder());
        for (std::size_t i = 0; i < found.size(); ++i) {
            for (std::size_t column = 0; column < found[i].size(); ++column) {
                ASSERT_TRUE(is_same(found[i][column], expected[i][column]))
                    << "row " << i << ", column " << column << ": " << show(found[i][column]) << " and "
                    << show(expected[i][column]);
            }
        }
    }
    static std::string show(const Value &value) {
        return value.is_null                      ? "NULL"
               : value.type == ValueType::float64 ? std::to_string(value.real)
                                                  : std::to_string(static_cast<long double>(value.number));
    }

    // Random sources, with the rows that a scan finds.
    struct Sources {
        std::vector<QueryRun> runs;
        std::vector<std::vector<Row>> inputs;
    };
    Sources make_sources(bool special_floats = true) {
        Sources sources;
        for (std::uint64_t i = random_() % 3; i > 0; --i) {
            sources.runs.push_back(
                make_run(random_() % 3 == 0 ? 1 + random_() % 3 : 1 + random_() % 5000, special_floats));
            if (random_() % 2 == 0) {
                const std::vector<std::uint64_t> dead =
                    column_test::kill_some(&sources.runs.back().run, random_);
                EXPECT_TRUE(sources.runs.back().store->set_dead(*stream_, dead.data(), 1).ok());
            }
        }
        for (std::uint64_t i = random_() % 3; i > 0; --i) {
            sources.inputs.push_back(make_rows(random_() % 2500, random_, special_floats));
        }
        return sources;
    }
    static std::vector<Row> add_sources(const Sources &sources, TestQuery *query) {
        std::vector<Row> rows;
        for (const QueryRun &run : sources.runs) {
            static const std::vector<ColumnTest> none;
            add_run(run, none, query);
            for (std::size_t i = 0; i < run.rows.size(); ++i) {
                if (!run.run.is_dead(i)) {
                    rows.push_back(run.rows[i]);
                }
            }
        }
        for (const std::vector<Row> &input : sources.inputs) {
            query->add_input(input);
            rows.insert(rows.end(), input.begin(), input.end());
        }
        return rows;
    }

    void add_accumulators(TestQuery *query, RandomSteps &steps, bool floats) {
        using enum AccumulatorKind;
        const auto filter = [&] { return random_() % 3 == 0 ? steps.pick(ValueType::boolean) : no_step; };
        for (std::uint64_t i = random_() % 8; i > 0; --i) {
            const auto any = static_cast<ValueType>(1 + random_() % 4);
            const auto integer = static_cast<ValueType>(2 + random_() % 2);
            const bool distinct = random_() % 4 == 0;
            switch (random_() % 9) {
                case 0:
                    query->accumulate(count_rows, 0, filter());
                    break;
                case 1:
                    query->accumulate(count, steps.pick(any), filter(), distinct);
                    break;
                case 2:
                case 3:
                    query->accumulate(sum, steps.pick(integer), filter(), distinct);
                    break;
                case 4:
                    // Column 3 has only floats whose sums the reference has room for.
                    if (floats) {
                        query->accumulate(sum_float, 3, filter(), distinct);
                    }
                    break;
                case 5:
                    query->accumulate(random_() % 2 == 0 ? least : greatest, steps.pick(any), filter());
                    break;
                case 6: {
                    static constexpr AccumulatorKind bits[] = {bit_and, bit_or, bit_xor};
                    query->accumulate(bits[random_() % 3], steps.pick(ValueType::int64), filter());
                    break;
                }
                case 7:
                    query->accumulate(mode, steps.pick(any), filter());
                    break;
                default: {
                    const double fraction = static_cast<double>(random_() % 101) / 100;
                    const std::uint16_t number = query->add_list({Value::of_real(fraction)});
                    if (random_() % 2 == 0) {
                        query->accumulate(percentile_discrete, steps.pick(any), filter(), false, number);
                    } else {
                        query->accumulate(percentile_continuous, 3, filter(), false, number);
                    }
                }
            }
        }
    }

    // Groups by steps that take columns from this one on.
    void check_random_groups(std::size_t first_column) {
        int failed = 0;
        const int rounds = unit_test::few_or_many(80, 2000);
        for (int round = 0; round < rounds; ++round) {
            SCOPED_TRACE(round);
            const auto sources = make_sources();
            TestQuery query;
            query.begin(scan_types);
            const std::vector<Row> rows = add_sources(sources, &query);
            query.add_node(NodeKind::aggregate);
            RandomSteps steps(&query, scan_types, random_, first_column);
            if (random_() % 3 == 0) {
                query.nodes.back().filter = steps.pick(ValueType::boolean);
            }
            for (std::uint64_t keys = random_() % 4; keys > 0; --keys) {
                query.output(random_() % 2 == 0 ? 5 : steps.pick());
            }
            add_accumulators(&query, steps, true);
            failed += check(&query, rows) == QueryOutcome::failed ? 1 : 0;
            if (HasFailure()) {
                return;
            }
        }
        EXPECT_GT(failed, 0);
        EXPECT_LT(failed, rounds * 2 / 3);
    }
};
TYPED_TEST_SUITE(EngineQuery, Engines, EngineName);

}  // namespace query_test
