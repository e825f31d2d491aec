// Queries over runs and inputs on each engine, against a plain reference.
#include <gtest/gtest.h>

#include <set>

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
        const bool is_sorted = query.nodes.back().kind == NodeKind::sort;
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

TYPED_TEST(EngineQuery, RandomProgramsGiveTheReferencesRows) {
    int failed = 0;
    const int rounds = unit_test::few_or_many(60, 2000);
    for (int round = 0; round < rounds; ++round) {
        SCOPED_TRACE(round);
        const auto sources = this->make_sources();
        TestQuery query;
        query.begin(scan_types);
        const std::vector<Row> rows = this->add_sources(sources, &query);
        std::vector<ValueType> types = scan_types;
        for (std::uint64_t nodes = 1 + this->random_() % 2; nodes > 0; --nodes) {
            query.add_node(NodeKind::compute);
            RandomSteps steps(&query, types, this->random_);
            if (this->random_() % 3 > 0) {
                query.nodes.back().filter = steps.pick(ValueType::boolean);
            }
            types.clear();
            for (std::uint64_t outputs = 1 + this->random_() % 6; outputs > 0; --outputs) {
                const std::uint16_t output = this->random_() % 2 == 0 ? steps.pick() : steps.pick_late();
                types.push_back(query.step(output).type);
                query.output(output);
            }
        }
        failed += this->check(&query, rows) == QueryOutcome::failed ? 1 : 0;
        if (this->HasFailure()) {
            return;
        }
    }
    EXPECT_GT(failed, 0);
    EXPECT_LT(failed, rounds * 2 / 3);
}

TYPED_TEST(EngineQuery, RandomGroupsAreTheReferences) {
    this->check_random_groups(0);
}

// The columns have few codes. Rows of equal codes are the same to a query.
TYPED_TEST(EngineQuery, RandomGroupsOfFewCodesAreTheReferences) {
    this->check_random_groups(3);
}

TYPED_TEST(EngineQuery, GroupsAreFilteredComputedAndSorted) {
    for (int round = 0; round < unit_test::few_or_many(40, 1000); ++round) {
        SCOPED_TRACE(round);
        const auto sources = this->make_sources();
        TestQuery query;
        query.begin(scan_types);
        const std::vector<Row> rows = this->add_sources(sources, &query);
        query.add_node(NodeKind::aggregate);
        for (std::uint16_t i = 0; i < scan_types.size(); ++i) {
            query.add_column(i, scan_types[i]);
        }
        query.output(static_cast<std::uint16_t>(this->random_() % 6));
        query.output(static_cast<std::uint16_t>(this->random_() % 6));
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 2);
        query.accumulate(AccumulatorKind::greatest, 3);
        const std::vector<ValueType> types = this->types_of(query);
        query.add_node(NodeKind::compute);
        for (std::uint16_t i = 0; i < types.size(); ++i) {
            query.output(query.add_column(i, types[i]));
        }
        const std::uint16_t one = query.add_constant(Value::of(ValueType::int64, 1));
        query.nodes.back().filter = query.add(Operation::less, ValueType::boolean, one, 2);
        query.add_node(NodeKind::sort);
        for (std::uint64_t keys = this->random_() % 4; keys > 0; --keys) {
            query.sort_by(static_cast<std::uint32_t>(this->random_() % types.size()),
                          this->random_() % 2 == 0, this->random_() % 2 == 0);
        }
        query.nodes.back().limit = this->random_() % 2 == 0 ? UINT64_MAX : this->random_() % 20;
        this->check(&query, rows);
        if (this->HasFailure()) {
            return;
        }
    }
}

TYPED_TEST(EngineQuery, TheFirstRowsOfManyAreFound) {
    const auto run = this->make_run(unit_test::few_or_many(25000, 400000));
    for (int round = 0; round < 4; ++round) {
        SCOPED_TRACE(round);
        TestQuery query;
        query.begin(scan_types);
        query.runs.push_back({run.store.get(), nullptr, 0, 0, run.columns.data()});
        query.add_node(NodeKind::sort);
        query.sort_by(round % 3 == 0 ? 1 : 3, round % 2 == 0, round % 4 < 2);
        query.sort_by(0, round % 2 == 1, false);
        query.nodes.back().limit = round == 3 ? 0 : 1 + this->random_() % 100;
        this->check(&query, run.rows);
    }
}

