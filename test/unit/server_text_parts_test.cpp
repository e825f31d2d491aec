// Runs of inverted lists whose documents lie in parts on several engines: where one alone has too little
// room, together with the host's, and when they move.
#include <set>

#include "server_checks.h"
#include "server_text.h"

namespace {

using namespace server_test;

class ServerTextParts : public ServerText {
  protected:
    explicit ServerTextParts(const gpu_engine::server::Options &options) : ServerText(options) {}

    static constexpr std::uint32_t documents = 20000;

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
    std::uint64_t on_the_way() { return server_->transfer_memory().used() - buffer_bytes; }
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
    void load_with_dead(std::uint64_t number, TextRun *run) {
        load(number, *run);
        ASSERT_FALSE(HasFatalFailure());
        kill_some(number, run);
    }
    void check_all(const std::vector<TextRun> &runs) {
        for (const std::size_t queries : {1U, 40U}) {
            check_search(runs, make_question(runs, queries));
            ASSERT_FALSE(HasFatalFailure());
        }
        check_lists(runs);
    }

    TextRun run_ = make_text_run(postings::Codec::PForDelta, documents, random_);
};

class ServerTextPartsOfThree : public ServerTextParts {
  protected:
    static gpu_engine::server::Options three_hosts() {
        gpu_engine::server::Options options;
        options.host_engines = 3;
        options.uses_devices = false;
        options.testing = true;
        return options;
    }
    ServerTextPartsOfThree() : ServerTextParts(three_hosts()) {}

    // So little that no engine could hold the run.
    static constexpr std::uint64_t little = 150000;
};

TEST_P(ServerTextPartsOfThree, ARunThatFitsStaysWhole) {
    load(1, run_);
    EXPECT_EQ(parts_of(1).size(), 1U);
}

TEST_P(ServerTextPartsOfThree, ARunThatNoEngineCouldHoldIsDivided) {
    for (const postings::Codec codec :
         {postings::Codec::Bitpack, postings::Codec::PForDelta, postings::Codec::Rice}) {
        run_ = make_text_run(codec, documents, random_);
        limit(0, little);
        load_with_dead(1, &run_);
        ASSERT_FALSE(HasFatalFailure());
        const std::vector<protocol::MirrorRow> parts = parts_of(1);
        ASSERT_EQ(parts.size(), 3U);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            EXPECT_EQ(parts[i].part, i + 1);
            EXPECT_EQ(parts[i].parts, 3U);
            EXPECT_EQ(parts[i].kind, static_cast<std::uint32_t>(protocol::RunKind::text));
            EXPECT_LE(parts[i].bytes, little);
            // Parts begin with whole words of the dead bitmap.
            EXPECT_EQ(sum % 64, 0U);
            sum += parts[i].entries;
        }
        EXPECT_EQ(sum, documents);
        EXPECT_EQ(devices_of(1).size(), 3U);
        EXPECT_EQ(on_the_way(), 0U);
        limit(0, 0);
        check_all({run_});
        ASSERT_FALSE(HasFatalFailure());
        // An older bitmap than is asked for.
        protocol::SearchText request = place(make_question({run_}, 1));
        request.run[0].dead_version = 2;
        EXPECT_EQ(
            Client::answer_of(client_->ask<protocol::ResultReply>(Message::search_text, request).header),
            Answer::stale);
        // No bitmap: none is dead.
        ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(1), {}, 2)), Answer::done);
        run_.dead.clear();
        check_all({run_});
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(client_->evict(run_name(1)).mirrors, 1U);
        EXPECT_EQ(memory_used(), 0U) << "nor what says where lists lie";
    }
}

// One run in parts, others whole, and all of them in one question.
TEST_P(ServerTextPartsOfThree, RunsInPartsAndWholeOnesAnswerTogether) {
    limit(0, little);
    client_->purpose = 7;
    std::vector<TextRun> runs = {run_, make_text_run(postings::Codec::Rice, 3, random_),
                                 make_text_run(postings::Codec::Bitpack, 200, random_),
                                 make_text_run(postings::Codec::PForDelta, 905, random_)};
    for (std::size_t run = 0; run < runs.size(); ++run) {
        load_with_dead(run + 1, &runs[run]);
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_EQ(parts_of(run + 1).size(), run == 0 ? 3U : 1U);
    }
    limit(0, 0);
    for (int round = 0; round < 4; ++round) {
        check_all(runs);
        ASSERT_FALSE(HasFatalFailure());
    }
}

