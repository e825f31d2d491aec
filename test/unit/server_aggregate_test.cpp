// Groups of rows of columns, through the server.
#include "aggregate_reference.h"
#include "server_columns.h"

namespace {

using namespace server_test;
using namespace aggregate_test;
using gpu_engine::AggregateOutcome;

class ServerAggregates : public ServerColumnsTest {
  protected:
    ServerAggregates() : ServerColumnsTest(buffer_bytes) {}

    static constexpr std::uint64_t buffer_bytes = 16 << 20;
    static constexpr std::uint64_t facts_at = 4 << 20;
    static constexpr std::uint64_t results = 5 << 20;

    void make_runs(const std::vector<std::size_t> &rows) {
        for (const std::size_t count : rows) {
            TestRun run;
            run.run = column_test::make_run(count, random_);
            run.pages = column_test::make_pages(run.run);
            load(runs_.size() + 1, run.pages);
            ASSERT_FALSE(HasFatalFailure());
            const std::vector<std::uint64_t> dead = column_test::kill_some(&run.run, random_);
            ASSERT_EQ(Client::result_of(client_->set_dead(run_name(runs_.size() + 1), dead, 1)),
                      ReplyResult::done);
            run.find_codes();
            runs_.push_back(std::move(run));
        }
    }

    // Lays a request out in the buffer, part behind part.
    protocol::AggregateColumn lay_out(const TestRequest &engine_request) {
        protocol::AggregateColumn request{};
        std::uint64_t at = 0;
        const auto give = [&](const void *data, std::uint64_t bytes) {
            const std::uint64_t offset = at;
            if (bytes > 0) {
                std::memcpy(client_->at<char>(offset), data, bytes);
            }
            at += (bytes + 15) / 16 * 16;
            return offset;
        };
        request.program = give(&engine_request.program, sizeof(engine_request.program));
        std::vector<protocol::AggregateInputPlace> places;
        for (std::size_t part = 0; part < runs_.size(); ++part) {
            for (const AggregateInput &input : engine_request.inputs[part].views) {
                protocol::AggregateInputPlace place{};
                place.kind = static_cast<std::uint8_t>(input.kind);
                place.column_null_is_null = input.column_null_is_null ? 1 : 0;
                place.column = input.column;
                place.offset = input.offset;
                place.places = input.places;
                place.values = give(input.values, bytes_of_map(input));
                place.nulls = input.nulls == nullptr ? protocol::nowhere
                                                     : give(input.nulls, (input.places + 63) / 64 * 8);
                place.of_column_null = input.of_column_null;
                places.push_back(place);
            }
        }
        request.inputs = give(places.data(), places.size() * sizeof(places[0]));
        std::vector<protocol::ColumnTestPlace> tests;
        for (const ColumnTest &test : engine_request.tests) {
            tests.push_back(
                {static_cast<std::uint32_t>(test.kind), test.column, protocol::all_runs, 0, 0, 0});
        }
        request.tests = give(tests.data(), tests.size() * sizeof(protocol::ColumnTestPlace));
        request.test_count = static_cast<std::uint32_t>(tests.size());
        EXPECT_LE(at, facts_at);
        request.blocks.all_visible = 1;
        request.max_groups = UINT32_MAX;
        request.results = results;
        request.capacity = buffer_bytes - results;
        request.runs = static_cast<std::uint32_t>(runs_.size());
        for (std::uint32_t i = 0; i < request.runs; ++i) {
            request.run[i] = {run_name(i + 1), 1};
        }
        return request;
    }
    protocol::AggregateReply call(const protocol::AggregateColumn &request) {
        return client_->call<protocol::AggregateReply>(Message::aggregate_column, request);
    }

    protocol::AggregateReply read_groups(std::uint64_t capacity) {
        protocol::ReadGroups request{};
        request.results = results;
        request.capacity = capacity;
        return client_->call<protocol::AggregateReply>(Message::read_groups, request);
    }

