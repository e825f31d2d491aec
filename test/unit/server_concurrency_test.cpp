// Sessions run side by side, with random requests, random ends, and mirrors that come and go. Each answer is
// right.
#include <atomic>
#include <random>
#include <thread>

#include "heap_facts.h"
#include "server_runs.h"

namespace {

using namespace server_test;

class ServerConcurrency : public testing::TestWithParam<EngineName> {};
INSTANTIATE_TEST_SUITE_P(Engines, ServerConcurrency, every_engine(), engine_of);

constexpr int run_count = 6;
constexpr std::uint64_t run_entries = 20000;

// Keys 0, 3, 6, … of each run; bitmaps of version v have the first v entries dead.
struct Session {
    Session(ServerUnderTest &server, EngineName engine, unsigned seed)
        : server_(server), engine_(engine), random_(seed) {
        for (std::uint64_t i = 0; i < run_entries; ++i) {
            keys_.push_back(3 * i);
            tids_.push_back(make_tid(i / 50, static_cast<std::uint16_t>(i % 50 + 1)));
        }
    }

    void run(int rounds) {
        for (int round = 0; round < rounds; ++round) {
            if (client_ == nullptr) {
                client_ = std::make_unique<Client>(server_.path(), engine_);
                client_->pages_at_once = 16;
                if (Client::result_of(client_->attach(1 << 20)) != ReplyResult::done) {
                    client_.reset();
                    continue;
                }
            }
            const std::uint64_t run = 1 + random_() % run_count;
            switch (random_() % 12) {
                case 0:
                    client_->evict(run_name(run));
                    break;
                case 1:
                    set_dead(run);
                    break;
                case 2:
                    break_off(run);
                    break;
                case 3:
                    client_->list(Message::mirrors, 0, 1 << 16);
                    break;
                case 4:
                    count_two(run);
                    break;
                default:
                    if (random_() % 2 == 0) {
                        lookup(run);
                    } else {
                        count(run);
                    }
            }
        }
    }

    std::uint64_t answered = 0;
    std::uint64_t wrong = 0;