class ServerTextPartsOfAll : public ServerTextParts {
  protected:
    static gpu_engine::server::Options dividing_all() {
        gpu_engine::server::Options options;
        options.host_engines = 3;
        options.uses_devices = false;
        options.kept_together = 0;
        options.divides_all = true;
        return options;
    }
    ServerTextPartsOfAll() : ServerTextParts(dividing_all()) {}
};

// Lists that begin, end, or have a block's end at any place where an edge could be, and lists of one
// document.
TEST_P(ServerTextPartsOfAll, ListsEndAndBeginAtEdges) {
    for (const std::uint32_t count : {64U * 9, 64U * 9 + 1, 64U * 10 - 1}) {
        for (const postings::Codec codec :
             {postings::Codec::Bitpack, postings::Codec::PForDelta, postings::Codec::Rice}) {
            TextRun run(codec, count);
            const auto add = [&](std::uint32_t first, std::uint32_t end, std::uint32_t step) {
                Postings list;
                for (std::uint32_t i = first; i < std::min(end, count); i += step) {
                    list.push_back({i, 1 + i % 7});
                }
                if (!list.empty()) {
                    run.add(list);
                }
            };
            add(0, count, 1);
            add(0, 1, 1);
            add(count - 1, count, 1);
            run.add({{0, 3}, {count - 1, 4}});
            for (std::uint32_t edge = 64; edge < count; edge += 64) {
                add(edge - 1, edge, 1);
                add(edge, edge + 1, 1);
                add(edge - 1, edge + 1, 1);
                add(0, edge, 1);
                add(0, edge + 1, 1);
                add(edge, count, 1);
                add(edge - 1, count, 1);
                add(edge < 128 ? 0 : edge - 128, edge, 1);
                add(edge - 1, edge + 130, 1);
                add(edge - 64, edge + 64, 3);
            }
            load_with_dead(1, &run);
            ASSERT_FALSE(HasFatalFailure());
            EXPECT_EQ(parts_of(1).size(), 3U);
            for (int round = 0; round < 3; ++round) {
                check_all({run});
                ASSERT_FALSE(HasFatalFailure());
            }
            // Each list alone, and with each neighbour.
            for (std::size_t i = 0; i + 1 < run.lists(); ++i) {
                for (const std::vector<TextList> &lists :
                     {std::vector<TextList>{run.list(i)}, {run.list(i), run.list(i + 1)}}) {
                    const auto found = client_->ask<protocol::ResultReply>(
                        Message::intersect_text, place_lists<protocol::IntersectText>({lists}));
                    ASSERT_EQ(Client::answer_of(found.header), Answer::done) << found.header.status.message;
                    const std::vector<std::uint32_t> expected = run.intersect(lists);
                    ASSERT_EQ(client_->at<std::uint64_t>(found.offsets_at[0])[1], expected.size());
                    for (std::size_t j = 0; j < expected.size(); ++j) {
                        ASSERT_EQ(client_->at<Tid>(found.tids_at[0])[j], run.tids[expected[j]]);
                    }
                }
            }
            client_->evict(run_name(1));
        }
    }
}

// Parts are of as many bytes, not of as many documents.
TEST_P(ServerTextPartsOfThree, LongDocumentsAreSharedOutAsMuchAsShortOnes) {
    TextRun run(postings::Codec::Bitpack, documents);
    const std::uint32_t first_long = documents - documents / 8;
    for (std::uint32_t i = 0; i < documents; ++i) {
        run.lengths[i] = i < first_long ? 1 : 400;
    }
    for (std::uint32_t list = 0; list < 40; ++list) {
        Postings some;
        for (std::uint32_t i = first_long + list; i < documents; i += 1 + random_() % 3) {
            some.push_back({i, 1 + i % 5});
        }
        run.add(some);
    }
    // Three engines have room for it only where each has a third of the lists.
    limit(0, run.shape().posting_bytes * 45 / 100 + documents * 6);
    load_with_dead(1, &run);
    ASSERT_FALSE(HasFatalFailure());
    const std::vector<protocol::MirrorRow> parts = parts_of(1);
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_GT(parts[0].entries, 2 * parts[2].entries);
    for (const protocol::MirrorRow &part : parts) {
        EXPECT_GT(part.bytes, run.shape().posting_bytes / 5);
    }
    limit(0, 0);
    check_all({run});
}