    // The records of groups and of unresolved rows that a result has, sorted.
    struct Records {
        std::vector<std::vector<std::uint64_t>> groups;
        std::vector<std::vector<std::uint64_t>> unresolved;

        friend bool operator==(const Records &, const Records &) = default;
    };
    void add_records(const protocol::AggregateReply &reply, std::uint64_t words, Records *records) {
        const auto add = [&](std::uint64_t at, std::uint64_t count, std::uint64_t width, auto *to) {
            const auto *record = client_->at<std::uint64_t>(at);
            for (std::uint64_t i = 0; i < count; ++i, record += width) {
                to->emplace_back(record, record + width);
            }
        };
        add(reply.groups_at, reply.groups_here, words, &records->groups);
        add(reply.unresolved_at, reply.unresolved_here, words + 1, &records->unresolved);
    }
    // Asks with room for `first` bytes, and reads the rest in portions that take no more than `portion`.
    Records submit_in_portions(protocol::AggregateColumn request, std::uint64_t words, std::uint64_t first,
                               std::uint64_t portion) {
        Records records;
        request.capacity = first;
        protocol::AggregateReply reply = call(request);
        const std::uint64_t groups = reply.groups;
        const std::uint64_t unresolved = reply.unresolved;
        for (std::uint64_t room = first;; room = portion) {
            EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
            EXPECT_EQ(reply.groups, groups);
            EXPECT_EQ(reply.unresolved, unresolved);
            EXPECT_LE(reply.needed, room);
            add_records(reply, words, &records);
            const bool is_whole = records.groups.size() >= groups && records.unresolved.size() >= unresolved;
            reply = read_groups(portion);
            if (is_whole || HasFailure()) {
                break;
            }
            EXPECT_GT(reply.groups_here + reply.unresolved_here, 0U);
        }
        EXPECT_EQ(reply.header.status.code, StatusCode::invalid_argument);
        std::sort(records.groups.begin(), records.groups.end());
        std::sort(records.unresolved.begin(), records.unresolved.end());
        return records;
    }

    void check(const TestRequest &engine_request, bool all_visible) {
        protocol::AggregateColumn request = lay_out(engine_request);
        heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(40, random_);
        if (!all_visible) {
            request.blocks = facts.place(client_->buffer(), facts_at);
        }
        const Expected expected = compute(engine_request, runs_, all_visible ? nullptr : &facts);
        protocol::AggregateReply reply = call(request);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        if (expected.failed) {
            EXPECT_EQ(reply.outcome, static_cast<std::uint32_t>(AggregateOutcome::failed));
            EXPECT_EQ(reply.groups, 0U);
            return;
        }
        ASSERT_EQ(reply.outcome, static_cast<std::uint32_t>(AggregateOutcome::answered));
        ++answered_;
        const AggregateProgram &program = engine_request.program;
        const std::uint64_t words = program.key_words + program.value_words;
        Groups groups;
        const auto *records = client_->at<std::uint64_t>(reply.groups_at);
        for (std::uint64_t i = 0; i < reply.groups; ++i, records += words) {
            groups.emplace(std::vector<std::uint64_t>(records, records + program.key_words),
                           std::vector<std::uint64_t>(records + program.key_words, records + words));
        }
        ASSERT_EQ(groups, expected.groups);
        ASSERT_EQ(reply.groups, expected.groups.size());
        std::vector<std::vector<std::uint64_t>> unresolved;
        records = client_->at<std::uint64_t>(reply.unresolved_at);
        for (std::uint64_t i = 0; i < reply.unresolved; ++i, records += words + 1) {
            unresolved.emplace_back(records, records + words + 1);
        }
        std::sort(unresolved.begin(), unresolved.end());
        ASSERT_EQ(unresolved, expected.unresolved);

        // Room for the result exactly, and less than that.
        Records whole;
        add_records(reply, words, &whole);
        std::sort(whole.groups.begin(), whole.groups.end());
        std::sort(whole.unresolved.begin(), whole.unresolved.end());
        const std::uint64_t least = (words + 1) * sizeof(std::uint64_t) + 16;
        EXPECT_EQ(submit_in_portions(request, words, reply.needed, least), whole);
        if (reply.needed > 0) {
            EXPECT_EQ(submit_in_portions(request, words, reply.needed - 16, least), whole);
            EXPECT_EQ(submit_in_portions(request, words, reply.needed / 2, reply.needed / 3 + least), whole);
            EXPECT_EQ(submit_in_portions(request, words, 0, reply.needed / 5 + least), whole);
            request.capacity = reply.needed;
            request.max_groups = reply.groups + reply.unresolved - 1;
            if (reply.groups + reply.unresolved > 0) {
                EXPECT_EQ(call(request).outcome,
                          static_cast<std::uint32_t>(AggregateOutcome::too_many_groups));
            }
        }
    }

