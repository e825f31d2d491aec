// Runs of columns that are loaded in parts: on several engines, and on devices and the host.
#include "column_run.h"
#include "server_several_engines.h"

namespace {

using namespace server_test;
using gpu_engine::TestKind;
using gpu_engine::ValueRange;
using gpu_engine::server::Options;

class ColumnParts : public ServerOfSeveralEngines {
  protected:
    static constexpr std::uint32_t engines = 3;

    static Options three_hosts() {
        Options options;
        options.host_engines = engines;
        options.uses_devices = false;
        options.testing = true;
        options.colocated_bytes = 0;
        return options;
    }

    explicit ColumnParts(const Options &options = three_hosts(), EngineName kind = EngineName::host)
        : ServerOfSeveralEngines(options, kind),
          kind_(kind),
          run_(column_test::make_run(30000, random_)),
          pages_(column_test::make_pages(run_)) {}

    void limit(EngineName kind, std::uint64_t bytes) {
        limits_[static_cast<std::size_t>(kind)] = bytes;
        protocol::Configure request{};
        std::copy(std::begin(limits_), std::end(limits_), std::begin(request.memory_limit));
        EXPECT_EQ(Client::result_of(client_.call<protocol::ReplyHeader>(Message::configure, request)),
                  ReplyResult::done);
    }
    std::uint64_t memory_used(EngineName kind) {
        return client_.list(Message::mirrors, 0, 65536).memory_used[static_cast<std::size_t>(kind)];
    }
    ReplyResult load_columns(std::uint64_t run = 1) {
        protocol::BeginColumn begin{};
        begin.name = run_name(run);
        begin.layout = pages_.layout;
        const auto begun = client_.call<protocol::BeginReply>(Message::begin_column, begin);
        if (Client::result_of(begun.header) != ReplyResult::done || begun.handle == 0) {
            return Client::result_of(begun.header);
        }
        protocol::AppendPages append{};
        append.handle = begun.handle;
        append.pages = 1;
        append.layout.page_bytes = column_test::page_bytes;
        for (std::size_t page = 0; page < pages_.count(); ++page) {
            std::memcpy(client_.buffer(), pages_.images.data() + page * column_test::page_bytes,
                        column_test::page_bytes);
            const auto reply = client_.call<protocol::ReplyHeader>(Message::append_pages, append);
            if (Client::result_of(reply) != ReplyResult::done) {
                return Client::result_of(reply);
            }
        }
        return Client::result_of(client_.finish(begun.handle).header);
    }
    // Asks the run for the rows with a value of column 0 from 1100 to 1400.
    protocol::ColumnReply call(std::uint64_t dead_version = 0) {
        protocol::QueryColumn request{};
        request.blocks.all_visible = 1;
        request.results = 1 << 20;
        request.capacity = 3 << 20;
        request.starts = 2048;
        request.runs = 1;
        request.run[0] = {run_name(1), dead_version};
        request.test_count = 1;
        *client_.at<protocol::ColumnTestPlace>(0) = {
            static_cast<std::uint32_t>(TestKind::ranges), 0, protocol::all_runs, 0, 1024, 1};
        *client_.at<ValueRange>(1024) = {1100, 1400};
        return client_.call<protocol::ColumnReply>(Message::match_column, request);
    }
    void expect_found(std::uint64_t dead_version = 0) {
        std::vector<std::uint64_t> expected;
        for (std::size_t row = 0; row < run_.rows(); ++row) {
            const auto &value = run_.columns[0].values[row];
            if (!run_.is_dead(row) && value && *value >= 1100 && *value <= 1400) {
                expected.push_back(run_.places[row]);
            }
        }
        ASSERT_GT(expected.size(), 50U);
        const protocol::ColumnReply reply = call(dead_version);
        ASSERT_EQ(Client::result_of(reply.header), ReplyResult::done) << reply.header.status.message;
        std::vector<std::uint64_t> places;
        for (std::uint64_t i = 0; i < reply.found[0]; ++i) {
            places.push_back(column_test::place_of(client_.at<Tid>(reply.found_at[0])[i]));
        }
        EXPECT_EQ(places, expected) << "rows of all parts, in their order";
    }
    // The bytes of a run on all engines together.
    std::uint64_t bytes_of_run() {
        EXPECT_EQ(load_columns(), ReplyResult::done);
        const std::uint64_t bytes = memory_used(kind_);
        client_.evict(run_name(1));
        return bytes;
    }

