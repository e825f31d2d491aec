// Copies of runs of points that many ask at once, and batches of boxes and points that engines share.
#include "server_points.h"

namespace {

using namespace server_test;

class ServerGridCopies : public ServerOfPoints {
  protected:
    static gpu_engine::server::Options hosts(std::uint32_t count) {
        gpu_engine::server::Options options;
        options.host_engines = count;
        options.uses_devices = false;
        options.kept_together = std::uint64_t(1) << 30;
        options.testing = true;
        // Every request counts as one that meets others.
        options.crowd = 0;
        options.copied_after = 3;
        return options;
    }
    explicit ServerGridCopies(const gpu_engine::server::Options &options = hosts(2))
        : ServerOfPoints(EngineName::host, options) {}

    std::vector<protocol::MirrorRow> rows_of(std::uint64_t run) {
        std::vector<protocol::MirrorRow> rows;
        const auto reply = client_->list(Message::mirrors, 0, 65536);
        for (std::uint64_t i = 0; i < reply.rows; ++i) {
            const auto &row = client_->at<protocol::MirrorRow>(0)[i];
            if (row.name.run == run) {
                rows.push_back(row);
            }
        }
        return rows;
    }
    // Of a run's rows the first is the mirror, and the others are copies.
    std::uint64_t hits_of_copies(std::uint64_t runs) {
        std::uint64_t hits = 0;
        for (std::uint64_t run = 1; run <= runs; ++run) {
            const std::vector<protocol::MirrorRow> rows = rows_of(run);
            for (std::size_t i = 1; i < rows.size(); ++i) {
                hits += rows[i].hits;
            }
        }
        return hits;
    }
    void load_with_dead(std::uint64_t run, Points *points) {
        load(run, columns_, *points, 80);
        ASSERT_FALSE(HasFatalFailure());
        kill_some(run, points);
    }

    const Columns columns_ = {{false, true, true}, {0, 1, 1}};
};

TEST_F(ServerGridCopies, AreMadeWhereRequestsMeetOthersAndAnswer) {
    Points points = make_points(columns_, 4000, true, random_);
    load_with_dead(1, &points);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(rows_of(1).size(), 1U);
    check_all({points}, columns_);
    const std::vector<protocol::MirrorRow> rows = rows_of(1);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_NE(rows[0].device, rows[1].device);
    EXPECT_EQ(rows[1].entries, 4000U);
    EXPECT_EQ(rows[1].kind, static_cast<std::uint32_t>(protocol::RunKind::grid));
    EXPECT_EQ(client_->state().engines[0].loads, 1U);
    const std::uint64_t before = hits_of_copies(1);
    check_all({points}, columns_);
    EXPECT_GT(hits_of_copies(1), before + 4) << "they take turns";
}

TEST_F(ServerGridCopies, KnowTheDeadAndLeaveForALaterVersion) {
    std::vector<Points> runs = {make_points(columns_, 4000, true, random_),
                                make_points(columns_, 1, false, random_),
                                make_points(columns_, 0, false, random_)};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        load_with_dead(run + 1, &runs[run]);
        ASSERT_FALSE(HasFatalFailure());
    }
    check_all(runs, columns_);
    ASSERT_EQ(rows_of(1).size(), 2U);
    ASSERT_EQ(rows_of(2).size(), 2U);
    ASSERT_EQ(rows_of(3).size(), 2U);
    // Further ones die: who knows of them never gets an older copy's answer.
    const std::vector<std::uint64_t> all_dead((4000 + 63) / 64, ~std::uint64_t(0));
    runs[0].dead.assign(4000, true);
    ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(1), all_dead, 7)), Answer::done);
    protocol::SearchGrid request{};
    request.runs = 1;
    request.run[0] = {run_name(1), 7};
    request.results = results;
    request.capacity = buffer_bytes - results;
    for (int i = 0; i < 10; ++i) {
        request.boxes = place_boxes(make_boxes(runs[0], 30, random_));
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_grid, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done);
        EXPECT_EQ(reply.tids, 0U);
    }
    // By now there is a copy of the later version.
    EXPECT_EQ(rows_of(1).size(), 2U);
}

TEST_F(ServerGridCopies, LeaveWithTheirEngine) {
    Points points = make_points(columns_, 2000, true, random_);
    load_with_dead(1, &points);
    ASSERT_FALSE(HasFatalFailure());
    check_all({points}, columns_);
    ASSERT_EQ(rows_of(1).size(), 2U);
    protocol::Inject request{};
    request.number = static_cast<std::uint32_t>(rows_of(1)[1].device);
    request.loses = protocol::lose_engine;
    ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::inject, request)), Answer::done);
    // The first that meets the lost engine asks again.
    protocol::SearchGrid search{};
    name_runs(&search, 1);
    search.boxes = place_boxes(make_boxes(points, 1, random_));
    search.results = results;
    search.capacity = buffer_bytes - results;
    int refused = 0;
    for (int i = 0; i < 10; ++i) {
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_grid, search);
        refused += Client::answer_of(reply.header) == Answer::done ? 0 : 1;
    }
    EXPECT_LE(refused, 1);
    check_all({points}, columns_);
    EXPECT_EQ(rows_of(1).size(), 1U);
}