TEST_P(ServerTextPartsOfThree, WhatContradictsItsRunIsRefused) {
    limit(0, little);
    const std::vector<TextList> lists = lists_of(run_);
    const TextImages pages = pages_of(run_);
    const auto begin = [&] {
        const auto begun = client_->ask<protocol::BeginReply>(Message::begin_text, beginning(1, run_));
        EXPECT_NE(begun.handle, 0U) << begun.header.status.message;
        EXPECT_EQ(begun.is_divided, 1U);
        return begun.handle;
    };
    // Nothing that comes now makes a run of it.
    const auto ends_refused = [&](std::uint64_t handle) {
        append_all(handle, pages);
        append_all(handle, pages);
        const bool is_refused = client_->finish(handle).header.status.code == StatusCode::invalid_argument;
        EXPECT_EQ(memory_used(), 0U);
        EXPECT_EQ(on_the_way(), 0U);
        return is_refused;
    };
    const auto refused_lists = [&](auto change) {
        std::vector<TextList> wrong = lists;
        change(wrong);
        const std::uint64_t handle = begin();
        bool is_refused =
            append_lists(handle, wrong, 0, wrong.size()).status.code == StatusCode::invalid_argument;
        // What is wrong in itself is found when pages come.
        is_refused = is_refused || append_all(handle, pages).status.code == StatusCode::invalid_argument;
        client_->drop(handle);
        EXPECT_EQ(memory_used(), 0U);
        EXPECT_EQ(on_the_way(), 0U);
        return is_refused;
    };
    EXPECT_TRUE(refused_lists([](auto &wrong) { std::swap(wrong[1], wrong[2]); }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong.push_back(wrong.back()); }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong[1].documents = 1; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong[1].documents = documents + 1; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong[1].documents--; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong[1].bytes--; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong[1].bytes++; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong[1].bytes = 1; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong.back().bytes = UINT64_MAX; }));
    EXPECT_TRUE(refused_lists([](auto &wrong) { wrong.back().offset = UINT64_MAX - 1; }));
    protocol::AppendLists outside{};
    outside.handle = begin();
    outside.offset = buffer_bytes - 16;
    outside.count = 1;
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_lists, outside).status.code,
              StatusCode::invalid_argument);
    outside.count = UINT64_MAX;
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_lists, outside).status.code,
              StatusCode::invalid_argument);
    client_->drop(outside.handle);
    EXPECT_TRUE(ends_refused(outside.handle)) << "there is no such handle any more";

    std::uint64_t handle = begin();
    append_lists(handle, lists, 0, lists.size());
    ASSERT_TRUE(append(handle, pages, 0, 3).status.ok());
    EXPECT_EQ(append_lists(handle, lists, 0, 1).status.code, StatusCode::invalid_argument) << "too late";
    EXPECT_EQ(append(handle, pages, 4, 3).status.code, StatusCode::invalid_argument) << "a page is missing";
    EXPECT_TRUE(ends_refused(handle));
    handle = begin();
    append_lists(handle, lists, 0, lists.size());
    EXPECT_EQ(client_->finish(handle).header.status.code, StatusCode::invalid_argument) << "no pages";
    handle = begin();
    append_lists(handle, lists, 0, lists.size());
    ASSERT_TRUE(append_all(handle, pages).status.ok());
    EXPECT_EQ(client_->finish(handle).header.status.code, StatusCode::invalid_argument) << "pages only once";
    EXPECT_EQ(memory_used(), 0U);

    // Other pages the second time: of lists, of TIDs.
    TextRun other = make_text_run(postings::Codec::PForDelta, documents, random_);
    other.bytes().resize(run_.shape().posting_bytes);
    TextImages descending = pages;
    std::swap_ranges(descending.begin() + text_test::first_byte,
                     descending.begin() + text_test::first_byte + 6,
                     descending.begin() + text_test::first_byte + 600);
    for (const TextImages &wrong : {pages_of(other), descending}) {
        handle = begin();
        append_lists(handle, lists, 0, lists.size());
        ASSERT_TRUE(append_all(handle, pages).status.ok());
        EXPECT_EQ(append_all(handle, wrong).status.code, StatusCode::invalid_argument);
        EXPECT_TRUE(ends_refused(handle));
    }
    // Damaged lists.
    for (int round = 0; round < 20; ++round) {
        TextRun lying = run_;
        lying.bytes()[random_() % lying.bytes().size()] ^= static_cast<std::uint8_t>(1 << random_() % 8);
        const gpu_engine::Status status = try_load(1, lying);
        EXPECT_TRUE(status.ok() || status.code == StatusCode::invalid_argument) << status.message;
        client_->evict(run_name(1));
        EXPECT_EQ(memory_used(), 0U);
        EXPECT_EQ(on_the_way(), 0U);
    }
    // For other kinds and for whole runs there are no lists to come.
    limit(0, 0);
    const auto whole = client_->ask<protocol::BeginReply>(Message::begin_text, beginning(1, run_));
    EXPECT_EQ(whole.is_divided, 0U);
    EXPECT_EQ(append_lists(whole.handle, lists, 0, 1).status.code, StatusCode::invalid_argument);
    client_->drop(whole.handle);
    limit(0, little);
    handle = begin();
    protocol::AppendKary sorted{};
    sorted.handle = handle;
    sorted.count = 1;
    EXPECT_EQ(client_->ask<protocol::ReplyHeader>(Message::append_kary, sorted).status.code,
              StatusCode::invalid_argument);
    client_->drop(handle);
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    limit(0, 0);
    check_all({run_});
}

