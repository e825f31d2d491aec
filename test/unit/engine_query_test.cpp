// Random programs, groups and their order.
#include "query_fixture.h"

namespace query_test {

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

// Rows that are equal in the order may come in any, so that some functions are asked for where none are.
TYPED_TEST(EngineQuery, RandomWindowsAreTheReferences) {
    for (int round = 0; round < unit_test::few_or_many(60, 1000); ++round) {
        SCOPED_TRACE(round);
        std::vector<Row> rows = make_rows(this->random_() % 400, this->random_, round % 2 == 0);
        // A number of each row's own, then a key that may be NULL and what lies before and behind it.
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const bool is_null = this->random_() % 7 == 0;
            const auto key = static_cast<std::int64_t>(this->random_() % 100);
            const auto number = [&](std::int64_t value) {
                return is_null ? Value::null(ValueType::int64) : Value::of(ValueType::int64, value);
            };
            const auto distance = static_cast<std::int64_t>(this->random_() % 20);
            rows[i].push_back(Value::of(ValueType::int64, static_cast<Wide>(i)));
            rows[i].push_back(number(key));
            rows[i].push_back(number(key - distance));
            rows[i].push_back(number(key + 7 - distance / 2));
        }
        std::vector<ValueType> types = scan_types;
        types.insert(types.end(), 4, ValueType::int64);
        TestQuery query;
        query.begin(types);
        query.add_input(rows);
        for (std::uint64_t windows = 1 + this->random_() % 2; windows > 0; --windows) {
            Node &node = query.add_node(NodeKind::window);
            const std::uint64_t keys = this->random_() % 3;
            for (std::uint64_t k = 0; k < keys; ++k) {
                query.sort_by(static_cast<std::uint32_t>(this->random_() % scan_types.size()),
                              this->random_() % 2 == 0, this->random_() % 2 == 0);
            }
            node.partition_keys = static_cast<std::uint32_t>(this->random_() % (keys + 1));
            const bool is_total = this->random_() % 2 == 0;
            const bool is_by_values = !is_total && this->random_() % 2 == 0;
            const auto number = static_cast<std::uint32_t>(scan_types.size());
            if (is_by_values) {
                query.sort_by(number + 1, this->random_() % 2 == 0, this->random_() % 2 == 0);
                node.partition_keys = static_cast<std::uint32_t>(keys);
                node.frame_key = number + 1;
                node.frame_from = number + 2;
                node.frame_to = number + 3;
            }
            if (is_total) {
                query.sort_by(static_cast<std::uint32_t>(scan_types.size()), this->random_() % 2 == 0, false);
            }
            const std::int64_t firsts[] = {partition_first, peers_first, -3, 0, 2};
            const std::int64_t lasts[] = {partition_last, peers_last, 0, -1, 4};
            node.frame_first = firsts[this->random_() % (is_total ? 5 : 2)];
            node.frame_last = lasts[this->random_() % (is_total ? 5 : 2)];
            if (is_by_values && this->random_() % 3 > 0) {
                node.frame_first = values_first;
            }
            if (is_by_values && this->random_() % 3 > 0) {
                node.frame_last = values_last;
            }
            const bool searches = node.frame_first == partition_first ||
                                  (node.frame_first >= -3 && node.frame_first <= 2 && node.frame_last <= 4);
            for (std::uint64_t count = this->random_() % 6; count > 0; --count) {
                const auto column = static_cast<std::uint16_t>(this->random_() % types.size());
                const bool is_integer =
                    types[column] == ValueType::int64 || types[column] == ValueType::int128;
                using enum AccumulatorKind;
                const bool is_float = types[column] == ValueType::float64;
                const AccumulatorKind kinds[] = {count_rows,
                                                 AccumulatorKind::count,
                                                 rank,
                                                 dense_rank,
                                                 is_integer ? sum : AccumulatorKind::count,
                                                 searches ? least : AccumulatorKind::count,
                                                 searches ? greatest : AccumulatorKind::count,
                                                 percent_rank,
                                                 cume_dist,
                                                 row_number,
                                                 earlier,
                                                 later,
                                                 first_of_frame,
                                                 last_of_frame,
                                                 nth_of_frame,
                                                 ntile,
                                                 is_float && searches ? sum_float : row_number};
                const AccumulatorKind kind = kinds[this->random_() % (is_total ? 17 : 9)];
                const bool is_filtered =
                    this->random_() % 3 == 0 &&
                    (kind == count_rows || kind == AccumulatorKind::count || kind == sum || kind == least ||
                     kind == greatest || kind == sum_float);
                const bool has_default = this->random_() % 2 == 0 && (kind == earlier || kind == later);
                query.accumulators.push_back(
                    {kind, 0, column,
                     is_filtered   ? std::uint16_t{4}
                     : has_default ? column
                                   : no_step,
                     0, kind == sum_float ? 0 : static_cast<std::uint32_t>(1 + this->random_() % 4)});
                ++node.accumulators.count;
            }
        }
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

}  // namespace query_test
