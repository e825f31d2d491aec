// Queries of typed columns, through the server.
#include <map>
#include <optional>

#include "gpu_engine/query/query.h"
#include "heap_facts.h"
#include "server_columns.h"

namespace {

using namespace server_test;
namespace query = gpu_engine::query;
using query::QueryOutcome;

// A group: the number of rows, the sum of the first column, the number of values of the second one, and the
// greatest of them.
struct Group {
    std::int64_t rows = 0;
    std::int64_t sum = 0;
    std::int64_t values = 0;
    std::optional<std::int64_t> greatest;

    friend bool operator==(const Group &, const Group &) = default;
};
using Groups = std::map<std::optional<std::int64_t>, Group>;

struct Row {
    std::int64_t number;
    std::optional<std::int64_t> value;
    std::optional<std::int64_t> key;
};

class ServerQueries : public ServerColumnsTest {
  protected:
    ServerQueries() : ServerColumnsTest(buffer_bytes) {}

    void SetUp() override {
        ServerColumnsTest::SetUp();
        if (IsSkipped() || HasFatalFailure()) {
            return;
        }
        make_runs({3000, 700});
        for (int i = 0; i < 90; ++i) {
            input_.push_back({i, i % 3 == 0 ? std::nullopt : std::optional<std::int64_t>(i * 1000),
                              i % 7 == 0 ? std::nullopt : std::optional<std::int64_t>(i % 30 - 8)});
        }
    }

    static constexpr std::uint64_t buffer_bytes = 4 << 20;
    static constexpr std::uint64_t facts_at = 1 << 20;
    static constexpr std::uint64_t results = 2 << 20;
    static constexpr std::uint64_t record_words = 7;
    static constexpr std::uint64_t least_number = 1100;
    static constexpr std::uint64_t greatest_number = 1500;

    void make_runs(const std::vector<std::size_t> &rows) {
        for (const std::size_t count : rows) {
            column_test::ColumnRun run = column_test::make_run(count, random_);
            load(runs_.size() + 1, column_test::make_pages(run));
            ASSERT_FALSE(HasFatalFailure());
            const std::vector<std::uint64_t> dead = column_test::kill_some(&run, random_);
            ASSERT_EQ(Client::result_of(client_->set_dead(run_name(runs_.size() + 1), dead, 1)),
                      ReplyResult::done);
            runs_.push_back(std::move(run));
        }
    }

    template <typename Element>
    std::uint64_t give(const std::vector<Element> &elements) {
        const std::uint64_t offset = at_;
        if (!elements.empty()) {
            std::memcpy(client_->at<char>(offset), elements.data(), elements.size() * sizeof(Element));
        }
        at_ += (elements.size() * sizeof(Element) + 15) / 16 * 16;
        return offset;
    }
    template <typename Element>
    protocol::ArrayPlace give_array(const std::vector<Element> &elements) {
        return {give(elements), static_cast<std::uint32_t>(elements.size()), 0};
    }

