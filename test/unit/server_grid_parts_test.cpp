// Runs of points whose entries lie in parts on several engines: where one alone has too little room, together
// with the host's, and when they move.
#include <set>

#include "server_points.h"

namespace {

using namespace server_test;

class ServerGridParts : public ServerOfPoints {
  protected:
    ServerGridParts(EngineName kind, const gpu_engine::server::Options &options)
        : ServerOfPoints(kind, options) {}

    static constexpr std::size_t entries = 5000;

    void limit(std::uint64_t device, std::uint64_t host) {
        protocol::Configure request{};
        request.memory_limit[static_cast<std::size_t>(EngineName::cuda)] = device;
        request.memory_limit[static_cast<std::size_t>(EngineName::host)] = host;
        ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::configure, request)),
                  Answer::done);
    }
    std::uint64_t memory_used() {
        const auto reply = client_->list(Message::mirrors, 0, 65536);
        return reply.memory_used[0] + reply.memory_used[1];
    }
    // The run's rows, in the order of its parts.
    std::vector<protocol::MirrorRow> parts_of(std::uint64_t run) {
        std::vector<protocol::MirrorRow> parts;
        const auto reply = client_->list(Message::mirrors, 0, 65536);
        for (std::uint64_t i = 0; i < reply.rows; ++i) {
            const auto &row = client_->at<protocol::MirrorRow>(0)[i];
            if (row.name.run == run) {
                parts.push_back(row);
            }
        }
        return parts;
    }
    std::set<std::int32_t> devices_of(std::uint64_t run) {
        std::set<std::int32_t> devices;
        for (const protocol::MirrorRow &part : parts_of(run)) {
            devices.insert(part.device);
        }
        return devices;
    }
    void inject(std::uint32_t number, std::int64_t after) {
        protocol::Inject request{};
        request.number = number;
        request.refuse_after = after;
        client_->ask<protocol::ReplyHeader>(Message::inject, request);
    }
    // Loads it and has entries of all parts die.
    void load_with_dead(std::uint64_t run, Points *points) {
        load(run, columns_, *points, 80);
        ASSERT_FALSE(HasFatalFailure());
        kill_some(run, points);
    }
    protocol::ResultReply count_all(std::uint64_t run) {
        Boxes boxes(points_);
        for (std::uint32_t c = 0; c < points_.columns(); ++c) {
            boxes.low[c].push(0);
            boxes.high[c].push(0);
        }
        boxes.open.push_back(0xff);
        boxes.null.push_back(0);
        protocol::CountGrid request{};
        request.runs = 1;
        request.run[0].name = run_name(run);
        request.boxes = place_boxes(boxes);
        request.blocks.all_visible = 1;
        request.results = results;
        request.capacity = 65536;
        return client_->ask<protocol::ResultReply>(Message::count_grid, request);
    }
    std::uint64_t counted() { return *client_->at<std::uint64_t>(results); }

    const Columns columns_ = {{false, true}, {0, 1}};
    Points points_ = make_points(columns_, entries, true, random_);
};

class ServerGridPartsOfThree : public ServerGridParts {
  protected:
    static gpu_engine::server::Options three_hosts() {
        gpu_engine::server::Options options;
        options.host_engines = 3;
        options.uses_devices = false;
        options.testing = true;
        return options;
    }
    ServerGridPartsOfThree() : ServerGridParts(EngineName::host, three_hosts()) {}

    // So little that no engine could hold the run.
    static constexpr std::uint64_t little = 150000;
};

TEST_F(ServerGridPartsOfThree, ARunThatFitsStaysWhole) {
    load(1, columns_, points_, 80);
    EXPECT_EQ(parts_of(1).size(), 1U);
}

