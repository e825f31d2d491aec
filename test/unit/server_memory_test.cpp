// Memory that runs out at any place of a request, and what is left after thousands of them.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <random>

#include "grid_run_pages.h"
#include "heap_refusal.h"
#include "rounds.h"
#include "server_checks.h"
#include "server_runs.h"

namespace {

using namespace server_test;
using heap_refusal::allocations_left;
using heap_refusal::exempt_thread;
using heap_refusal::one_was_refused;

class ServerMemory : public ServerTestOfEngine {
  protected:
    ServerMemory() : ServerTestOfEngine(buffer_bytes, for_testing()) {}

    static constexpr std::uint64_t buffer_bytes = 1 << 20;

    void SetUp() override {
        exempt_thread = true;
        ServerTestOfEngine::SetUp();
        if (IsSkipped() || HasFatalFailure()) {
            return;
        }
        run_ = make_run<std::uint64_t>(3000, 300, random_);
        ASSERT_EQ(client_->load(run_name(1), run_.keys(), run_.tids(), true), ReplyResult::done);
    }
    void TearDown() override {
        allocations_left = -1;
        exempt_thread = false;
    }

    std::unique_ptr<Client> connect() {
        auto client = std::make_unique<Client>(server_.path(), GetParam());
        EXPECT_EQ(Client::result_of(client->attach(buffer_bytes)), ReplyResult::done);
        return client;
    }
    // Sends one request of each kind that takes memory. The result says which failed. The connection may end
    // by it.
    void call_all(Client &client, std::vector<protocol::ReplyHeader> *replies) {
        const auto call = [&]<typename Reply>(Message type, auto request, Reply *reply) {
            if (!client.send_request(type, &request) || !client.receive_reply(reply)) {
                return false;
            }
            replies->push_back(reinterpret_cast<const protocol::ReplyHeader &>(*reply));
            return true;
        };
        auto lookup = about_runs<protocol::LookupKary>(64, {1});
        lookup.count = 100;
        lookup.results = 65536;
        lookup.capacity = 400000;
        for (std::uint64_t i = 0; i < 100; ++i) {
            client.at<std::uint64_t>(0)[i] = i;
            client.at<std::uint64_t>(1024)[i] = i + 20;
        }
        protocol::ResultReply result;
        if (!call(Message::lookup_kary, lookup, &result)) {
            return;
        }
        auto range = about_runs<protocol::RangeKary>(64, {1});
        range.count = 100;
        range.high = 1024;
        range.with_keys = 1;
        range.results = 65536;
        range.capacity = 900000;
        if (!call(Message::range_kary, range, &result)) {
            return;
        }
        auto count = about_runs<protocol::CountKary>(64, {1});
        count.count = 100;
        count.high = 1024;
        count.blocks = {4096, 30, 8192, 100, 2, 0};
        count.results = 65536;
        count.capacity = 900000;
        if (!call(Message::count_kary, count, &result)) {
            return;
        }
        count.blocks.all_visible = 1;
        if (!call(Message::count_kary, count, &result)) {
            return;
        }
        protocol::SetDead dead{};
        dead.name = run_name(1);
        dead.version = ++version_;
        dead.words = 47;
        dead.offset = 2048;
        protocol::ReplyHeader plain;
        if (!call(Message::set_dead, dead, &plain)) {
            return;
        }
        protocol::BeginKary begin{};
        begin.name = run_name(2);
        begin.entries = 1000;
        begin.key_bits = 64;
        protocol::BeginReply begun;
        if (!call(Message::begin_kary, begin, &begun)) {
            return;
        }
        if (begun.handle != 0) {
            const std::vector<std::uint64_t> keys(1000, 7);
            const std::vector<Tid> tids(1000, make_tid(1, 1));
            const std::vector<char> images =
                gpu_engine::bench::page_images(keys.data(), tids.data(), keys.size());
            std::copy(images.begin(), images.end(), client.at<char>(0));
            protocol::AppendPages append{};
            append.handle = begun.handle;
            append.run_entries = keys.size();
            append.layout = gpu_engine::bench::array_layout<std::uint64_t>;
            append.pages = static_cast<std::uint32_t>(images.size() / append.layout.page_bytes);
            if (!call(Message::append_pages, append, &plain)) {
                return;
            }
            protocol::HandleReply array;
            protocol::HandleRequest finish{};
            finish.handle = begun.handle;
            // What is not finished would lack entries.
            const bool requested = Client::result_of(plain) == ReplyResult::done
                                       ? call(Message::finish, finish, &array)
                                       : call(Message::drop, finish, &plain);
            if (!requested) {
                return;
            }
        }
        if (!submit_points(client, call)) {
            return;
        }
        protocol::List list{};
        protocol::ListReply rows;
        list.capacity = 4096;
        if (!call(Message::statistics, list, &rows)) {
            return;
        }
        protocol::Evict evict{};
        evict.name = run_name(2);
        protocol::EvictReply evicted;
        call(Message::evict, evict, &evicted);
    }
    // Loads a grid file, asks it, and drops it.
    template <typename Submit>
    static bool submit_points(Client &client, Submit call) {
        // Behind what the other requests leave in the buffer.
        constexpr std::uint64_t inputs = 1 << 19;
        std::mt19937_64 random(9);
        const grid_test::Points points = grid_test::small_points(500, random);
        protocol::BeginReply begun;
        if (!call(Message::begin_grid, begin_of_small_points(run_name(4), points.count()), &begun)) {
            return false;
        }
        if (begun.handle != 0) {
            protocol::AppendPages append{};
            append.handle = begun.handle;
            append.offset = inputs;
            append.layout = {grid_test::page_bytes, grid_test::first_byte, 0, 0};
            for (const grid_test::Page &page : grid_test::make_pages(points, {0, 1}, 100, random)) {
                std::memcpy(client.buffer() + inputs + append.pages++ * grid_test::page_bytes, page.data(),
                            page.size());
            }
            protocol::ReplyHeader plain;
            if (!call(Message::append_pages, append, &plain)) {
                return false;
            }
            protocol::HandleRequest handle{};
            handle.handle = begun.handle;
            protocol::HandleReply array;
            // What is not finished would lack entries.
            if (Client::result_of(plain) != ReplyResult::done) {
                return call(Message::drop, handle, &plain);
            }
            if (!call(Message::finish, handle, &array)) {
                return false;
            }
            if (Client::result_of(array.header) != ReplyResult::done) {
                return true;
            }
            protocol::SearchGrid search{};
            search.runs = 1;
            search.run[0].name = run_name(4);
            search.boxes = {{inputs, inputs}, {inputs, inputs}, inputs, inputs, 500, 2, {4, 8}, 0};
            search.results = 65536;
            search.capacity = 400000;
            std::memset(client.buffer() + inputs, 0, 8 * search.boxes.count);
            protocol::ResultReply result;
            if (!call(Message::search_grid, search, &result)) {
                return false;
            }
            protocol::CountGrid count{};
            count.runs = 1;
            count.run[0].name = run_name(4);
            count.boxes = search.boxes;
            count.blocks = {inputs, 30, inputs, 100, 2, 0};
            count.results = 65536;
            count.capacity = 400000;
            if (!call(Message::count_grid, count, &result)) {
                return false;
            }
            protocol::MatchGrid match{};
            match.runs = 1;
            match.run[0].name = run_name(4);
            match.columns = 2;
            match.key_bytes[0] = 4;
            match.key_bytes[1] = 8;
            match.keys[0] = match.keys[1] = inputs;
            match.count = 500;
            match.results = 65536;
            match.capacity = 400000;
            if (!call(Message::match_grid, match, &result)) {
                return false;
            }
        }
        protocol::Evict evict{};
        evict.name = run_name(4);
        protocol::EvictReply evicted;
        return call(Message::evict, evict, &evicted);
    }
    std::uint64_t used() {
        return client_->list(Message::mirrors, 0, 0).memory_used[static_cast<std::size_t>(GetParam())];
    }