    // The third column's codes, which are those of strings, stand for these; some for NULL.
    static std::optional<std::int64_t> meaning(std::uint64_t code) {
        return code % 11 == 3 ? std::nullopt : std::optional(static_cast<std::int64_t>(code % 17) - 5);
    }
    std::uint64_t give_run_columns(const column_test::ColumnRun &run) {
        const std::uint64_t codes = column_test::distinct_values(run.columns[2]).size();
        std::vector<std::uint64_t> values;
        std::vector<std::uint64_t> nulls((codes + 63) / 64);
        for (std::uint64_t code = 0; code < codes; ++code) {
            values.push_back(static_cast<std::uint64_t>(meaning(code).value_or(0)));
            nulls[code / 64] |= std::uint64_t(!meaning(code)) << (code % 64);
        }
        std::vector<protocol::RunColumnPlace> columns(3);
        for (std::uint32_t i = 0; i < 3; ++i) {
            columns[i].form =
                static_cast<std::uint32_t>(i == 2 ? query::ColumnForm::map : query::ColumnForm::integer);
            columns[i].column = i;
            columns[i].nulls = protocol::nowhere;
        }
        columns[2].places = codes;
        columns[2].name = map_name_;
        columns[2].values = protocol::nowhere;
        if (sends_values_) {
            columns[2].values = give(values);
            columns[2].nulls = give(nulls);
        }
        return give(columns);
    }
    protocol::InputSourcePlace give_input() {
        std::vector<std::uint64_t> words[3];
        std::vector<std::uint64_t> nulls[3];
        for (std::size_t i = 0; i < input_.size(); ++i) {
            const std::optional<std::int64_t> values[] = {input_[i].number, input_[i].value, input_[i].key};
            for (std::size_t c = 0; c < 3; ++c) {
                words[c].push_back(static_cast<std::uint64_t>(values[c].value_or(0)));
                nulls[c].resize(input_.size() / 64 + 1);
                nulls[c][i / 64] |= std::uint64_t(!values[c]) << (i % 64);
            }
        }
        std::vector<protocol::InputColumnPlace> columns;
        for (std::size_t c = 0; c < 3; ++c) {
            columns.push_back({give(words[c]), c == 0 ? protocol::nowhere : give(nulls[c])});
        }
        return {input_.size(), give(columns)};
    }

    // SELECT count(*), sum(number), count(value), max(value) ... GROUP BY key.
    protocol::RunQuery lay_out() {
        protocol::RunQuery request{};
        at_ = 0;
        std::vector<query::Step> steps;
        for (std::uint16_t i = 0; i < 3; ++i) {
            steps.push_back({query::Operation::column, query::ValueType::int64, 8, i, query::no_step,
                             query::no_step, query::no_step, 0});
        }
        const auto accumulator = [](query::AccumulatorKind kind, std::uint16_t argument) {
            return query::Accumulator{kind, 0, argument, query::no_step, 0, 0};
        };
        std::vector<query::Node> nodes(2);
        nodes[0].kind = query::NodeKind::scan;
        nodes[0].types = {0, 3};
        nodes[0].runs = {0, static_cast<std::uint32_t>(runs_.size())};
        nodes[0].inputs = {0, 1};
        nodes[0].filter = query::no_step;
        nodes[1].kind = query::NodeKind::aggregate;
        nodes[1].steps = {0, 3};
        nodes[1].filter = query::no_step;
        nodes[1].outputs = {0, 1};
        nodes[1].accumulators = {0, 4};
        nodes[1].limit = UINT64_MAX;
        request.nodes = give_array(nodes);
        request.types = give_array(std::vector<query::ValueType>(3, query::ValueType::int64));
        request.steps = give_array(steps);
        request.outputs = give_array(std::vector<std::uint16_t>{2});
        request.accumulators = give_array(std::vector<query::Accumulator>{
            accumulator(query::AccumulatorKind::count_rows, query::no_step),
            accumulator(query::AccumulatorKind::sum, 0), accumulator(query::AccumulatorKind::count, 1),
            accumulator(query::AccumulatorKind::greatest, 1)});
        std::vector<protocol::RunSourcePlace> sources;
        for (std::uint32_t run = 0; run < runs_.size(); ++run) {
            sources.push_back({give_run_columns(runs_[run]), run, 0});
        }
        request.sources = give_array(sources);
        request.inputs = give_array(std::vector<protocol::InputSourcePlace>{give_input()});
        request.max_rows = 1000;
        const gpu_engine::ValueRange range = {least_number, greatest_number};
        const std::uint64_t range_at = give(std::vector<gpu_engine::ValueRange>{range});
        request.tests = give(
            std::vector<protocol::ColumnTestPlace>{{static_cast<std::uint32_t>(gpu_engine::TestKind::ranges),
                                                    0, protocol::all_runs, 0, range_at, 1}});
        request.test_count = 1;
        request.tables = give_array(std::vector<protocol::BlocksPlace>{{0, 0, 0, 0, 0, 1}});
        request.results = results;
        request.capacity = buffer_bytes - results;
        request.runs = static_cast<std::uint32_t>(runs_.size());
        for (std::uint32_t i = 0; i < request.runs; ++i) {
            request.run[i] = {run_name(i + 1), 1};
        }
        EXPECT_LE(at_, facts_at);
        return request;
    }
    protocol::QueryReply call(const protocol::RunQuery &request) {
        return client_->call<protocol::QueryReply>(Message::run_query, request);
    }
    protocol::QueryReply read_query(std::uint64_t capacity) {
        protocol::ReadQuery request{};
        request.results = results;
        request.capacity = capacity;
        return client_->call<protocol::QueryReply>(Message::read_query, request);
    }