TEST_P(ServerTextPartsOfThree, ListsThatTheRunHasNotAreRefused) {
    limit(0, little);
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    limit(0, 0);
    const auto code_of = [&](TextList list) {
        const auto counted = client_->ask<protocol::ResultReply>(
            Message::count_text, place_lists<protocol::CountText>({{run_.list(0), list}}));
        const auto found = client_->ask<protocol::ResultReply>(
            Message::intersect_text, place_lists<protocol::IntersectText>({{run_.list(0), list}}));
        EXPECT_EQ(counted.header.status.code, found.header.status.code);
        return found.header.status.code;
    };
    TextList list = run_.list(1);
    EXPECT_EQ(code_of(list), StatusCode::ok);
    for (const auto change : std::initializer_list<void (*)(TextList &)>{
             [](TextList &wrong) { wrong.offset++; }, [](TextList &wrong) { wrong.bytes--; },
             [](TextList &wrong) { wrong.documents++; }, [](TextList &wrong) { wrong.documents = 0; },
             [](TextList &wrong) { wrong.offset = UINT64_MAX; }}) {
        TextList wrong = list;
        change(wrong);
        EXPECT_EQ(code_of(wrong), StatusCode::invalid_argument);
    }
    list = {};
    list.documents = 1;
    list.ordinal = documents - 1;
    EXPECT_EQ(code_of(list), StatusCode::invalid_argument) << "no frequency";
    list.frequency = 1;
    EXPECT_EQ(code_of(list), StatusCode::ok);
    list.ordinal = documents;
    EXPECT_EQ(code_of(list), StatusCode::invalid_argument);
}

TEST_P(ServerTextPartsOfThree, WithoutMemoryInOnePartALoadFailsAsAWhole) {
    limit(0, little);
    std::size_t failures = 0;
    for (std::uint32_t number = 0; number < 3; ++number) {
        for (std::int64_t after = 0; after < 24; ++after) {
            inject(number, after);
            const gpu_engine::Status status = try_load(1, run_);
            inject(number, -1);
            if (!status.ok()) {
                ++failures;
                EXPECT_EQ(status.code, StatusCode::out_of_memory) << status.message;
                EXPECT_EQ(memory_used(), 0U);
                EXPECT_EQ(on_the_way(), 0U);
                load(1, run_);
                ASSERT_FALSE(HasFatalFailure());
            }
            ASSERT_EQ(parts_of(1).size(), 3U);
            client_->evict(run_name(1));
            EXPECT_EQ(memory_used(), 0U);
        }
    }
    EXPECT_GT(failures, 6U);
    // At any point, a connection that ends leaves nothing.
    const TextImages pages = pages_of(run_);
    const std::size_t count = pages.size() / text_test::page_bytes;
    for (std::size_t sent = 0; sent < 2 * count; sent += 7) {
        const auto begun = client_->ask<protocol::BeginReply>(Message::begin_text, beginning(1, run_));
        ASSERT_NE(begun.handle, 0U);
        append_lists(begun.handle, lists_of(run_), 0, lists_of(run_).size());
        if (sent >= count) {
            append_all(begun.handle, pages);
        }
        append(begun.handle, pages, 0, sent % count);
        client_->disconnect();
        ASSERT_TRUE(client_->connect(server_.path()));
        client_->hello();
        ASSERT_EQ(Client::answer_of(client_->attach(buffer_bytes)), Answer::done);
        EXPECT_TRUE(wait_until([&] { return memory_used() == 0 && on_the_way() == 0; }));
    }
}