TYPED_TEST(EngineQuery, ManyGroupsOfWideKeys) {
    std::vector<Row> rows = make_rows(unit_test::few_or_many(40000, 300000), this->random_, false);
    for (Row &row : rows) {
        row[2] = Value::of(ValueType::int128, static_cast<Wide>(this->random_() % 20000) << 70);
        row[1] = Value::of(ValueType::int64, static_cast<std::int64_t>(this->random_()));
    }
    for (const std::uint16_t key : {1, 2}) {
        TestQuery query;
        query.begin(scan_types);
        query.add_input(rows);
        query.add_node(NodeKind::aggregate);
        for (std::uint16_t i = 0; i < scan_types.size(); ++i) {
            query.add_column(i, scan_types[i]);
        }
        query.output(key);
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 0);
        query.accumulate(AccumulatorKind::sum_float, 3);
        query.accumulate(AccumulatorKind::count, 5, no_step, true);
        EXPECT_EQ(this->check(&query, rows), QueryOutcome::answered);
        query.max_rows = 1000;
        const std::unique_ptr<QueryResult> result = this->call(&query);
        ASSERT_NE(result, nullptr);
        EXPECT_EQ(result->outcome(), QueryOutcome::too_many_rows);
        EXPECT_EQ(result->rows(), 0U);
    }
}

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

TYPED_TEST(EngineQuery, RowsOnUnknownBlocksAreGivenBack) {
    const auto run = this->make_run(5000);
    const std::vector<ValueRange> range = {{1000, 1400}};
    const ColumnTest test = {TestKind::ranges, 0, range.data(), nullptr, 1};
    const auto passes = [&](std::size_t i) {
        return *run.run.columns[0].values[i] >= 1000 && *run.run.columns[0].values[i] <= 1400;
    };
    heap_facts::HeapFacts facts =
        heap_facts::HeapFacts::random((run.run.places.back() >> 16) + 1, this->random_);
    for (int round = 0; round < 2; ++round) {
        const std::unique_ptr<HeapBlocks> blocks = this->keep(facts.known());
        ASSERT_NE(blocks, nullptr);
        TestQuery query;
        query.begin(scan_types);
        query.runs.push_back({run.store.get(), &test, 1, 0, run.columns.data()});
        query.blocks = {blocks.get()};
        query.nodes[0].table = 0;
        query.add_node(NodeKind::aggregate);
        query.add_column(0, ValueType::int64);
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 0);
        std::vector<std::uint64_t> unknown;
        std::vector<Row> visible;
        for (std::size_t i = 0; i < run.run.rows(); ++i) {
            if (!passes(i)) {
                continue;
            }
            const heap_facts::Visibility seen = facts.of(run.run.places[i]);
            if (seen == heap_facts::Visibility::unknown) {
                unknown.push_back(run.run.places[i]);
            } else if (seen == heap_facts::Visibility::visible) {
                visible.push_back(run.rows[i]);
            }
        }
        if (round == 1) {
            ASSERT_TRUE(unknown.empty());
            EXPECT_EQ(this->check(&query, visible), QueryOutcome::answered);
            return;
        }
        ASSERT_FALSE(unknown.empty());
        const std::unique_ptr<QueryResult> result = this->call(&query);
        ASSERT_NE(result, nullptr);
        EXPECT_EQ(result->outcome(), QueryOutcome::unresolved);
        EXPECT_EQ(result->rows(), 0U);
        std::vector<Tid> tids(result->unresolved());
        ASSERT_TRUE(result->read_unresolved(*this->stream_, 0, tids.size(), tids.data()).ok());
        std::vector<std::uint64_t> found;
        for (const Tid &tid : tids) {
            found.push_back(column_test::place_of(tid));
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, unknown);
        // Once their blocks are known the query is answered.
        facts = heap_facts::HeapFacts((run.run.places.back() >> 16) + 1, heap_facts::State::all_visible);
    }
}