    static void add(const Row &row, Groups *groups) {
        Group &group = (*groups)[row.key];
        ++group.rows;
        group.sum += row.number;
        group.values += row.value ? 1 : 0;
        if (row.value && row.value > group.greatest) {
            group.greatest = row.value;
        }
    }
    // Calls visit(row, place) for the live rows of runs that pass the tests.
    template <typename Visit>
    void for_rows(Visit visit) const {
        for (const column_test::ColumnRun &run : runs_) {
            const std::vector<std::uint64_t> strings = column_test::distinct_values(run.columns[2]);
            for (std::size_t i = 0; i < run.rows(); ++i) {
                const std::uint64_t number = *run.columns[0].values[i];
                if (run.is_dead(i) || number < least_number || number > greatest_number) {
                    continue;
                }
                Row row{static_cast<std::int64_t>(number), std::nullopt, std::nullopt};
                if (run.columns[1].values[i]) {
                    row.value = static_cast<std::int64_t>(*run.columns[1].values[i]);
                }
                if (run.columns[2].values[i]) {
                    row.key = meaning(static_cast<std::uint64_t>(
                        std::lower_bound(strings.begin(), strings.end(), *run.columns[2].values[i]) -
                        strings.begin()));
                }
                visit(row, run.places[i]);
            }
        }
    }

    void take(const protocol::QueryReply &reply, Groups *groups) {
        ASSERT_EQ(reply.record_words, record_words);
        const auto *record = client_->at<std::uint64_t>(reply.here_at);
        for (std::uint64_t i = 0; i < reply.here; ++i, record += record_words) {
            const auto value = [&](std::uint64_t column, std::uint64_t word) {
                return (record[0] >> column & 1) != 0
                           ? std::nullopt
                           : std::optional(static_cast<std::int64_t>(record[word]));
            };
            Group group;
            group.rows = value(1, 2).value_or(-1);
            group.sum = value(2, 3).value_or(-1);
            EXPECT_EQ(record[4], 0U);  // the sum's upper half
            group.values = value(3, 5).value_or(-1);
            group.greatest = value(4, 6);
            EXPECT_TRUE(groups->emplace(value(0, 1), group).second);
        }
    }
    // Asks with room for `first` bytes, and reads the rest in portions of so many.
    Groups submit_in_portions(protocol::RunQuery request, std::uint64_t first, std::uint64_t portion) {
        Groups groups;
        request.capacity = first;
        protocol::QueryReply reply = call(request);
        EXPECT_EQ(reply.outcome, static_cast<std::uint32_t>(QueryOutcome::answered));
        const std::uint64_t rows = reply.rows;
        for (;;) {
            EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
            EXPECT_EQ(reply.rows, rows);
            take(reply, &groups);
            const bool is_whole = groups.size() >= rows;
            reply = read_query(portion);
            if (is_whole || HasFailure()) {
                break;
            }
            EXPECT_GT(reply.here, 0U);
        }
        EXPECT_EQ(reply.header.status.code, StatusCode::invalid_argument);
        return groups;
    }