    const EngineName kind_;
    std::uint64_t limits_[protocol::engine_count] = {};
    std::mt19937_64 random_{20261128};
    column_test::ColumnRun run_;
    column_test::Pages pages_;
};

TEST_F(ColumnParts, EachEngineHasSome) {
    ASSERT_EQ(load_columns(), ReplyResult::done);
    const std::vector<protocol::MirrorRow> parts = parts_of(1);
    ASSERT_EQ(parts.size(), engines);
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i].part, i + 1);
        EXPECT_EQ(parts[i].parts, engines);
        rows += parts[i].entries;
    }
    EXPECT_EQ(rows, run_.rows());
    expect_found();
    run_.dead.assign(run_.rows(), false);
    std::vector<std::uint64_t> dead((run_.rows() + 63) / 64);
    for (std::size_t row = 0; row < run_.rows(); row += 3) {
        run_.dead[row] = true;
        dead[row / 64] |= std::uint64_t(1) << (row % 64);
    }
    ASSERT_EQ(Client::result_of(client_.set_dead(run_name(1), dead, 7)), ReplyResult::done);
    expect_found(7);
    EXPECT_EQ(Client::result_of(call(8).header), ReplyResult::stale);
    // It leaves with all of its parts.
    EXPECT_EQ(client_.evict(run_name(1)).mirrors, 1U);
    EXPECT_EQ(memory_used(EngineName::host), 0U);
}

TEST_F(ColumnParts, ARunIsLostWithAnyOfItsEngines) {
    limit(EngineName::host, bytes_of_run() * 7 / 10);
    ASSERT_EQ(load_columns(), ReplyResult::done);
    ASSERT_EQ(parts_of(1).size(), engines);
    lose(1);
    const protocol::ColumnReply lacking = call();
    ASSERT_EQ(Client::result_of(lacking.header), ReplyResult::not_resident);
    EXPECT_EQ(lacking.header.lacking, 1U);
    EXPECT_EQ(server_.given_up(), 0);
    // The two that are left have the room together, but one of them hasn't.
    ASSERT_EQ(load_columns(), ReplyResult::done);
    EXPECT_EQ(parts_of(1).size(), 2U);
    expect_found();
    lose(0);
    EXPECT_EQ(Client::result_of(call().header), ReplyResult::not_resident);
    EXPECT_NE(load_columns(), ReplyResult::done);
    // A load that finds no room leaves nothing behind.
    EXPECT_EQ(client_.list(Message::mirrors, 0, 65536).rows, 0U);
}

TEST_F(ColumnParts, WithoutMemoryForOnePartALoadFailsAsAWhole) {
    // So that nobody can make room.
    limit(EngineName::host, bytes_of_run() * 5 / 10);
    std::size_t failures = 0;
    for (std::uint32_t number = 0; number < engines; ++number) {
        for (const std::int64_t after : {0, 1, 2, 3}) {
            protocol::Inject request{};
            request.number = number;
            request.refuse_after = after;
            client_.call<protocol::ReplyHeader>(Message::inject, request);
            const ReplyResult loaded = load_columns();
            request.refuse_after = -1;
            client_.call<protocol::ReplyHeader>(Message::inject, request);
            if (loaded != ReplyResult::done) {
                ++failures;
                // A load that has begun ends with the connection.
                client_.disconnect();
                ASSERT_TRUE(client_.connect(server_.path()));
                client_.hello();
                ASSERT_EQ(Client::result_of(client_.attach(4 << 20)), ReplyResult::done);
                EXPECT_TRUE(wait_until([&] { return memory_used(EngineName::host) == 0; }));
                ASSERT_EQ(load_columns(), ReplyResult::done);
            }
            expect_found();
            client_.evict(run_name(1));
        }
    }
    EXPECT_GT(failures, 0U);
}

class ColumnPartsWithHost : public ColumnParts {
  protected:
    static Options two_devices() {
        Options options;
        options.emulated_devices = 2;
        options.testing = true;
        options.colocated_bytes = 0;
        return options;
    }
    ColumnPartsWithHost() : ColumnParts(two_devices(), EngineName::cuda) {}
};

TEST_F(ColumnPartsWithHost, ARunLargerThanTheDevicesIsDividedWithTheHost) {
    const std::uint64_t bytes = bytes_of_run();
    limit(EngineName::cuda, bytes * 2 / 5);
    limit(EngineName::host, bytes * 20);
    ASSERT_EQ(load_columns(), ReplyResult::done);
    const std::vector<protocol::MirrorRow> parts = parts_of(1);
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[2].device, -1);
    EXPECT_EQ(parts[0].entries + parts[1].entries + parts[2].entries, run_.rows());
    EXPECT_LT(memory_used(EngineName::cuda), 2 * (bytes * 2 / 5) * 9 / 10) << "questions take memory, too";
    expect_found();
    EXPECT_EQ(client_.evict(run_name(1)).mirrors, 1U);
    EXPECT_EQ(memory_used(EngineName::cuda) + memory_used(EngineName::host), 0U);
}

}  // namespace