TEST_F(ServerGridPartsOfThree, ARunThatNoEngineCouldHoldIsDivided) {
    limit(0, little);
    load_with_dead(1, &points_);
    ASSERT_FALSE(HasFatalFailure());
    const std::vector<protocol::MirrorRow> parts = parts_of(1);
    ASSERT_EQ(parts.size(), 3U);
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i].part, i + 1);
        EXPECT_EQ(parts[i].parts, 3U);
        EXPECT_EQ(parts[i].kind, static_cast<std::uint32_t>(protocol::RunKind::grid));
        // Parts begin with whole words of the dead bitmap.
        EXPECT_EQ(sum % 64, 0U);
        sum += parts[i].entries;
    }
    EXPECT_EQ(sum, entries);
    EXPECT_EQ(devices_of(1).size(), 3U);
    limit(0, 0);
    check_all({points_}, columns_);
    // An older bitmap than is asked for.
    protocol::CountGrid request{};
    request.runs = 1;
    request.run[0] = {run_name(1), 2};
    request.boxes = place_boxes(make_boxes(points_, 1, random_));
    request.results = results;
    request.capacity = 65536;
    request.blocks.all_visible = 1;
    EXPECT_EQ(Client::answer_of(client_->ask<protocol::ResultReply>(Message::count_grid, request).header),
              Answer::stale);
    // No bitmap: none is dead.
    ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(1), {}, 2)), Answer::done);
    ASSERT_EQ(Client::answer_of(count_all(1).header), Answer::done);
    EXPECT_EQ(counted(), entries);
    EXPECT_EQ(client_->evict(run_name(1)).mirrors, 1U);
    EXPECT_EQ(memory_used(), 0U);
}

// With hardly more memory than parts must have to be begun, building them succeeds, also where all points lie
// in crowded cells, which get grids of their own.
TEST_F(ServerGridPartsOfThree, WhatIsBegunInPartsIsBuilt) {
    for (const Columns &columns :
         {Columns{{false}, {0}}, Columns{{false, true}, {0, 1}},
          Columns{{true, true, true, true, true, true, true, true}, {0, 0, 1, 1, 2, 2, 3, 3}}}) {
        for (const bool is_crowded : {false, true}) {
            SCOPED_TRACE(std::to_string(columns.wide.size()) +
                         (is_crowded ? " columns, crowded" : " columns"));
            Points points = make_points(columns, entries, false, random_);
            for (std::uint32_t c = 0; is_crowded && c < points.columns(); ++c) {
                points.keys[c] = Keys(columns.wide[c]);
                for (std::size_t i = 0; i < entries; ++i) {
                    points.keys[c].push(random_() % 9 == 0 ? random_() : random_() % 50);
                }
            }
            std::uint64_t handle = 0;
            for (std::uint64_t bytes = 10000; handle == 0; bytes += bytes / 32) {
                ASSERT_LT(bytes, std::uint64_t(1) << 30);
                limit(0, bytes);
                handle =
                    client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns, entries))
                        .handle;
            }
            ASSERT_EQ(Client::answer_of(append(handle, make_pages(points, columns.null_bit, 60, random_))),
                      Answer::done);
            const auto finished = client_->finish(handle);
            ASSERT_EQ(Client::answer_of(finished.header), Answer::done) << finished.header.status.message;
            EXPECT_EQ(parts_of(1).size(), 3U);
            limit(0, 0);
            points.dead.assign(entries, false);
            ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(1), {}, 1)), Answer::done);
            check_all({points}, columns);
            ASSERT_FALSE(HasFatalFailure());
            client_->evict(run_name(1));
        }
    }
}

// One run in parts, others whole, and all of them in one question.
TEST_F(ServerGridPartsOfThree, RunsInPartsAndWholeOnesAnswerTogether) {
    limit(0, little);
    client_->purpose = 7;
    std::vector<Points> runs = {points_, make_points(columns_, 1, false, random_),
                                make_points(columns_, 0, false, random_),
                                make_points(columns_, 300, true, random_)};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        load_with_dead(run + 1, &runs[run]);
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(parts_of(run + 1).size(), run == 0 ? 3U : 1U);
    }
    limit(0, 0);
    check_all(runs, columns_);
}