    std::vector<column_test::ColumnRun> runs_;
    std::vector<Row> input_;
    query::MapName map_name_{};
    bool sends_values_ = true;
    std::uint64_t at_ = 0;
};

TEST_P(ServerQueries, AnswersEqualAPlainReference) {
    Groups expected;
    for (const Row &row : input_) {
        add(row, &expected);
    }
    for_rows([&](const Row &row, std::uint64_t) { add(row, &expected); });
    const protocol::RunQuery request = lay_out();
    const protocol::QueryReply reply = call(request);
    ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
    ASSERT_EQ(reply.outcome, static_cast<std::uint32_t>(QueryOutcome::answered));
    EXPECT_EQ(reply.here, reply.rows);
    Groups groups;
    take(reply, &groups);
    EXPECT_EQ(groups, expected);

    const std::uint64_t least = record_words * sizeof(std::uint64_t) + 16;
    EXPECT_EQ(submit_in_portions(request, reply.needed, least), expected);
    EXPECT_EQ(submit_in_portions(request, reply.needed - 16, least), expected);
    EXPECT_EQ(submit_in_portions(request, reply.needed / 2, reply.needed / 3), expected);
    EXPECT_EQ(submit_in_portions(request, 0, reply.needed / 5 + least), expected);
}

TEST_P(ServerQueries, KeepsMapsByTheirNames) {
    Groups expected;
    for (const Row &row : input_) {
        add(row, &expected);
    }
    for_rows([&](const Row &row, std::uint64_t) { add(row, &expected); });
    sends_values_ = false;
    EXPECT_EQ(call(lay_out()).header.status.code, StatusCode::invalid_argument);
    const auto ask = [&](std::uint64_t name, bool sends_values, QueryOutcome outcome) {
        SCOPED_TRACE("map " + std::to_string(name) + (sends_values ? " whole" : " by its name"));
        map_name_ = {{name, 5}};
        sends_values_ = sends_values;
        const protocol::QueryReply reply = call(lay_out());
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        ASSERT_EQ(reply.outcome, static_cast<std::uint32_t>(outcome));
        if (outcome == QueryOutcome::answered) {
            Groups groups;
            take(reply, &groups);
            EXPECT_EQ(groups, expected);
        }
    };
    ask(1, false, QueryOutcome::lacks_maps);
    ask(1, true, QueryOutcome::answered);
    ask(1, false, QueryOutcome::answered);
    ask(2, false, QueryOutcome::lacks_maps);
    ask(2, true, QueryOutcome::answered);
    ask(1, false, QueryOutcome::answered);
    ask(2, false, QueryOutcome::answered);
}

TEST_P(ServerQueries, NamesRowsOnUnknownBlocksFirst) {
    protocol::RunQuery request = lay_out();
    for (int round = 0; round < 20; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(200, random_);
        if (round % 2 == 0) {
            for (std::uint64_t block = 0; block < 200; ++block) {
                facts.set(block,
                          random_() % 2 == 0 ? heap_facts::State::known : heap_facts::State::all_visible);
            }
        }
        *client_->at<protocol::BlocksPlace>(request.tables.offset) = facts.place(client_->buffer(), facts_at);
        Groups expected;
        std::vector<std::uint64_t> unresolved;
        for (const Row &row : input_) {
            add(row, &expected);
        }
        for_rows([&](const Row &row, std::uint64_t place) {
            const heap_facts::Visibility result = facts.of(place);
            if (result == heap_facts::Visibility::unknown) {
                unresolved.push_back(place);
            } else if (result == heap_facts::Visibility::visible) {
                add(row, &expected);
            }
        });
        ASSERT_EQ(unresolved.empty(), round % 2 == 0);
        request.capacity = round % 4 == 1 ? 256 : buffer_bytes - results;
        protocol::QueryReply reply = call(request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        ASSERT_EQ(reply.unresolved, unresolved.size());
        if (unresolved.empty()) {
            ASSERT_EQ(reply.outcome, static_cast<std::uint32_t>(QueryOutcome::answered));
            Groups groups;
            take(reply, &groups);
            ASSERT_EQ(groups, expected);
            continue;
        }
        ASSERT_EQ(reply.outcome, static_cast<std::uint32_t>(QueryOutcome::unresolved));
        ASSERT_EQ(reply.rows, 0U);
        std::vector<std::uint64_t> named;
        for (;; reply = read_query(1024)) {
            ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
            ASSERT_GT(reply.here, 0U);
            for (std::uint64_t i = 0; i < reply.here; ++i) {
                named.push_back(column_test::place_of(client_->at<Tid>(reply.here_at)[i]));
            }
            if (named.size() >= unresolved.size()) {
                break;
            }
        }
        std::sort(named.begin(), named.end());
        std::sort(unresolved.begin(), unresolved.end());
        ASSERT_EQ(named, unresolved);
    }
}

TEST_P(ServerQueries, KeepsNothingForLater) {
    protocol::RunQuery request = lay_out();
    const auto keep_some = [&] {
        request.capacity = 64;
        const protocol::QueryReply reply = call(request);
        EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done);
        EXPECT_LT(reply.here, reply.rows);
    };
    EXPECT_EQ(read_query(256).header.status.code, StatusCode::invalid_argument);
    keep_some();
    EXPECT_EQ(Client::result_of(read_query(64).header), ReplyResult::done);
    // A place that isn't one, and any other request, end it.
    protocol::ReadQuery lie{};
    lie.results = UINT64_MAX - 15;
    lie.capacity = 64;
    EXPECT_EQ(client_->call<protocol::QueryReply>(Message::read_query, lie).header.status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(read_query(256).header.status.code, StatusCode::invalid_argument);
    keep_some();
    client_->call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{});
    EXPECT_EQ(read_query(256).header.status.code, StatusCode::invalid_argument);
}

TEST_P(ServerQueries, TellsWhichRunsAreAbsentOrStale) {
    protocol::RunQuery request = lay_out();
    request.run[1] = {run_name(7), 1};
    auto reply = call(request);
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::not_resident);
    EXPECT_EQ(reply.header.lacking, 2U);
    request.run[1] = {run_name(2), 2};
    reply = call(request);
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::stale);
}

