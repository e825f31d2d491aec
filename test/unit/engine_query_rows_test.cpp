// Rows that are unresolved or left out, maps that are kept, memory, cancelled and broken queries.
#include "query_fixture.h"

namespace query_test {

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

// By a computation, first rows in an order and groups; of a run in which few groups of rows are left, too.
TYPED_TEST(EngineQuery, RowsTellTheirNumbers) {
    QueryRun runs[2] = {this->make_run(5000), this->make_run(700)};
    const std::uint64_t offsets[2] = {3, UINT64_C(1) << 40};
    std::vector<Row> rows;
    for (std::size_t run = 0; run < 2; ++run) {
        const query::RunColumn code = runs[run].columns[5];
        runs[run].columns = {{}, code};
        runs[run].columns[0].form = ColumnForm::row;
        runs[run].columns[0].offset = offsets[run];
        const std::vector<std::uint64_t> dead = column_test::kill_some(&runs[run].run, this->random_);
        ASSERT_TRUE(runs[run].store->set_dead(*this->stream_, dead.data(), 1).ok());
        for (std::size_t i = 0; i < runs[run].rows.size(); ++i) {
            if (!runs[run].run.is_dead(i)) {
                rows.push_back(
                    {Value::of(ValueType::int64, static_cast<Wide>(offsets[run] + i)), runs[run].rows[i][5]});
            }
        }
    }
    for (const NodeKind kind : {NodeKind::compute, NodeKind::sort, NodeKind::aggregate}) {
        for (const int most : {50, 1}) {
            TestQuery query;
            query.begin({ValueType::int64, ValueType::int64});
            this->add_run(runs[0], {}, &query);
            this->add_run(runs[1], {}, &query);
            query.add_node(kind == NodeKind::sort ? NodeKind::compute : kind);
            const std::uint16_t number = query.add_column(0, ValueType::int64);
            const std::uint16_t code = query.add_column(1, ValueType::int64);
            const std::uint16_t limit = query.add_constant(Value::of(ValueType::int64, most));
            query.nodes.back().filter = query.add(Operation::less, ValueType::boolean, code, limit);
            query.output(code);
            if (kind == NodeKind::aggregate) {
                query.accumulate(AccumulatorKind::sum, number);
                query.accumulate(AccumulatorKind::greatest, number);
            } else {
                query.output(number);
            }
            if (kind == NodeKind::sort) {
                query.add_node(NodeKind::sort);
                query.sort_by(0, true, false);
                query.sort_by(1, false, false);
                query.nodes.back().limit = 20;
            }
            EXPECT_EQ(this->check(&query, rows), QueryOutcome::answered);
        }
    }
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