TEST_F(ServerGridPartsOfThree, PagesThatContradictTheirRunAreRefused) {
    limit(0, little);
    const std::vector<Page> pages = make_pages(points_, columns_.null_bit, 100, random_);
    const auto refused = [&](const std::vector<std::vector<Page>> &requests) {
        const auto begun =
            client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns_, entries));
        EXPECT_NE(begun.handle, 0U) << begun.header.status.message;
        StatusCode code = StatusCode::ok;
        for (const std::vector<Page> &request : requests) {
            EXPECT_EQ(code, StatusCode::ok) << "only the last is wrong";
            code = append(begun.handle, request).status.code;
        }
        EXPECT_EQ(code, StatusCode::invalid_argument);
        // Nothing that comes now makes a run of it.
        append(begun.handle, pages);
        const bool is_refused = client_->finish(begun.handle).header.status.code != StatusCode::ok;
        EXPECT_EQ(memory_used(), 0U);
        return is_refused && code == StatusCode::invalid_argument;
    };
    const std::vector<Page> first(pages.begin(), pages.begin() + 9);
    const std::vector<Page> rest(pages.begin() + 9, pages.end());
    EXPECT_TRUE(refused({rest})) << "the first pages are missing";
    EXPECT_TRUE(refused({first, first})) << "pages twice";
    EXPECT_TRUE(refused({first, {pages.begin() + 10, pages.end()}})) << "a page is missing";
    std::vector<Page> too_many = rest;
    too_many.push_back(make_page(entries, values_of(points_, columns_.null_bit, 0, 1)));
    EXPECT_TRUE(refused({first, too_many})) << "more entries than it was begun with";
    // In each part a page that only its loader looks into.
    for (const std::size_t page : {std::size_t(1), pages.size() / 2, pages.size() - 2}) {
        std::vector<Page> damaged = pages;
        damaged[page][grid_test::first_byte + 16 + 5 * 8 + 3] = 65;
        EXPECT_TRUE(refused({damaged})) << "a width beyond 64 bits on page " << page;
        damaged = pages;
        damaged[page][grid_test::first_byte + 10] = 4;
        EXPECT_TRUE(refused({damaged})) << "an array less on page " << page;
    }
    // Layouts in which a page has no head.
    const auto begun =
        client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns_, entries));
    for (const gpu_engine::PageLayout &layout :
         {gpu_engine::PageLayout{0, 0, 0, 0}, gpu_engine::PageLayout{8192, 8192, 0, 0},
          gpu_engine::PageLayout{8192, 8200, 0, 0}, gpu_engine::PageLayout{8192, UINT32_MAX - 7, 0, 0},
          gpu_engine::PageLayout{8192, 8184, 0, 0}}) {
        protocol::AppendPages bad{};
        bad.handle = begun.handle;
        bad.pages = layout.page_bytes == 0 ? UINT32_MAX : 1;
        bad.layout = layout;
        EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_pages, bad).status.code,
                  StatusCode::invalid_argument);
    }
    // Entries without pages are for sorted runs.
    protocol::AppendKary sorted{};
    sorted.handle = begun.handle;
    sorted.count = 1;
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_kary, sorted).status.code,
              StatusCode::invalid_argument);
    // What has been begun is the connection's to drop.
    EXPECT_EQ(Client::answer_of(client_->drop(begun.handle)), Answer::done);
    EXPECT_EQ(memory_used(), 0U);
    load_with_dead(1, &points_);
    ASSERT_FALSE(HasFatalFailure());
    limit(0, 0);
    check_all({points_}, columns_);
}

TEST_F(ServerGridPartsOfThree, WithoutMemoryInOnePartALoadFailsAsAWhole) {
    limit(0, little);
    const std::vector<Page> pages = make_pages(points_, columns_.null_bit, 80, random_);
    std::size_t failures = 0;
    for (std::uint32_t number = 0; number < 3; ++number) {
        for (std::int64_t after = 0; after < 24; ++after) {
            inject(number, after);
            const auto begun =
                client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns_, entries));
            const bool is_loaded = begun.handle != 0 &&
                                   Client::answer_of(append(begun.handle, pages)) == Answer::done &&
                                   Client::answer_of(client_->finish(begun.handle).header) == Answer::done;
            inject(number, -1);
            if (!is_loaded) {
                ++failures;
                // What has been begun ends with the connection, at any point.
                client_->disconnect();
                ASSERT_TRUE(client_->connect(server_.path()));
                client_->hello();
                ASSERT_EQ(Client::answer_of(client_->attach(buffer_bytes)), Answer::done);
                EXPECT_TRUE(wait_until([&] { return memory_used() == 0; }));
                load(1, columns_, points_, 80);
                ASSERT_FALSE(HasFatalFailure());
            }
            ASSERT_EQ(parts_of(1).size(), 3U);
            ASSERT_EQ(Client::answer_of(count_all(1).header), Answer::done);
            EXPECT_EQ(counted(), entries);
            client_->evict(run_name(1));
            EXPECT_EQ(memory_used(), 0U);
        }
    }
    EXPECT_GT(failures, 8U);
}

