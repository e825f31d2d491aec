// The program itself: start, arguments, end with its parent, with a pipe, by signals; a second one on the
// same socket.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>

#include "server_runs.h"

namespace {

using namespace server_test;
using namespace std::chrono_literals;

// Beside the tests' program in a bundle, else where CMake puts it.
std::string program() {
    if (const char *chosen = std::getenv("PG_GPU_SERVER")) {
        return chosen;
    }
    const auto own = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto beside = own / "pg_gpu_server";
    return std::filesystem::exists(beside) ? beside : own / "../../pg_gpu_server";
}

class Process {
  public:
    Process(const std::string &log, std::vector<std::string> arguments, int keep_open = -1) : log_(log) {
        process_ = fork();
        if (process_ == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
            dup2(file, STDERR_FILENO);
            const std::string name = program();
            std::vector<char *> values = {const_cast<char *>(name.c_str())};
            for (std::string &argument : arguments) {
                values.push_back(argument.data());
            }
            values.push_back(nullptr);
            if (keep_open >= 0) {
                fcntl(keep_open, F_SETFD, 0);
            }
            execv(name.c_str(), values.data());
            _exit(127);
        }
    }
    ~Process() {
        if (process_ > 0) {
            ::kill(process_, SIGKILL);
            waitpid(process_, nullptr, 0);
        }
    }
    pid_t id() const { return process_; }
    // The exit status, or minus the signal; -1000 when it goes on.
    int wait(std::chrono::milliseconds limit = 60000ms) {
        for (const auto until = std::chrono::steady_clock::now() + limit;
             std::chrono::steady_clock::now() < until; usleep(500)) {
            int status;
            if (waitpid(process_, &status, WNOHANG) == process_) {
                process_ = 0;
                return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
            }
        }
        return -1000;
    }
    std::string log() const {
        std::ostringstream text;
        text << std::ifstream(log_).rdbuf();
        return text.str();
    }

  private:
    std::string log_;
    pid_t process_ = 0;
};

class ServerProcess : public testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(std::filesystem::exists(program())) << program(); }

    std::unique_ptr<Process> start(std::vector<std::string> arguments = {}, int keep_open = -1) {
        arguments.insert(arguments.begin(), {"--socket", socket_, "--devices", "none"});
        return std::make_unique<Process>(folder_.file("log"), arguments, keep_open);
    }
    bool does_respond() {
        Client client;
        if (!client.connect(socket_)) {
            return false;
        }
        EXPECT_EQ(Client::result_of(client.hello().header), ReplyResult::done);
        return true;
    }

    TemporaryFolder folder_;
    std::string socket_ = folder_.file("socket");
};

TEST_F(ServerProcess, StartsAndStopsWithASignal) {
    for (const int signal : {SIGTERM, SIGINT}) {
        const auto process = start();
        ASSERT_TRUE(wait_until([&] { return does_respond(); }));
        struct stat file {};
        ASSERT_EQ(stat(socket_.c_str(), &file), 0);
        EXPECT_EQ(file.st_mode & 0777, 0700U) << "nobody else may connect";
        // A connection doesn't hold it up.
        Client client(socket_);
        ASSERT_EQ(Client::result_of(client.attach(1 << 20)), ReplyResult::done);
        ::kill(process->id(), SIGHUP);
        EXPECT_TRUE(does_respond());
        ::kill(process->id(), signal);
        EXPECT_EQ(process->wait(), 0) << process->log();
        EXPECT_FALSE(std::filesystem::exists(socket_));
        char byte;
        EXPECT_EQ(client.receive_bytes(&byte, 1), 0U);
        EXPECT_NE(process->log().find("listening on"), std::string::npos) << process->log();
        EXPECT_NE(process->log().find("stopping: asked to stop"), std::string::npos) << process->log();
    }
}