TEST_P(ServerTextPartsOfThree, WithoutMemoryForWhatIsOnTheWayALoadFails) {
    limit(0, little);
    gpu_engine::MemoryBudget &memory = server_->transfer_memory();
    std::size_t failures = 0;
    for (std::int64_t after = 0; after < 30; ++after) {
        memory.refuse_after(after);
        const gpu_engine::Status status = try_load(1, run_);
        memory.refuse_after(-1);
        failures += status.ok() ? 0 : 1;
        EXPECT_TRUE(status.ok() || status.code == StatusCode::out_of_memory) << status.message;
        EXPECT_EQ(on_the_way(), 0U);
        client_->evict(run_name(1));
        EXPECT_EQ(memory_used(), 0U);
    }
    EXPECT_GT(failures, 4U);
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    limit(0, 0);
    const Question question = make_question({run_}, 30);
    for (std::int64_t after = 0; after < 8; ++after) {
        const protocol::SearchText request = place(question);
        memory.refuse_after(after);
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_text, request);
        memory.refuse_after(-1);
        EXPECT_TRUE(reply.header.status.ok() || reply.header.status.code == StatusCode::out_of_memory);
        EXPECT_EQ(on_the_way(), 0U);
    }
    check_all({run_});
}

TEST_P(ServerTextPartsOfThree, ARunInPartsIsLostWithAnyOfItsEngines) {
    limit(0, little * 13 / 10);
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(parts_of(1).size(), 3U);
    protocol::Inject request{};
    request.number = 1;
    request.loses = protocol::lose_engine;
    ASSERT_EQ(Client::answer_of(client_->ask<protocol::ReplyHeader>(Message::inject, request)), Answer::done);
    const protocol::SearchText asked = place(make_question({run_}, 3));
    const auto lacking = client_->ask<protocol::ResultReply>(Message::search_text, asked);
    ASSERT_EQ(Client::answer_of(lacking.header), Answer::not_resident);
    EXPECT_EQ(lacking.header.lacking, 1U);
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{0, 2}));
    limit(0, 0);
    check_all({run_});
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerTextPartsOfThree, testing::Values(EngineName::host), engine_of);

INSTANTIATE_TEST_SUITE_P(Engines, ServerTextPartsOfAll, testing::Values(EngineName::host), engine_of);

// ---- devices and host -------------------------------------------------------------------------------------

class ServerTextPartsWithHost : public ServerTextParts {
  protected:
    static gpu_engine::server::Options two_stand_ins() {
        gpu_engine::server::Options options;
        options.stand_ins = 2;
        options.testing = true;
        options.move_microseconds = 0;
        return options;
    }
    ServerTextPartsWithHost() : ServerTextParts(two_stand_ins()) {}

    // A part of what the run takes.
    std::uint64_t of_run(double part) const {
        const std::uint64_t bytes = run_.shape().posting_bytes + 10 * std::uint64_t(documents);
        return static_cast<std::uint64_t>(static_cast<double>(bytes) * part);
    }
    static constexpr std::uint64_t plenty = std::uint64_t(1) << 30;
    static constexpr std::int32_t on_host = -1;
};

TEST_P(ServerTextPartsWithHost, TheHostHasTheRest) {
    limit(of_run(0.35), plenty);
    // What fits the host lies there as a whole: a question about few lists doesn't look at all of them.
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{on_host}));
    check_all({run_});
    ASSERT_FALSE(HasFatalFailure());
    client_->evict(run_name(1));

    // An eighth of the host's limit is left for questions.
    limit(of_run(0.35), of_run(0.7));
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{on_host, 0, 1}));
    EXPECT_EQ(parts_of(1).back().device, on_host);
    limit(plenty, plenty);
    check_all({run_});
}

TEST_P(ServerTextPartsWithHost, MovesInPartsOutOfTheHostsMemory) {
    limit(of_run(0.35), plenty);
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(devices_of(1), (std::set<std::int32_t>{on_host}));
    // Not one of them, but both together have room for it.
    limit(of_run(0.8), plenty);
    protocol::SearchText asked = place(make_question({run_}, 3));
    const auto told = client_->ask<protocol::ResultReply>(Message::search_text, asked);
    ASSERT_EQ(Client::answer_of(told.header), Answer::done);
    EXPECT_EQ(told.header.lacking, 1U) << "it would be better off elsewhere";
    load_with_dead(1, &run_);
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(devices_of(1), (std::set<std::int32_t>{0, 1}));
    limit(plenty, plenty);
    check_all({run_});
}

INSTANTIATE_TEST_SUITE_P(Engines, ServerTextPartsWithHost, testing::Values(EngineName::cuda), engine_of);

}  // namespace