TEST_F(ServerGridPartsOfThree, ARunInPartsIsLostWithAnyOfItsEngines) {
    limit(0, little * 13 / 10);
    load(1, columns_, points_, 80);
    ASSERT_EQ(parts_of(1).size(), 3U);
    protocol::Inject request{};
    request.number = 1;
    request.loses = protocol::lose_engine;
    ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::inject, request)), Answer::done);
    const protocol::ResultReply lacking = count_all(1);
    ASSERT_EQ(Client::answer_of(lacking.header), Answer::not_resident);
    EXPECT_EQ(lacking.header.lacking, 1U);
    load(1, columns_, points_, 80);
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{0, 2}));
    ASSERT_EQ(Client::answer_of(count_all(1).header), Answer::done);
    EXPECT_EQ(counted(), entries);
}

// ---- devices and host -------------------------------------------------------------------------------------

class ServerGridPartsWithHost : public ServerGridParts {
  protected:
    static gpu_engine::server::Options two_stand_ins() {
        gpu_engine::server::Options options;
        options.stand_ins = 2;
        options.testing = true;
        options.move_microseconds = 0;
        return options;
    }
    ServerGridPartsWithHost() : ServerGridParts(EngineName::cuda, two_stand_ins()) {}

    static constexpr std::uint64_t little = 120000;
    static constexpr std::uint64_t plenty = std::uint64_t(1) << 30;
    static constexpr std::int32_t on_host = -1;
};

TEST_F(ServerGridPartsWithHost, TheHostHasTheRest) {
    limit(little, plenty);
    // What fits the host lies there as a whole: a question about points doesn't look at all of them.
    load_with_dead(1, &points_);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{on_host}));
    check_all({points_}, columns_);
    ASSERT_FALSE(HasFatalFailure());
    client_->evict(run_name(1));

    // An eighth of the host's limit is left for questions.
    limit(little, little * 12 / 7);
    load_with_dead(1, &points_);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{on_host, 0, 1}));
    EXPECT_EQ(parts_of(1).back().device, on_host);
    limit(plenty, plenty);
    check_all({points_}, columns_);
    ASSERT_FALSE(HasFatalFailure());
    client_->evict(run_name(1));
    EXPECT_EQ(memory_used(), 0U);
}

TEST_F(ServerGridPartsWithHost, WhatTheHostHasGoesToTheDevicesInParts) {
    limit(little, plenty);
    load_with_dead(1, &points_);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(devices_of(1), (std::set<std::int32_t>{on_host}));
    // A file has fewer bytes than making it takes, so that a session may ask in vain.
    EXPECT_EQ(client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(1, columns_, entries)).handle,
              0U);
    // Enough for each half of the run, and for what questions take, but not for the whole of it.
    limit(little * 19 / 10, plenty);
    const protocol::ResultReply reply = count_all(1);
    ASSERT_EQ(Client::answer_of(reply.header), Answer::done);
    EXPECT_EQ(reply.header.lacking, 1U);
    load(1, columns_, points_, 80);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{0, 1}));
    // The new mirror knows no dead entries yet.
    protocol::CountGrid request{};
    request.runs = 1;
    request.run[0] = {run_name(1), 1};
    request.boxes = place_boxes(make_boxes(points_, 1, random_));
    request.results = results;
    request.capacity = 65536;
    EXPECT_EQ(Client::answer_of(client_->ask<protocol::ResultReply>(Message::count_grid, request).header),
              Answer::stale);
    kill_some(1, &points_);
    limit(plenty, plenty);
    check_all({points_}, columns_);
    EXPECT_EQ(count_all(1).header.lacking, 0U);
}

}  // namespace