// What the copy takes is given back wherever memory ends, and the question is answered all the same.
TEST_F(ServerGridCopies, WithoutMemoryThereAreNone) {
    const Points points = make_points(columns_, 2000, true, random_);
    load(1, columns_, points, 80);
    ASSERT_FALSE(HasFatalFailure());
    const auto target = static_cast<std::uint32_t>(1 - rows_of(1)[0].device);
    const std::uint64_t used = client_->list(Message::mirrors, 0, 65536).memory_used[0];
    protocol::SearchGrid search{};
    search.runs = 1;
    search.run[0].name = run_name(1);
    search.boxes = place_boxes(make_boxes(points, 1, random_));
    search.results = results;
    search.capacity = buffer_bytes - results;
    std::size_t refusals = 0;
    for (std::int64_t after = 0; after < 100; ++after) {
        protocol::Inject request{};
        request.number = target;
        request.refuse_after = after;
        client_->ask<protocol::ReplyHeader>(Message::inject, request);
        for (int i = 0; i < 3; ++i) {
            const auto reply = client_->ask<protocol::ResultReply>(Message::search_grid, search);
            ASSERT_EQ(Client::answer_of(reply.header), Answer::done);
        }
        request.refuse_after = -1;
        client_->ask<protocol::ReplyHeader>(Message::inject, request);
        if (rows_of(1).size() == 2) {
            break;
        }
        ++refusals;
        EXPECT_EQ(client_->list(Message::mirrors, 0, 65536).memory_used[0], used);
        search.boxes = place_boxes(make_boxes(points, 1, random_));
    }
    EXPECT_GT(refusals, 5U);
    EXPECT_EQ(rows_of(1).size(), 2U);
    client_->evict(run_name(1));
    EXPECT_EQ(client_->list(Message::mirrors, 0, 65536).memory_used[0], 0U);
}

// ---- what another kind of engine has ----------------------------------------------------------------------

class ServerGridCopiesOfOverflow : public ServerOfPoints {
  protected:
    static gpu_engine::server::Options stand_ins() {
        gpu_engine::server::Options options;
        options.stand_ins = 2;
        options.testing = true;
        options.crowd = 0;
        options.copied_after = 1;
        return options;
    }
    ServerGridCopiesOfOverflow() : ServerOfPoints(EngineName::cuda, stand_ins()) {}

    void limit_devices(std::uint64_t bytes) {
        protocol::Configure request{};
        request.memory_limit[static_cast<std::size_t>(EngineName::cuda)] = bytes;
        ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::configure, request)),
                  Answer::done);
    }
};

TEST_F(ServerGridCopiesOfOverflow, AreNotMadeOfAnotherKindsFiles) {
    const Columns columns = {{false, true}, {0, 1}};
    std::vector<Points> runs = {make_points(columns, 2000, true, random_)};
    limit_devices(20000);
    load(1, columns, runs[0], 80);
    ASSERT_FALSE(HasFatalFailure());
    limit_devices(std::uint64_t(1) << 30);
    kill_some(1, &runs[0]);
    check_all(runs, columns);
    const auto reply = client_->list(Message::mirrors, 0, 65536);
    ASSERT_EQ(reply.rows, 1U);
    EXPECT_EQ(client_->at<protocol::MirrorRow>(0)->device, -1);
}

// ---- large batches ----------------------------------------------------------------------------------------

// Three engines have the same runs and share the boxes of batches.
class ServerGridSharedItems : public ServerGridCopies {
  protected:
    static gpu_engine::server::Options sharing() {
        gpu_engine::server::Options options = hosts(3);
        options.crowd = 1000;
        options.copied_after = 1;
        options.shared_items = 50;
        return options;
    }
    ServerGridSharedItems() : ServerGridCopies(sharing()) {}
};

TEST_F(ServerGridSharedItems, AnswersAreThoseOfAReference) {
    std::vector<Points> runs = {make_points(columns_, 3000, true, random_),
                                make_points(columns_, 0, false, random_),
                                make_points(columns_, 1, true, random_)};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        load_with_dead(run + 1, &runs[run]);
        ASSERT_FALSE(HasFatalFailure());
    }
    // Large batches have copies made, one engine after the other.
    for (int i = 0; i < 2; ++i) {
        check_count(runs, make_boxes(runs[0], 64, random_), true);
        ASSERT_FALSE(HasFatalFailure());
    }
    for (std::size_t run = 1; run <= runs.size(); ++run) {
        ASSERT_EQ(rows_of(run).size(), 3U);
    }
    // Few more than are shared out, so that an engine gets hardly any, or none.
    for (const std::size_t items : {49, 50, 64, 65, 128, 129, 192, 193, 300}) {
        SCOPED_TRACE(items);
        const std::uint64_t before = hits_of_copies(runs.size());
        Boxes boxes = make_boxes(runs[0], items, random_);
        if (items % 2 == 0) {
            // A column that is open in all boxes has no bounds.
            for (std::uint8_t &open : boxes.open) {
                open |= 2;
            }
        }
        check_search(runs, boxes);
        check_count(runs, boxes, true);
        check_count(runs, boxes, false);
        check_match(runs, columns_, items);
        ASSERT_FALSE(HasFatalFailure());
        if (items >= 50) {
            EXPECT_GE(hits_of_copies(runs.size()) - before, 4 * 2 * runs.size()) << "both copies of each run";
        }
    }
}

}  // namespace