TEST_F(ServerProcess, ImmediateShutdown) {
    // Whoever leaves at once doesn't wait for threads, which ThreadSanitizer would call a leak.
    const char *options = std::getenv("TSAN_OPTIONS");
    const std::string before = options != nullptr ? options : "";
    setenv("TSAN_OPTIONS", (before + ":report_thread_leaks=0").c_str(), 1);
    const auto process = start();
    setenv("TSAN_OPTIONS", before.c_str(), 1);
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    ::kill(process->id(), SIGQUIT);
    EXPECT_EQ(process->wait(), 0) << process->log();
    // The socket is left behind; the next one takes its place.
    const auto next = start();
    EXPECT_TRUE(wait_until([&] { return does_respond(); }));
}

TEST_F(ServerProcess, KilledOnesAreReplaced) {
    const auto process = start();
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    Client client(socket_);
    ::kill(process->id(), SIGKILL);
    EXPECT_EQ(process->wait(), -SIGKILL);
    char byte;
    EXPECT_EQ(client.receive_bytes(&byte, 1), 0U);
    const auto next = start();
    EXPECT_TRUE(wait_until([&] { return does_respond(); }));
}

TEST_F(ServerProcess, ASecondOneStealsNothing) {
    const auto first = start();
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    struct stat before {};
    ASSERT_EQ(stat(socket_.c_str(), &before), 0);
    const auto second = start();
    EXPECT_EQ(second->wait(), 2);
    EXPECT_NE(second->log().find("another server holds"), std::string::npos) << second->log();
    struct stat after {};
    ASSERT_EQ(stat(socket_.c_str(), &after), 0);
    EXPECT_EQ(before.st_ino, after.st_ino);
    EXPECT_TRUE(does_respond());
}

// Nothing would keep a second one away.
TEST_F(ServerProcess, EndsWithoutItsLock) {
    const auto process = start();
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    ASSERT_TRUE(std::filesystem::remove(socket_ + ".lock"));
    EXPECT_EQ(process->wait(), 0);
    EXPECT_NE(process->log().find("stopping: its lock file was removed"), std::string::npos)
        << process->log();
    const auto next = start();
    EXPECT_TRUE(wait_until([&] { return does_respond(); }));
}

TEST_F(ServerProcess, EndsWithItsPipe) {
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    const auto process = start({"--watch-descriptor", std::to_string(pipes[0])}, pipes[0]);
    close(pipes[0]);
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    // Bytes that are written mean nothing.
    EXPECT_EQ(write(pipes[1], "x", 1), 1);
    EXPECT_EQ(process->wait(50ms), -1000);
    EXPECT_TRUE(does_respond());
    close(pipes[1]);
    EXPECT_EQ(process->wait(), 0);
    EXPECT_NE(process->log().find("the watched descriptor"), std::string::npos) << process->log();
}

TEST_F(ServerProcess, EndsWithItsParent) {
    const pid_t parent = fork();
    if (parent == 0) {
        pause();
        _exit(0);
    }
    const auto process = start({"--parent", std::to_string(parent)});
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    ::kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    EXPECT_EQ(process->wait(), 0);
    EXPECT_NE(process->log().find("the parent process has ended"), std::string::npos) << process->log();
    // One that has ended already.
    const auto orphan = start({"--parent", std::to_string(parent)});
    EXPECT_EQ(orphan->wait(), 2) << orphan->log();
}

TEST_F(ServerProcess, RefusesBadArguments) {
    const std::vector<std::vector<std::string>> bad = {
        {"--queue", "-1"},      {"--queue", "x"},
        {"--queue", ""},        {"--host-memory", "1k"},
        {"--nothing"},          {"something"},
        {"--connections", "0"}, {"--threads", "99999999999999999999"},
        {"--parent", "0"},      {"--stuck-milliseconds", "0"},
        {"--engines", "cuda"},  {"--engines", "host,cuda,cuda"},
        {"--engines", ""},      {"--engines", "host,cuda,emulated"},
        {"--engines", "host,"}, {"--engines", "emulated"}};
    for (const std::vector<std::string> &arguments : bad) {
        EXPECT_EQ(start(arguments)->wait(), 1) << arguments[0];
    }
    Process without(folder_.file("log"), {});
    EXPECT_EQ(without.wait(), 1);
    Process long_path(folder_.file("log"), {"--socket", std::string(200, 'x')});
    EXPECT_EQ(long_path.wait(), 2);
    Process no_folder(folder_.file("log"), {"--socket", folder_.file("none/socket")});
    EXPECT_EQ(no_folder.wait(), 2);
}