  private:
    // Loads the mirrors that are lacking. Returns false when another session does so, or memory is short.
    bool provide(const protocol::ReplyHeader &reply, std::uint64_t run) {
        switch (Client::result_of(reply)) {
            case ReplyResult::done:
                ++answered;
                return true;
            case ReplyResult::not_resident:
                client_->load(run_name(run), keys_, tids_);
                return false;
            case ReplyResult::failed:
                wrong += reply.status.code == StatusCode::out_of_memory ? 0 : 1;
                return false;
            case ReplyResult::busy:
            case ReplyResult::loading:
                return false;
            default:
                ++wrong;
                return false;
        }
    }
    void lookup(std::uint64_t run) {
        constexpr std::uint64_t keys = 500;
        auto request = about_runs<protocol::LookupKary>(64, {run});
        request.count = keys;
        request.results = 65536;
        request.capacity = 65536;
        std::vector<std::uint64_t> requested;
        for (std::uint64_t i = 0; i < keys; ++i) {
            // The keys lie beyond the entries that may be dead.
            requested.push_back(3000 + random_() % (3 * run_entries));
            client_->at<std::uint64_t>(0)[i] = requested.back();
        }
        const auto reply = client_->call<protocol::ResultReply>(Message::lookup_kary, request);
        if (!provide(reply.header, run)) {
            return;
        }
        const auto *offsets = client_->at<std::uint64_t>(reply.offsets_at[0]);
        const auto *tids = client_->at<Tid>(reply.tids_at[0]);
        for (std::uint64_t i = 0; i < keys; ++i) {
            const std::uint64_t expected = requested[i] % 3 == 0 && requested[i] / 3 < run_entries ? 1 : 0;
            if (offsets[i + 1] - offsets[i] != expected ||
                (expected == 1 && tids[offsets[i]] != tids_[requested[i] / 3])) {
                ++wrong;
            }
        }
    }
    void count(std::uint64_t run) {
        auto request = about_runs<protocol::CountKary>(64, {run});
        request.count = 2;
        request.high = 16;
        heap_facts::HeapFacts facts(200, heap_facts::State::all_visible);  // of 400
        request.blocks = facts.place(client_->buffer(), 64);
        request.results = 4096;
        request.capacity = 1 << 19;
        client_->at<std::uint64_t>(0)[0] = 3000;
        client_->at<std::uint64_t>(0)[1] = 6000;
        client_->at<std::uint64_t>(16)[0] = UINT64_MAX;
        client_->at<std::uint64_t>(16)[1] = 6002;
        const auto reply = client_->call<protocol::ResultReply>(Message::count_kary, request);
        if (!provide(reply.header, run)) {
            return;
        }
        const auto *counts = client_->at<std::uint64_t>(request.results);
        wrong += counts[0] == 200 * 50 - 1000 && counts[1] == 1 && reply.tids == 200 * 50 ? 0 : 1;
    }
    void set_dead(std::uint64_t run) {
        // At most 1000 entries are dead, all of them before those that are asked for.
        const std::uint64_t version = random_() % 1000;
        std::vector<std::uint64_t> words((run_entries + 63) / 64, 0);
        for (std::uint64_t i = 0; i < version; ++i) {
            words[i / 64] |= std::uint64_t(1) << (i % 64);
        }
        const ReplyResult result = Client::result_of(client_->set_dead(run_name(run), words, version));
        wrong += result == ReplyResult::done || result == ReplyResult::not_resident ||
                         result == ReplyResult::failed
                     ? 0
                     : 1;
    }
    // All entries of two runs.
    static protocol::CountKary count_of_two(std::uint64_t run) {
        auto request = about_runs<protocol::CountKary>(64, {run, run % run_count + 1});
        request.count = 1;
        request.high = 16;
        request.blocks.all_visible = 1;
        request.results = 4096;
        request.capacity = 4096;
        return request;
    }
    void count_two(std::uint64_t run) {
        client_->at<std::uint64_t>(0)[0] = 0;
        client_->at<std::uint64_t>(16)[0] = UINT64_MAX;
        const auto reply = client_->call<protocol::ResultReply>(Message::count_kary, count_of_two(run));
        if (Client::result_of(reply.header) == ReplyResult::done) {
            ++answered;
            const std::uint64_t counted = *client_->at<std::uint64_t>(4096);
            wrong += counted >= 2 * (run_entries - 1000) && counted <= 2 * run_entries ? 0 : 1;
        }
    }
    // Ends the connection while a request runs or an object is being loaded.
    void break_off(std::uint64_t run) {
        switch (random_() % 4) {
            case 0: {
                auto request = count_of_two(run);
                client_->send_request(Message::count_kary, &request);
                break;
            }
            case 1: {
                const auto begun = client_->begin_kary(run_name(run), run_entries, 64);
                if (begun.handle != 0) {
                    client_->append(begun.handle, keys_, tids_);
                    protocol::HandleRequest request{};
                    request.handle = begun.handle;
                    if (random_() % 2 == 0) {
                        client_->send_request(Message::finish, &request);
                    }
                }
                break;
            }
            case 2: {
                auto request = about_runs<protocol::LookupKary>(64, {run});
                request.count = 10000;
                request.results = 1 << 18;
                request.capacity = 1 << 18;
                client_->send_request(Message::lookup_kary, &request);
                break;
            }
            default:
                break;
        }
        client_.reset();
    }

    ServerUnderTest &server_;
    EngineName engine_;
    std::mt19937_64 random_;
    std::vector<std::uint64_t> keys_;
    std::vector<Tid> tids_;
    std::unique_ptr<Client> client_;
};

TEST_P(ServerConcurrency, EightSessions) {
    gpu_engine::server::Options options;
    // Not all runs fit into memory at once.
    for (std::uint64_t &limit : options.memory_limit) {
        limit = run_count * run_entries * 14 * 8 / 10;
    }
    options.threads = 2;
    ServerUnderTest server(options);
    if (!server.has(GetParam())) {
        GTEST_SKIP() << "no such engine here";
    }
    std::atomic<std::uint64_t> answered{0};
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            Session session(server, GetParam(), i);
            session.run(300);
            answered += session.answered;
            wrong += session.wrong;
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0U);
    // How many find their runs loaded depends on the machine.
    EXPECT_GT(answered, 100U);
    EXPECT_TRUE(wait_until([&] { return server->connections() == 0; }));
    EXPECT_EQ(server->transfer_memory().used(), 0U);
    // Only the mirrors are left.
    Client last(server.path(), GetParam());
    for (std::uint64_t run = 1; run <= run_count; ++run) {
        last.evict(run_name(run));
    }
    EXPECT_EQ(last.list(Message::mirrors, 0, 0).memory_used[static_cast<std::size_t>(GetParam())], 0U);
    EXPECT_EQ(server.given_up(), 0);
}

}  // namespace