// The build side's rows are looked at first.
TYPED_TEST(EngineQuery, JoinedTablesNameTheirUnresolvedRowsOneAfterTheOther) {
    const QueryRun sides[2] = {this->make_run(3000), this->make_run(800)};
    std::vector<heap_facts::HeapFacts> facts;
    for (const QueryRun &side : sides) {
        facts.push_back(heap_facts::HeapFacts::random((side.run.places.back() >> 16) + 1, this->random_));
    }
    std::vector<std::uint32_t> named;
    for (int round = 0; round < 3; ++round) {
        std::vector<std::unique_ptr<HeapBlocks>> blocks;
        std::vector<std::uint64_t> unknown[2];
        TestQuery query;
        for (std::uint32_t i = 0; i < 2; ++i) {
            blocks.push_back(this->keep(facts[i].known()));
            ASSERT_NE(blocks.back(), nullptr);
            query.begin(scan_types);
            query.nodes[i].runs = {i, 1};
            query.nodes[i].table = i;
            query.runs.push_back({sides[i].store.get(), nullptr, 0, 0, sides[i].columns.data()});
            query.blocks.push_back(blocks.back().get());
            for (std::size_t row = 0; row < sides[i].run.rows(); ++row) {
                const heap_facts::Visibility seen = facts[i].of(sides[i].run.places[row]);
                if (seen == heap_facts::Visibility::unknown) {
                    unknown[i].push_back(sides[i].run.places[row]);
                } else if (seen == heap_facts::Visibility::visible) {
                    query.scanned[i].push_back(sides[i].rows[row]);
                }
            }
        }
        query.add_join(JoinKind::left, 0, 1, {{5, 5}});
        query.output(0);
        query.output(static_cast<std::uint16_t>(scan_types.size()));
        query.add_node(NodeKind::aggregate);
        query.add_column(0, ValueType::int64);
        query.add_column(1, ValueType::int64);
        query.accumulate(AccumulatorKind::count_rows);
        query.accumulate(AccumulatorKind::sum, 0);
        query.accumulate(AccumulatorKind::sum, 1);
        if (unknown[0].empty() && unknown[1].empty()) {
            EXPECT_EQ(this->check(&query, query.scanned[0]), QueryOutcome::answered);
            continue;
        }
        const std::unique_ptr<QueryResult> result = this->call(&query);
        ASSERT_NE(result, nullptr);
        ASSERT_EQ(result->outcome(), QueryOutcome::unresolved);
        const std::uint32_t table = result->unresolved_table();
        ASSERT_LT(table, 2U);
        named.push_back(table);
        std::vector<Tid> tids(result->unresolved());
        ASSERT_TRUE(result->read_unresolved(*this->stream_, 0, tids.size(), tids.data()).ok());
        std::vector<std::uint64_t> found;
        for (const Tid &tid : tids) {
            found.push_back(column_test::place_of(tid));
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(found, unknown[table]);
        facts[table] =
            heap_facts::HeapFacts((sides[table].run.places.back() >> 16) + 1, heap_facts::State::all_visible);
    }
    EXPECT_EQ(named, (std::vector<std::uint32_t>{1, 0}));
}

TYPED_TEST(EngineQuery, ALimitWithoutAnOrderLeavesSomeRows) {
    const std::vector<Row> rows = make_rows(5000, this->random_, true);
    TestQuery query;
    query.begin(scan_types);
    query.add_input(rows);
    query.add_node(NodeKind::compute);
    query.output(query.add_column(0, ValueType::int64));
    query.nodes.back().limit = 1234;
    const std::unique_ptr<QueryResult> result = this->call(&query);
    ASSERT_NE(result, nullptr);
    EXPECT_EQ(result->outcome(), QueryOutcome::answered);
    EXPECT_EQ(result->rows(), 1234U);
    query.nodes.back().limit = UINT64_MAX;
    query.max_rows = 4999;
    EXPECT_EQ(this->call(&query)->outcome(), QueryOutcome::too_many_rows);
    query.max_rows = 5000;
    EXPECT_EQ(this->check(&query, rows), QueryOutcome::answered);
}

// A query of as many groups as rows.
TestQuery make_many_groups(const std::vector<Row> &rows) {
    TestQuery query;
    query.begin(scan_types);
    query.add_input(rows);
    query.add_node(NodeKind::aggregate);
    query.output(query.add_column(1, ValueType::int64));
    query.accumulate(AccumulatorKind::count_rows);
    return query;
}

TYPED_TEST(EngineQuery, MemoryIsLimitedAndGivenBack) {
    std::vector<Row> rows = make_rows(100000, this->random_, false);
    for (Row &row : rows) {
        row[1] = Value::of(ValueType::int64, static_cast<std::int64_t>(this->random_()));
    }
    EngineOptions options;
    options.memory_limit = 4 << 20;
    std::unique_ptr<Engine> engine;
    ASSERT_TRUE(TypeParam::open(options, &engine).ok());
    std::unique_ptr<Stream> stream;
    ASSERT_TRUE(engine->open_stream(&stream).ok());
    TestQuery query = make_many_groups(rows);
    std::unique_ptr<QueryResult> result;
    EXPECT_EQ(engine->queries().run(*stream, query.view(), &result).code, StatusCode::out_of_memory);
    EXPECT_EQ(result, nullptr);
    EXPECT_EQ(engine->memory().used(), 0U);
}

// Values of two words, of which some have no room in one, and none that is NULL.
TYPED_TEST(EngineQuery, KeptMapsAreOfTheirEngineAndType) {
    QueryRun run = this->make_run(500);
    const std::uint64_t before = this->engine_->memory().used();
    for (const bool is_wide : {false, true}) {
        std::vector<std::uint64_t> values;
        for (std::uint64_t code = 0; code < map_places; ++code) {
            values.push_back(code * 3);
            values.push_back(is_wide && code % 2 == 0 ? code : 0);
        }
        const query::MapValues made = {map_places, 2, values.data(), nullptr};
        std::shared_ptr<const query::KeptMap> kept;
        ASSERT_TRUE(this->engine_->queries().keep_map(*this->stream_, made, &kept).ok());
        EXPECT_GE(kept->bytes(), map_places * 2 * sizeof(std::uint64_t));
        run.columns[0] = {};
        run.columns[0].form = ColumnForm::map;
        run.columns[0].column = 2;
        run.columns[0].kept = kept.get();
        std::vector<Row> rows;
        for (const Row &row : run.rows) {
            const auto code = static_cast<std::uint64_t>(row[5].number);
            const Wide value = static_cast<Wide>(values[2 * code + 1]) << 64 | values[2 * code];
            rows.push_back(
                {row[5].is_null ? Value::null(ValueType::int128) : Value::of(ValueType::int128, value)});
        }
        TestQuery query;
        query.begin({ValueType::int128});
        this->add_run(run, {}, &query);
        query.add_node(NodeKind::aggregate);
        query.add_column(0, ValueType::int128);
        query.accumulate(AccumulatorKind::greatest, 0);
        query.accumulate(AccumulatorKind::sum, 0);
        query.accumulate(AccumulatorKind::count, 0);
        EXPECT_EQ(this->check(&query, rows), QueryOutcome::answered);
        // The same as of 64 bits.
        query.types[0] = query.steps[0].type = ValueType::int64;
        query.steps[0].width = 8;
        std::unique_ptr<QueryResult> result;
        EXPECT_EQ(this->engine_->queries().run(*this->stream_, query.view(), &result).code,
                  StatusCode::invalid_argument);
    }
    EXPECT_EQ(this->engine_->memory().used(), before);
}

TYPED_TEST(EngineQuery, ACancelledQueryEnds) {
    TestQuery query = make_many_groups(make_rows(100000, this->random_, false));
    std::unique_ptr<QueryResult> result;
    this->stream_->cancel();
    EXPECT_EQ(this->engine_->queries().run(*this->stream_, query.view(), &result).code,
              StatusCode::cancelled);
    this->stream_->resume();
    EXPECT_EQ(this->engine_->memory().used(), 0U);
    EXPECT_TRUE(this->engine_->queries().run(*this->stream_, query.view(), &result).ok());
}

// Whatever a query's arrays have, it is refused or answered.
TYPED_TEST(EngineQuery, BrokenQueriesAreRefusedOrAnswered) {
    const std::vector<Row> rows = make_rows(50, this->random_, true);
    int refused = 0;
    for (int round = 0; round < unit_test::few_or_many(600, 20000); ++round) {
        TestQuery query;
        query.begin(scan_types);
        query.add_input(rows);
        query.add_node(NodeKind::aggregate);
        RandomSteps steps(&query, scan_types, this->random_);
        query.output(steps.pick());
        this->add_accumulators(&query, steps, true);
        const std::vector<ValueType> types = this->types_of(query);
        query.add_node(NodeKind::sort);
        query.sort_by(0, false, false);
        const auto break_one = [&](auto *array, auto &elements) {
            static_cast<void>(array);
            if (!elements.empty()) {
                auto *bytes = reinterpret_cast<unsigned char *>(elements.data());
                const std::size_t size = elements.size() * sizeof(elements[0]);
                for (std::uint64_t i = 1 + this->random_() % 2; i > 0; --i) {
                    bytes[this->random_() % size] = static_cast<unsigned char>(this->random_());
                }
            }
        };
        const int *none = nullptr;
        switch (this->random_() % 6) {
            case 0:
                break_one(none, query.nodes);
                break;
            case 1:
                break_one(none, query.outputs);
                break;
            case 2:
                break_one(none, query.accumulators);
                break;
            case 3:
                break_one(none, query.types);
                break;
            case 4:
                break_one(none, query.sort_keys);
                break;
            default:
                break_one(none, query.steps);
        }
        // The sources are those of the caller's memory, which find_problem can't know.
        std::unique_ptr<QueryResult> result;
        const Status status = this->engine_->queries().run(*this->stream_, query.view(), &result);
        EXPECT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
        refused += status.ok() ? 0 : 1;
    }
    EXPECT_GT(refused, 0);
}

}  // namespace query_test