// A supervisor reads the level of each line, and says itself when and who.
TEST_F(ServerProcess, LinesWithLevels) {
    const auto process = start({"--log-levels"});
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    ::kill(process->id(), SIGTERM);
    EXPECT_EQ(process->wait(), 0);
    EXPECT_EQ(process->log().rfind("<5>listening on \"", 0), 0U) << process->log();
    EXPECT_NE(process->log().find("\n<5>stopping: asked to stop\n"), std::string::npos) << process->log();
    const auto second = start({"--log-levels", "--parent", "2147483647"});
    EXPECT_EQ(second->wait(), 2);
    EXPECT_NE(second->log().find("\n<4>could not start: "), std::string::npos) << second->log();
}

// Limits of the command line are those that hold.
TEST_F(ServerProcess, TakesItsLimits) {
    const auto process = start({"--host-memory", "1048576", "--transfer-memory", "8192", "--threads", "1"});
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    Client client(socket_);
    EXPECT_EQ(client.attach(12288).status.code, StatusCode::out_of_memory);
    EXPECT_EQ(Client::result_of(client.attach(8192)), ReplyResult::done);
    const auto reply = client.list(Message::mirrors, 0, 0);
    EXPECT_EQ(reply.memory_limit[0], 1048576U);
    EXPECT_EQ(reply.transfer_limit, 8192U);
    EXPECT_EQ(client.begin_kary(run_name(1), 200000, 64).header.status.code, StatusCode::out_of_memory);
    protocol::RequestHeader ping{};
    const auto pong = client.call<protocol::HelloReply>(Message::ping, ping);
    EXPECT_EQ(pong.engines, 1U);
    EXPECT_EQ(pong.opening, 0U);
    EXPECT_EQ(pong.threads, 1U);
    EXPECT_EQ(pong.process, process->id());
    client.engine = EngineName::cuda;
    EXPECT_EQ(client.begin_kary(run_name(1), 10, 64).header.status.code, StatusCode::unavailable);
    client.engine = EngineName::host;
    EXPECT_EQ(client.inject(5).status.code, StatusCode::invalid_argument);
}

// Two kinds of engines without a device.
TEST_F(ServerProcess, EmulatedDevicesAreDevices) {
    const auto process = start({"--engines", "host,emulated,emulated", "--device-memory", "1048576"});
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    Client client(socket_);
    ASSERT_TRUE(wait_until([&] {
        return client.call<protocol::HelloReply>(Message::ping, protocol::RequestHeader{}).engines == 3U &&
               client.list(Message::devices, 0, 0).memory_limit[1] == 2 * 1048576U;
    }));
    EXPECT_EQ(client.list(Message::devices, 0, 0).rows, 2U);
    client.engine = EngineName::cuda;
    EXPECT_EQ(Client::result_of(client.begin_kary(run_name(1), 10, 64).header), ReplyResult::done);
}

// The ids of the process's threads that have names beginning so.
std::vector<pid_t> threads_named(pid_t process, const std::string &beginning) {
    std::vector<pid_t> threads;
    for (const auto &task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
        std::string name;
        std::ifstream(task.path() / "comm") >> name;
        if (name.rfind(beginning, 0) == 0) {
            threads.push_back(std::stoi(task.path().filename()));
        }
    }
    return threads;
}