    std::vector<TestRun> runs_;
    int answered_ = 0;
};

TEST_P(ServerAggregates, AnswersEqualAPlainReference) {
    make_runs({3000, 700});
    ASSERT_FALSE(HasFatalFailure());
    for (int round = 0; round < 60; ++round) {
        SCOPED_TRACE("round " + std::to_string(round));
        check(make_request(runs_, random_), round % 2 == 0);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_GT(answered_, 20);
}

TEST_P(ServerAggregates, KeepNothingForLater) {
    make_runs({3000});
    ASSERT_FALSE(HasFatalFailure());
    TestRequest engine_request;
    Builder builder(&engine_request);
    engine_request.inputs.emplace_back();
    engine_request.inputs[0].add_map(runs_[0], 1, AggregateInputKind::map64,
                                     [](std::uint64_t code) { return static_cast<std::int64_t>(code % 64); });
    builder.add_key(builder.add_input(), 10, 0, true);
    protocol::AggregateColumn request = lay_out(engine_request);
    const auto keep_some = [&] {
        request.capacity = 32;
        const protocol::AggregateReply reply = call(request);
        EXPECT_EQ(Client::result_of(reply.header), ReplyResult::done);
        EXPECT_LT(reply.groups_here, reply.groups);
    };
    EXPECT_EQ(read_groups(256).header.status.code, StatusCode::invalid_argument);
    keep_some();
    EXPECT_EQ(Client::result_of(read_groups(32).header), ReplyResult::done);
    // A place that isn't one, and any other request, end it.
    protocol::ReadGroups lie{};
    lie.results = UINT64_MAX - 15;
    lie.capacity = 32;
    EXPECT_EQ(client_->call<protocol::AggregateReply>(Message::read_groups, lie).header.status.code,
              StatusCode::invalid_argument);
    EXPECT_EQ(read_groups(256).header.status.code, StatusCode::invalid_argument);
    keep_some();
    request.capacity = buffer_bytes - results;
    EXPECT_EQ(Client::result_of(call(request).header), ReplyResult::done);
    EXPECT_EQ(read_groups(256).header.status.code, StatusCode::invalid_argument);
}

TEST_P(ServerAggregates, ReportWhichRunsAreAbsentOrStale) {
    make_runs({100});
    ASSERT_FALSE(HasFatalFailure());
    protocol::AggregateColumn request = lay_out(make_request(runs_, random_));
    request.runs = 2;
    request.run[1] = {run_name(2), 1};
    auto reply = call(request);
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::not_resident);
    EXPECT_EQ(reply.header.lacking, 2U);
    request.runs = 1;
    request.run[0].dead_version = 2;
    reply = call(request);
    EXPECT_EQ(Client::result_of(reply.header), ReplyResult::stale);
}

TEST_P(ServerAggregates, RefuseWhatCantBe) {
    make_runs({1000});
    ASSERT_FALSE(HasFatalFailure());
    TestRequest engine_request;
    Builder builder(&engine_request);
    engine_request.inputs.emplace_back();
    engine_request.inputs[0].add_map(runs_[0], 1, AggregateInputKind::map64,
                                     [](std::uint64_t code) { return static_cast<std::int64_t>(code); });
    engine_request.inputs[0].set_nulls(&engine_request.inputs[0].views[0], random_);
    const std::uint16_t input = builder.add_input();
    builder.add_key(input, 10, 0, true);
    builder.accumulate(AccumulatorKind::sum, input);
    const protocol::AggregateColumn good = lay_out(engine_request);
    const auto code = [&](const protocol::AggregateColumn &request) {
        return call(request).header.status.code;
    };
    EXPECT_EQ(code(good), StatusCode::ok);
    for (const std::uint64_t offset :
         {buffer_bytes, std::uint64_t(1) << 63, UINT64_MAX - 15, std::uint64_t(17)}) {
        for (std::uint64_t protocol::AggregateColumn::*member :
             {&protocol::AggregateColumn::program, &protocol::AggregateColumn::inputs,
              &protocol::AggregateColumn::tests, &protocol::AggregateColumn::results}) {
            protocol::AggregateColumn request = good;
            request.test_count = 1;
            request.*member = offset;
            EXPECT_EQ(code(request), StatusCode::invalid_argument) << offset;
        }
        protocol::AggregateColumn request = good;
        request.blocks = {offset, 1, 0, 0, 1, 0};
        EXPECT_EQ(code(request), StatusCode::invalid_argument) << offset;
        auto *place = client_->at<protocol::AggregateInputPlace>(good.inputs);
        const protocol::AggregateInputPlace honest = *place;
        place->values = offset;
        EXPECT_EQ(code(good), StatusCode::invalid_argument) << offset;
        *place = honest;
        place->nulls = offset;
        EXPECT_EQ(code(good), StatusCode::invalid_argument) << offset;
        *place = honest;
        place->places = offset == 17 ? buffer_bytes : offset;
        EXPECT_EQ(code(good), StatusCode::invalid_argument) << offset;
        *place = honest;
    }
    protocol::AggregateColumn request = good;
    request.runs = 0;
    EXPECT_EQ(code(request), StatusCode::invalid_argument);
    request.runs = protocol::max_runs + 1;
    EXPECT_EQ(code(request), StatusCode::invalid_argument);
    request = good;
    request.test_count = protocol::max_tests + 1;
    EXPECT_EQ(code(request), StatusCode::invalid_argument);

    // Whatever the program and its inputs say, they are refused or give some answer.
    const std::vector<char> honest(client_->at<char>(0), client_->at<char>(0) + facts_at);
    int refused = 0;
    for (int round = 0; round < 3000; ++round) {
        for (std::uint64_t lies = 1 + random_() % 4; lies > 0; --lies) {
            const std::uint64_t from = random_() % 3 == 0 ? good.inputs : good.program;
            // The parts of a program that are in use lie near its beginning or the begin of its arrays.
            const std::uint64_t starts[] = {0, offsetof(AggregateProgram, step),
                                            offsetof(AggregateProgram, key),
                                            offsetof(AggregateProgram, accumulator)};
            const std::uint64_t start = from == good.program ? starts[random_() % 4] : 0;
            client_->at<unsigned char>(from)[start + random_() % 48] =
                static_cast<unsigned char>(random_() % 3 == 0 ? random_() : random_() % 8);
        }
        const StatusCode result = code(good);
        EXPECT_TRUE(result == StatusCode::ok || result == StatusCode::invalid_argument ||
                    result == StatusCode::insufficient_space)
            << static_cast<int>(result);
        refused += result == StatusCode::ok ? 0 : 1;
        std::memcpy(client_->at<char>(0), honest.data(), honest.size());
    }
    EXPECT_GT(refused, 100);
    EXPECT_LT(refused, 2900);
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerAggregates, every_engine(), engine_of);

}  // namespace