TEST_P(ServerQueries, RefusesWhatCantBe) {
    const protocol::RunQuery good = lay_out();
    const auto code = [&](const protocol::RunQuery &request) { return call(request).header.status.code; };
    EXPECT_EQ(code(good), StatusCode::ok);
    protocol::ArrayPlace protocol::RunQuery::*const arrays[] = {
        &protocol::RunQuery::nodes,     &protocol::RunQuery::types,   &protocol::RunQuery::steps,
        &protocol::RunQuery::constants, &protocol::RunQuery::outputs, &protocol::RunQuery::accumulators,
        &protocol::RunQuery::sort_keys, &protocol::RunQuery::zones,   &protocol::RunQuery::sources,
        &protocol::RunQuery::inputs};
    for (const std::uint64_t offset :
         {buffer_bytes, std::uint64_t(1) << 63, UINT64_MAX - 15, std::uint64_t(17)}) {
        SCOPED_TRACE(offset);
        for (const auto array : arrays) {
            protocol::RunQuery request = good;
            (request.*array).offset = offset;
            (request.*array).count = std::max((request.*array).count, 1U);
            EXPECT_EQ(code(request), StatusCode::invalid_argument);
        }
        protocol::RunQuery request = good;
        request.tests = offset;
        EXPECT_EQ(code(request), StatusCode::invalid_argument);
        request = good;
        request.results = offset;
        EXPECT_EQ(code(request), StatusCode::invalid_argument);
        request = good;
        auto *table = client_->at<protocol::BlocksPlace>(good.tables.offset);
        const protocol::BlocksPlace all_visible = *table;
        *table = {offset, 1, 0, 0, 1, 0};
        EXPECT_EQ(code(request), StatusCode::invalid_argument);
        *table = all_visible;
        // Structures in the buffer name places, too.
        const auto refuses = [&](std::uint64_t *number, std::uint64_t lie) {
            const std::uint64_t honest = *number;
            *number = lie;
            EXPECT_EQ(code(good), StatusCode::invalid_argument);
            *number = honest;
        };
        auto *source = client_->at<protocol::RunSourcePlace>(good.sources.offset);
        auto *map = client_->at<protocol::RunColumnPlace>(source->columns) + 2;
        auto *input = client_->at<protocol::InputSourcePlace>(good.inputs.offset);
        auto *input_column = client_->at<protocol::InputColumnPlace>(input->columns) + 1;
        refuses(&source->columns, offset);
        refuses(&map->values, offset);
        refuses(&map->nulls, offset);
        refuses(&map->places, offset == 17 ? buffer_bytes : offset);
        refuses(&input->columns, offset);
        refuses(&input->rows, offset == 17 ? buffer_bytes : offset);
        refuses(&input_column->values, offset);
        refuses(&input_column->nulls, offset);
    }
    for (const auto array : arrays) {
        protocol::RunQuery request = good;
        (request.*array).count = protocol::max_elements + 1;
        EXPECT_EQ(code(request), StatusCode::invalid_argument);
    }
    protocol::RunQuery request = good;
    request.runs = protocol::max_runs + 1;
    EXPECT_EQ(code(request), StatusCode::invalid_argument);
    request = good;
    request.test_count = protocol::max_tests + 1;
    EXPECT_EQ(code(request), StatusCode::invalid_argument);
    auto *sources = client_->at<protocol::RunSourcePlace>(good.sources.offset);
    sources[1].run = 2;
    EXPECT_EQ(code(good), StatusCode::invalid_argument);
    sources[1].run = 1;
    auto *nodes = client_->at<query::Node>(good.nodes.offset);
    for (query::Span query::Node::*span : {&query::Node::types, &query::Node::runs, &query::Node::inputs}) {
        for (const query::Span lie : {query::Span{0, 4}, {UINT32_MAX, 1}, {1, UINT32_MAX}}) {
            const query::Span honest = nodes[0].*span;
            nodes[0].*span = lie;
            EXPECT_EQ(code(good), StatusCode::invalid_argument);
            nodes[0].*span = honest;
        }
    }
    EXPECT_EQ(code(good), StatusCode::ok);
}