// Loads a run, and returns a request that takes a thread some hundred milliseconds.
protocol::CountKary begin_long_request(Client &client) {
    constexpr std::uint64_t entries = std::uint64_t(1) << 20;
    std::vector<std::uint64_t> keys(entries);
    std::iota(keys.begin(), keys.end(), 0);
    EXPECT_EQ(client.load(run_name(1), keys, std::vector<Tid>(entries, make_tid(1, 1))), ReplyResult::done);
    // Each of the ranges is looked for four times.
    auto request = about_runs<protocol::CountKary>(64, {1, 1, 1, 1});
    request.count = entries;
    request.high = entries * sizeof(std::uint64_t);
    request.blocks.all_visible = 1;
    request.results = 2 * request.high;
    request.capacity = request.high;
    std::mt19937_64 random(1);
    for (std::uint64_t i = 0; i < entries; ++i) {
        client.at<std::uint64_t>(0)[i] = random() % entries;
        client.at<std::uint64_t>(request.high)[i] = entries;
    }
    return request;
}

// Counts until the connection breaks.
void count_on_and_on(Client &client) {
    protocol::CountKary count = begin_long_request(client);
    protocol::ResultReply counted;
    while (client.send_request(Message::count_kary, &count) && client.receive_reply(&counted)) {
        EXPECT_EQ(Client::result_of(counted.header), ReplyResult::done) << counted.header.status.message;
    }
}

// A fault names the request that its thread computes, and not those of others.
TEST_F(ServerProcess, FaultsNameTheirRequest) {
    const std::string words = "a request ends the process: ";
    for (const int signal : {SIGSEGV, SIGABRT}) {
        bool is_named = false;
        // The thread may be between two requests.
        for (int tries = 0; tries < 50 && !is_named; ++tries) {
            std::filesystem::remove(folder_.file("log"));
            const auto process = start({"--log-levels", "--threads", "2"});
            ASSERT_TRUE(wait_until([&] { return does_respond(); }));
            Client idle(socket_);
            idle.subject = {5, 99, 1, 1};
            Client busy(socket_);
            busy.subject = {5, 16384, 3, 4000000000};
            ASSERT_EQ(Client::result_of(idle.attach(1 << 20)), ReplyResult::done);
            ASSERT_EQ(Client::result_of(busy.attach(32 << 20)), ReplyResult::done);
            const std::vector<pid_t> threads = threads_named(process->id(), "session");
            ASSERT_GE(threads.size(), 2U);
            std::thread working([&] { count_on_and_on(busy); });
            std::this_thread::sleep_for(200ms);
            EXPECT_EQ(syscall(SYS_tgkill, process->id(), threads.back(), signal), 0);
            EXPECT_EQ(process->wait(), -signal) << "the process ends as it would have done";
            working.join();
            is_named = process->log().find("<4>" + words + "5 16384 3 4000000000 on engine 0\n") !=
                       std::string::npos;
            EXPECT_EQ(process->log().find(words + "5 99"), std::string::npos) << process->log();
        }
        EXPECT_TRUE(is_named) << "signal " << signal;
    }
}

// So does a process that gives up since a request can't be stopped. Its session has long gone then.
TEST_F(ServerProcess, GivesUpNamingTheRequest) {
    const auto process = start({"--log-levels", "--threads", "1", "--stuck-milliseconds", "1"});
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    bool has_ended = false;
    // The thread may have begun to count or not, or be done with it.
    for (int tries = 0; tries < 20 && !has_ended; ++tries) {
        Client client(socket_);
        client.subject = {5, 16384, 3, 7};
        ASSERT_EQ(Client::result_of(client.attach(32 << 20)), ReplyResult::done);
        protocol::CountKary count = begin_long_request(client);
        client.send_request(Message::count_kary, &count);
        std::this_thread::sleep_for(50ms);
        // As if the system or a device had the thread wait.
        const pid_t thread = threads_named(process->id(), "session").back();
        if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) {
            GTEST_SKIP() << "no process may be traced here";
        }
        ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
        ASSERT_EQ(waitpid(thread, nullptr, __WALL), thread);
        client.disconnect();
        for (int waits = 0; waits < 2000 && !has_ended; ++waits) {
            usleep(1000);
            has_ended = waitpid(thread, nullptr, WNOHANG | __WALL) == thread;
        }
        if (!has_ended) {
            ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
        }
    }
    EXPECT_EQ(process->wait(), 3) << process->log();
    EXPECT_NE(process->log().find("<4>a request ends the process: 5 16384 3 7 on engine 0\n"),
              std::string::npos)
        << process->log();
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool has_own_heap = false;
#else
constexpr bool has_own_heap = true;
#endif