    RunModel<std::uint64_t> run_;
    std::uint64_t version_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Engines, ServerMemory, every_engine(), engine_of);

// The engine's budget refuses each of its requests in turn.
TEST_P(ServerMemory, EveryRefusalOfTheBudget) {
    std::vector<protocol::ReplyHeader> replies;
    call_all(*client_, &replies);
    const std::size_t all = replies.size();
    const std::uint64_t before = used();
    int failures = 0;
    int last_with_failure = 0;
    for (int n = 0; n < last_with_failure + 50; ++n) {
        client_->inject(n);
        replies.clear();
        call_all(*client_, &replies);
        for (const protocol::ReplyHeader &reply : replies) {
            if (Client::result_of(reply) != ReplyResult::done) {
                EXPECT_EQ(reply.status.code, StatusCode::out_of_memory) << reply.status.message;
                ++failures;
                last_with_failure = n;
            }
        }
        client_->inject(-1);
        EXPECT_EQ(used(), before) << "after refusal " << n;
    }
    EXPECT_GT(failures, 10);
    replies.clear();
    call_all(*client_, &replies);
    EXPECT_EQ(replies.size(), all);
    for (const protocol::ReplyHeader &reply : replies) {
        EXPECT_EQ(Client::result_of(reply), ReplyResult::done) << reply.status.message;
    }
}

// The heap refuses each request of the server's threads in turn, from the connection's first on. The
// connection may end by it; the server doesn't.
TEST_P(ServerMemory, EveryRefusalOfTheHeap) {
    if (GetParam() == EngineName::cuda) {
        // CUDA's own threads and libraries would meet the refusals, and don't promise anything.
        GTEST_SKIP() << "the host engine only";
    }
    std::vector<protocol::ReplyHeader> replies;
    {
        const auto client = connect();
        call_all(*client, &replies);
    }
    const std::size_t all = replies.size();
    ASSERT_TRUE(wait_until([&] { return server_->connections() == 1; }));
    const std::uint64_t before = used();
    int refused_runs = 0;
    int n = 0;
    for (int without = 0; without < 20; ++n) {
        ASSERT_LT(n, 5000);
        one_was_refused = false;
        allocations_left = n;
        {
            Client client;
            replies.clear();
            if (client.connect(server_.path())) {
                client.engine = GetParam();
                protocol::Hello hello{};
                hello.version = protocol::version;
                hello.layout = protocol::message_layout;
                protocol::HelloReply greeting;
                const int memfd = make_memfd(1 << 20, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
                if (client.send_request(Message::hello, &hello) && client.receive_reply(&greeting) &&
                    client.attach(1 << 20).result == 0) {
                    call_all(client, &replies);
                }
                close(memfd);
            }
        }
        allocations_left = -1;
        for (const protocol::ReplyHeader &reply : replies) {
            if (Client::result_of(reply) != ReplyResult::done) {
                EXPECT_EQ(reply.status.code, StatusCode::out_of_memory) << reply.status.message;
            }
        }
        refused_runs += one_was_refused ? 1 : 0;
        without = one_was_refused ? 0 : without + 1;
        ASSERT_TRUE(wait_until([&] { return server_->connections() == 1; }));
        // Drops the mirrors that a run of the test left under its names.
        client_->evict(run_name(2));
        client_->evict(run_name(3));
        client_->evict(run_name(4));
        ASSERT_EQ(used(), before) << "after refusal " << n;
    }
    EXPECT_GT(refused_runs, 20);
    const auto client = connect();
    replies.clear();
    call_all(*client, &replies);
    EXPECT_EQ(replies.size(), all);
    for (const protocol::ReplyHeader &reply : replies) {
        EXPECT_EQ(Client::result_of(reply), ReplyResult::done) << reply.status.message;
    }
    EXPECT_EQ(server_.given_up(), 0);
}

// Ten thousand requests on a few hundred connections leave descriptors and memory as they were.
TEST_P(ServerMemory, NothingIsLeftAfterManyRequests) {
    std::vector<protocol::ReplyHeader> replies;
    std::size_t descriptors = 0;
    [[maybe_unused]] std::size_t heap = 0;  // sanitizers have their own
    std::uint64_t engine_memory = 0;
    std::size_t requests = 0;
    for (int i = 0; requests < unit_test::few_or_many(6000U, 12000U); ++i) {
        {
            const auto client = connect();
            for (int j = 0; j < 3; ++j) {
                replies.clear();
                call_all(*client, &replies);
                requests += replies.size();
            }
            // Left behind for the connection's end.
            client->begin_kary(run_name(9), 1000, 32);
        }
        if (i == 20) {
            // By now allocators and libraries hold all the memory that they will keep.
            ASSERT_TRUE(wait_until([&] { return server_->connections() == 1; }));
            descriptors = open_descriptors();
            heap = mallinfo2().uordblks;
            engine_memory = used();
        }
    }
    ASSERT_TRUE(wait_until([&] { return server_->connections() == 1; }));
    EXPECT_EQ(open_descriptors(), descriptors);
    EXPECT_EQ(used(), engine_memory);
    EXPECT_EQ(server_->transfer_memory().used(), 1U << 20);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(mallinfo2().uordblks, heap + (256 << 10));
#endif
}

}  // namespace