// Whatever the query says, it is refused or gives some answer.
TEST_P(ServerQueries, SurvivesLies) {
    const protocol::RunQuery good = lay_out();
    const std::vector<char> honest(client_->at<char>(0), client_->at<char>(0) + facts_at);
    const protocol::ArrayPlace arrays[] = {good.nodes,        good.types,   good.steps, good.outputs,
                                           good.accumulators, good.sources, good.inputs};
    const std::uint64_t element_bytes[] = {sizeof(query::Node),
                                           sizeof(query::ValueType),
                                           sizeof(query::Step),
                                           sizeof(std::uint16_t),
                                           sizeof(query::Accumulator),
                                           sizeof(protocol::RunSourcePlace),
                                           sizeof(protocol::InputSourcePlace)};
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
        for (std::uint64_t lies = 1 + random_() % 3; lies > 0; --lies) {
            const std::uint64_t array = random_() % std::size(arrays);
            const std::uint64_t bytes = arrays[array].count * element_bytes[array];
            client_->at<unsigned char>(arrays[array].offset)[random_() % bytes] =
                static_cast<unsigned char>(random_() % 3 == 0 ? random_() : random_() % 8);
        }
        const protocol::QueryReply reply = call(good);
        const StatusCode code = reply.header.status.code;
        EXPECT_TRUE(code == StatusCode::ok || code == StatusCode::invalid_argument)
            << static_cast<int>(code) << reply.header.status.message;
        EXPECT_LE(reply.rows, good.max_rows);
        refused += code == StatusCode::ok ? 0 : 1;
        std::memcpy(client_->at<char>(0), honest.data(), honest.size());
    }
    EXPECT_GT(refused, 100);
    EXPECT_LT(refused, 2900);
}

TEST_P(ServerQueries, SayWhichQueriesCantBeDivided) {
    const protocol::RunQuery request = lay_out();
    client_->at<query::Accumulator>(request.accumulators.offset)[2].distinct = 1;
    const protocol::QueryReply reply = call(request);
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
    EXPECT_EQ(reply.outcome, has_several_engines() ? 0U : static_cast<std::uint32_t>(QueryOutcome::answered));
    EXPECT_EQ(reply.rows == 0, has_several_engines());
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerQueries, every_engine(), engine_of);

}  // namespace