// The limit is one of the process, not only of what it counts: after loads of all sizes, most of which had
// others leave, little more lies in memory than mirrors do; and when these have left, little at all.
TEST_F(ServerProcess, KeepsLittleBesideWhatItCounts) {
    if (!has_own_heap) {
        GTEST_SKIP() << "a sanitizer's heap keeps what is freed";
    }
    constexpr std::uint64_t limit = 240 << 20;
    constexpr int sessions = 4;
    constexpr int loads = 150;
    const auto process = start({"--host-memory", std::to_string(limit), "--threads", "2"});
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    const auto resident = [&] {
        std::ifstream file("/proc/" + std::to_string(process->id()) + "/status");
        for (std::string line; std::getline(file, line);) {
            if (line.rfind("RssAnon:", 0) == 0) {
                return std::stoull(line.substr(line.find_first_of("0123456789"))) << 10;
            }
        }
        return std::numeric_limits<unsigned long long>::max();
    };
    std::atomic<int> loaded{0};
    std::vector<std::thread> threads;
    for (int session = 0; session < sessions; ++session) {
        threads.emplace_back([&, session] {
            std::mt19937_64 random(static_cast<unsigned>(session));
            Client client(socket_);
            EXPECT_EQ(Client::result_of(client.attach(8 << 20)), ReplyResult::done);
            for (int i = 0; i < loads; ++i) {
                // As many small ones as large ones.
                const std::uint64_t entries = std::uint64_t(1) << (8 + random() % 10);
                std::vector<std::uint64_t> keys(entries + random() % entries);
                std::iota(keys.begin(), keys.end(), 0);
                const std::vector<Tid> tids(keys.size(), make_tid(1, 1));
                const auto run = static_cast<std::uint64_t>(session * loads + i + 1);
                // What the others are loading leaves no room now and then.
                loaded += client.load(run_name(run), keys, tids) == ReplyResult::done ? 1 : 0;
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    Client client(socket_);
    const auto used = [&] { return client.list(Message::mirrors, 0, 0).memory_used[0]; };
    EXPECT_GE(loaded, sessions * loads / 2);
    EXPECT_GE(used(), limit / 2);
    EXPECT_TRUE(wait_until([&] { return resident() <= used() + used() / 10; }))
        << resident() << " for " << used();
    for (int run = 1; run <= sessions * loads; ++run) {
        client.evict(run_name(static_cast<std::uint64_t>(run)));
    }
    EXPECT_EQ(used(), 0U);
    EXPECT_TRUE(wait_until([&] { return resident() <= 64 << 20; })) << resident();
}

// The socket's mode keeps a process of another user out, and so does the server.
TEST_F(ServerProcess, OtherUsersCanNotConnect) {
    if (geteuid() != 0) {
        GTEST_SKIP() << "only root can become another user";
    }
    const auto process = start();
    ASSERT_TRUE(wait_until([&] { return does_respond(); }));
    // Were the file's mode to let them in.
    ASSERT_EQ(chmod(socket_.c_str(), 0777), 0);
    ASSERT_EQ(chmod(std::filesystem::path(socket_).parent_path().c_str(), 0755), 0);
    const pid_t other = fork();
    if (other == 0) {
        if (setuid(65534) != 0) {
            _exit(3);
        }
        Client client;
        char byte;
        _exit(client.connect(socket_) && client.receive_bytes(&byte, 1) == 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(other, &status, 0), other);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(wait_until(
        [&] { return process->log().find("refused a connection of user 65534") != std::string::npos; }));
    EXPECT_TRUE(does_respond());
}

}  // namespace
