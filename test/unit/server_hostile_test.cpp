// Input that no session of ours sends: garbage, truncated messages, wrong versions, buffers without seals,
// descriptors without end, content that changes meanwhile, sessions that don't read.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <thread>

#include "grid_run_pages.h"
#include "rounds.h"
#include "server_checks.h"
#include "server_runs.h"

namespace {

using namespace server_test;

// The server still answers.
void expect_alive(ServerUnderTest &server) {
    Client client(server.path());
    EXPECT_EQ(Client::result_of(client.attach(4096)), ReplyResult::done);
}

protocol::Hello good_hello() {
    protocol::Hello hello{};
    hello.header.magic = protocol::magic;
    hello.header.type = static_cast<std::uint16_t>(Message::hello);
    hello.header.bytes = sizeof(hello);
    hello.version = protocol::version;
    hello.layout = protocol::message_layout;
    return hello;
}

// 500 points of two columns.
void load_grid(Client &client, const protocol::RunName &name) {
    std::mt19937_64 random(9);
    const grid_test::Points points = grid_test::small_points(500, random);
    const auto begun =
        client.call<protocol::BeginReply>(Message::begin_grid, begin_of_small_points(name, points.count()));
    if (begun.handle == 0) {
        return;  // it is there, or others are loading it
    }
    protocol::AppendPages append{};
    append.handle = begun.handle;
    append.layout = {grid_test::page_bytes, grid_test::first_byte, 0, 0};
    for (const grid_test::Page &page : grid_test::make_pages(points, {0, 1}, 100, random)) {
        std::memcpy(client.buffer() + append.pages++ * grid_test::page_bytes, page.data(), page.size());
    }
    client.call<protocol::ReplyHeader>(Message::append_pages, append);
    client.finish(begun.handle);
}

TEST(ServerHostile, OtherVersionsAreTurnedAway) {
    ServerUnderTest server;
    for (int part = 0; part < 3; ++part) {
        protocol::Hello hello = good_hello();
        std::size_t bytes = sizeof(hello);
        if (part == 0) {
            hello.version += 1;
        } else if (part == 1) {
            hello.layout += 1;
        } else {
            // A shorter structure of the same beginning.
            bytes -= 8;
            hello.header.bytes -= 8;
        }
        Client client;
        ASSERT_TRUE(client.connect(server.path()));
        ASSERT_TRUE(client.send_bytes(&hello, bytes));
        protocol::HelloReply reply{};
        ASSERT_EQ(client.receive_bytes(&reply, sizeof(reply)), sizeof(reply));
        EXPECT_EQ(Client::result_of(reply.header), ReplyResult::mismatch);
        EXPECT_EQ(reply.version, protocol::version);
        char byte;
        EXPECT_EQ(client.receive_bytes(&byte, 1), 0U) << "the connection must be closed";
    }
    expect_alive(server);
}

TEST(ServerHostile, NothingButHelloComesFirst) {
    ServerUnderTest server;
    for (int type = 0; type < 40; ++type) {
        if (type == static_cast<int>(Message::hello)) {
            continue;
        }
        Client client;
        ASSERT_TRUE(client.connect(server.path()));
        protocol::Hello message = good_hello();
        message.header.type = static_cast<std::uint16_t>(type);
        ASSERT_TRUE(client.send_bytes(&message, sizeof(message)));
        char byte;
        EXPECT_EQ(client.receive_bytes(&byte, 1), 0U);
    }
    expect_alive(server);
}

// After hello: a broken header ends the connection, a wrong size or kind is refused.
TEST(ServerHostile, BrokenHeaders) {
    ServerUnderTest server;
    const auto ended_by = [&](auto change, std::size_t bytes) {
        Client client(server.path());
        protocol::LookupKary message{};
        client.fill_header(Message::lookup_kary, &message);
        change(message.header);
        EXPECT_TRUE(client.send_bytes(&message, bytes));
        protocol::ResultReply reply;
        return client.receive_bytes(&reply, sizeof(reply)) == 0;
    };
    const auto nothing = [](auto &) {};
    EXPECT_FALSE(ended_by(nothing, sizeof(protocol::LookupKary)));
    EXPECT_TRUE(ended_by([](auto &header) { header.magic ^= 1; }, sizeof(protocol::LookupKary)));
    EXPECT_TRUE(ended_by([](auto &header) { header.bytes -= 1; }, sizeof(protocol::LookupKary)));
    EXPECT_TRUE(ended_by(nothing, sizeof(protocol::LookupKary) - 1));
    EXPECT_TRUE(ended_by(nothing, sizeof(protocol::RequestHeader) - 1));
    EXPECT_TRUE(ended_by(nothing, 1));
    const auto size_of_header = [](auto &header) { header.bytes = sizeof(protocol::RequestHeader); };
    EXPECT_FALSE(ended_by(size_of_header, sizeof(protocol::RequestHeader)));
    EXPECT_FALSE(ended_by([](auto &header) { header.type = 9999; }, sizeof(protocol::LookupKary)));
    EXPECT_FALSE(ended_by([](auto &header) { header.engine = 2; }, sizeof(protocol::LookupKary)));
    EXPECT_FALSE(ended_by([](auto &header) { header.engine = 65535; }, sizeof(protocol::LookupKary)));

    Client client(server.path());
    const std::vector<char> long_message(protocol::max_message + 1, 'x');
    ASSERT_TRUE(client.send_bytes(long_message.data(), long_message.size()));
    char byte;
    EXPECT_EQ(client.receive_bytes(&byte, 1), 0U);
    expect_alive(server);
}

TEST(ServerHostile, BuffersMustBeSealedAndOfTheirSize) {
    ServerUnderTest server;
    constexpr std::uint64_t bytes = 65536;
    constexpr int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    Client client(server.path());
    const auto attach = [&](const std::vector<int> &descriptors, std::uint64_t size) {
        protocol::Attach request{};
        request.bytes = size;
        client.fill_header(Message::attach, &request);
        EXPECT_TRUE(client.send_bytes(&request, sizeof(request), descriptors));
        protocol::ReplyHeader reply;
        EXPECT_TRUE(client.receive_reply(&reply));
        return reply.status.code;
    };
    // A device that is being opened takes descriptors meanwhile.
    server.has(EngineName::cuda);
    const std::size_t descriptors_before = open_descriptors();
    for (const int seals : {0, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK | F_SEAL_GROW,
                            F_SEAL_SHRINK | F_SEAL_SEAL, F_SEAL_GROW | F_SEAL_SEAL, all | F_SEAL_WRITE}) {
        const int memfd = make_memfd(bytes, seals);
        EXPECT_NE(attach({memfd}, bytes), StatusCode::ok) << seals;
        close(memfd);
    }
    const int memfd = make_memfd(bytes, all);
    for (const std::uint64_t size :
         {std::uint64_t(0), bytes - 4096, bytes + 4096, bytes - 1, UINT64_MAX, UINT64_MAX - 4095}) {
        EXPECT_NE(attach({memfd}, size), StatusCode::ok) << size;
    }
    EXPECT_NE(attach({}, bytes), StatusCode::ok);
    const int odd = make_memfd(5000, all);
    EXPECT_NE(attach({odd}, 5000), StatusCode::ok);
    close(odd);
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    EXPECT_NE(attach({null}, bytes), StatusCode::ok);
    int pipes[2];
    ASSERT_EQ(pipe(pipes), 0);
    EXPECT_NE(attach({pipes[0]}, bytes), StatusCode::ok);
    close(pipes[0]);
    close(pipes[1]);
    EXPECT_EQ(server->transfer_memory().used(), 0U);
    EXPECT_EQ(attach({memfd}, bytes), StatusCode::ok);
    // The first counts, the others are closed.
    EXPECT_EQ(attach({memfd, null, null}, bytes), StatusCode::ok);
    EXPECT_EQ(server->transfer_memory().used(), bytes);
    EXPECT_EQ(attach(std::vector<int>(200, memfd), bytes), StatusCode::ok);
    // A descriptor with a request that takes none.
    protocol::RequestHeader ping{};
    for (int i = 0; i < 300; ++i) {
        client.fill_header(Message::ping, &ping);
        ASSERT_TRUE(client.send_bytes(&ping, sizeof(ping), {null}));
        protocol::HelloReply reply;
        ASSERT_TRUE(client.receive_reply(&reply));
    }
    close(null);
    close(memfd);
    EXPECT_TRUE(wait_until([&] { return open_descriptors() <= descriptors_before; }));
    client.disconnect();
    EXPECT_TRUE(wait_until([&] { return server->transfer_memory().used() == 0; }));
}

// Random messages of every kind on a connection with a buffer: some nearly right, some not at all.
TEST(ServerHostile, RandomMessages) {
    gpu_engine::server::Options options;
    options.memory_limit[0] = 64 << 20;
    options.transfer_limit = 64 << 20;
    options.testing = true;
    ServerUnderTest server(options);
    std::mt19937_64 random(20261121);
    const auto some_number = [&]() -> std::uint64_t {
        switch (random() % 8) {
            case 0:
                return random();
            case 1:
                return UINT64_MAX - random() % 20;
            case 2:
                return std::uint64_t(1) << random() % 64;
            case 3:
                return random() % 65536 * 16;
            case 4:
                return 1 << 20;
            default:
                return random() % 5;
        }
    };
    const std::size_t sizes[] = {
        sizeof(protocol::Hello),         sizeof(protocol::RequestHeader), sizeof(protocol::Configure),
        sizeof(protocol::Attach),        sizeof(protocol::BeginKary),     sizeof(protocol::AppendPages),
        sizeof(protocol::HandleRequest), sizeof(protocol::SetDead),       sizeof(protocol::HandleRequest),
        sizeof(protocol::Evict),         sizeof(protocol::LookupKary),    sizeof(protocol::CountKary),
        sizeof(protocol::RangeKary),     sizeof(protocol::List),          sizeof(protocol::List),
        sizeof(protocol::List),          sizeof(protocol::Inject),        sizeof(protocol::BeginGrid),
        sizeof(protocol::CountGrid),     sizeof(protocol::SearchGrid),    sizeof(protocol::MatchGrid)};
    int answered = 0;
    int ended = 0;
    std::unique_ptr<Client> client;
    for (int i = 0; i < unit_test::few_or_many(10000, 30000); ++i) {
        if (client == nullptr) {
            client = std::make_unique<Client>(server.path());
            ASSERT_EQ(Client::result_of(client->attach(1 << 20)), ReplyResult::done);
            // Something to ask, and something in the making.
            client->load<std::uint64_t>(run_name(1), std::vector<std::uint64_t>(1000, 7),
                                        std::vector<Tid>(1000, make_tid(1, 1)));
            client->begin_kary(run_name(3), 100, 32);
            load_grid(*client, run_name(2, 2));
            for (int j = 0; j < 1000; ++j) {
                client->at<std::uint64_t>(0)[random() % (1 << 17)] = some_number();
            }
        }
        alignas(16) unsigned char message[protocol::max_message + 64] = {};
        const std::size_t type = 1 + random() % std::size(sizes);
        // The numbers of a message have 32 or 64 bits.
        std::size_t bytes = sizes[type - 1];
        for (std::size_t at = sizeof(protocol::RequestHeader); at + 8 <= bytes; at += 8) {
            const std::uint64_t number =
                random() % 2 == 0 ? some_number() : (some_number() & UINT32_MAX) << 32 | random() % 130;
            std::memcpy(message + at, &number, sizeof(number));
        }
        if (random() % 2 == 0) {
            // Names and handles that there are.
            const protocol::RunUse use{
                type > static_cast<std::size_t>(Message::inject) ? run_name(2, 2) : run_name(1), 0};
            for (std::size_t at = bytes % sizeof(use); at + sizeof(use) <= bytes; at += sizeof(use)) {
                if (at >= 24 && random() % 3 == 0) {
                    std::memcpy(message + at, &use, sizeof(use));
                }
            }
            const std::uint64_t handle = 1;
            std::memcpy(message + 24, &handle, sizeof(handle));
        }
        if (static_cast<Message>(type) == Message::configure) {
            continue;  // it would change the limits that keep this test small
        }
        if (random() % 50 == 0) {
            bytes = random() % sizeof(message) + 1;
        }
        protocol::RequestHeader header{};
        header.magic = random() % 100 == 0 ? static_cast<std::uint32_t>(random()) : protocol::magic;
        header.type = static_cast<std::uint16_t>(random() % 100 == 0 ? random() : type);
        header.engine = static_cast<std::uint16_t>(random() % 50 == 0 ? random() : 0);
        header.bytes = static_cast<std::uint32_t>(random() % 100 == 0 ? random() : bytes);
        header.deadline_ms = random() % 3 == 0 ? 1 : 2000;
        std::memcpy(message, &header, std::min(sizeof(header), bytes));
        if (!client->send_bytes(message, bytes)) {
            client.reset();
            continue;
        }
        unsigned char reply[protocol::max_message];
        const std::size_t received = client->receive_bytes(reply, sizeof(reply));
        if (received == 0) {
            ++ended;
            client.reset();
            continue;
        }
        ++answered;
        ASSERT_GE(received, sizeof(protocol::ReplyHeader));
        const auto &reply_header = reinterpret_cast<const protocol::ReplyHeader &>(reply);
        ASSERT_EQ(reply_header.bytes, received);
        ASSERT_NE(reply_header.status.code, StatusCode::internal) << reply_header.status.message;
    }
    EXPECT_GT(answered, unit_test::few_or_many(3000, 10000));
    EXPECT_GT(ended, unit_test::few_or_many(30, 100));
    EXPECT_EQ(server.given_up(), 0);
    client.reset();
    expect_alive(server);
    EXPECT_TRUE(wait_until([&] { return server->connections() <= 1; }));
}

// Another thread writes into the buffer all the time: answers are worthless, but the server lives.
TEST(ServerHostile, BufferThatChangesMeanwhile) {
    ServerUnderTest server;
    Client client(server.path());
    ASSERT_EQ(Client::result_of(client.attach(4 << 20)), ReplyResult::done);
    std::mt19937_64 random(7);
    const RunModel<std::uint64_t> run = make_run<std::uint64_t>(100000, 5000, random);
    ASSERT_EQ(client.load(run_name(1), run.keys(), run.tids()), ReplyResult::done);
    load_grid(client, run_name(2, 2));
    std::atomic<bool> done = false;
    std::thread writer([&] {
        std::mt19937_64 own_random(8);
        auto *words = client.at<std::uint64_t>(0);
        while (!done) {
            const std::uint64_t at = own_random() % (4 << 17);
            std::atomic_ref(words[at]).store(own_random() % 3 == 0 ? own_random() : own_random() % 6000,
                                             std::memory_order_relaxed);
        }
    });
    for (int i = 0; i < 40; ++i) {
        auto lookup = about_runs<protocol::LookupKary>(64, {1, 1});
        lookup.count = 3000;
        lookup.results = 1 << 20;
        lookup.capacity = 3 << 20;
        client.call<protocol::ResultReply>(Message::lookup_kary, lookup);
        auto range = about_runs<protocol::RangeKary>(64, {1, 1});
        range.count = 50;
        range.high = 4096;
        range.with_keys = static_cast<std::uint32_t>(i % 2);
        range.results = 1 << 20;
        range.capacity = 3 << 20;
        client.call<protocol::ResultReply>(Message::range_kary, range);
        auto count = about_runs<protocol::CountKary>(64, {1, 1});
        count.count = 50;
        count.high = 4096;
        count.blocks = {8192, 100, 8192, 500, 2, 0};
        count.results = 1 << 20;
        count.capacity = 3 << 20;
        client.call<protocol::ResultReply>(Message::count_kary, count);
        protocol::CountGrid boxes{};
        boxes.runs = 2;
        boxes.run[0].name = boxes.run[1].name = run_name(2, 2);
        boxes.boxes = {{0, 4096}, {8192, 16384}, 32768, 65536, 500, 2, {4, 8}, 0};
        boxes.blocks = {8192, 100, 8192, 500, 2, 0};
        boxes.results = 1 << 20;
        boxes.capacity = 3 << 20;
        client.call<protocol::ResultReply>(Message::count_grid, boxes);
        protocol::SearchGrid search{};
        search.runs = 1;
        search.run[0].name = run_name(2, 2);
        search.boxes = boxes.boxes;
        search.results = 1 << 20;
        search.capacity = 3 << 20;
        client.call<protocol::ResultReply>(Message::search_grid, search);
        protocol::MatchGrid match{};
        match.runs = 1;
        match.run[0].name = run_name(2, 2);
        match.columns = 2;
        match.keys[1] = 65536;
        match.key_bytes[0] = 4;
        match.key_bytes[1] = 8;
        match.count = 5000;
        match.results = 1 << 20;
        match.capacity = 3 << 20;
        client.call<protocol::ResultReply>(Message::match_grid, match);
        load_grid(client, run_name(static_cast<std::uint64_t>(i) + 3, 2));
        client.set_dead(run_name(1), {}, static_cast<std::uint64_t>(i));
        protocol::SetDead dead{};
        dead.name = run_name(1);
        dead.version = static_cast<std::uint64_t>(i);
        dead.words = 2000;
        client.call<protocol::ReplyHeader>(Message::set_dead, dead);
    }
    done = true;
    writer.join();
    expect_alive(server);
}

// A session that sends requests without reading the replies stops only itself.
TEST(ServerHostile, SessionsThatDoNotRead) {
    ServerUnderTest server;
    std::vector<std::unique_ptr<Client>> deaf;
    for (int i = 0; i < 20; ++i) {
        deaf.push_back(std::make_unique<Client>(server.path()));
        const int flags = fcntl(deaf.back()->socket(), F_GETFL);
        fcntl(deaf.back()->socket(), F_SETFL, flags | O_NONBLOCK);
        protocol::RequestHeader ping{};
        while (deaf.back()->send_request(Message::ping, &ping)) {}
    }
    expect_alive(server);
}

TEST(ServerHostile, ConnectionsAreBounded) {
    gpu_engine::server::Options options;
    options.connection_limit = 5;
    ServerUnderTest server(options);
    std::vector<std::unique_ptr<Client>> clients;
    for (int i = 0; i < 5; ++i) {
        clients.push_back(std::make_unique<Client>(server.path()));
    }
    Client sixth;
    ASSERT_TRUE(sixth.connect(server.path()));
    // The reason is said, as the reply to the hello that each connection begins with.
    protocol::ReplyHeader refusal;
    ASSERT_EQ(sixth.receive_bytes(&refusal, sizeof(refusal)), sizeof(refusal));
    EXPECT_EQ(Client::result_of(refusal), ReplyResult::busy);
    EXPECT_EQ(refusal.request, 1U);
    EXPECT_STREQ(refusal.status.message, "the server process has 5 connections already");
    char byte;
    EXPECT_EQ(sixth.receive_bytes(&byte, 1), 0U);
    clients.pop_back();
    EXPECT_TRUE(wait_until([&] {
        Client again;
        protocol::Hello hello = good_hello();
        protocol::HelloReply reply;
        return again.connect(server.path()) && again.send_bytes(&hello, sizeof(hello)) &&
               again.receive_bytes(&reply, sizeof(reply)) == sizeof(reply);
    }));
}

}  // namespace
