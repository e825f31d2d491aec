// The host engine's threads: a call goes on by its own whatever the others do, and none is started later than
// the engine is.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <mutex>
#include <set>
#include <thread>

#include "engine_under_test.h"
#include "gpu_engine/current_request.h"
#include "gpu_engine/guard.h"
#include "host/engine.h"

namespace {

using namespace gpu_engine;

constexpr std::int32_t threads = 3;
constexpr std::uint32_t callers = 32;
static_assert(callers <= host::HostEngine::callers(threads));

std::unique_ptr<host::HostEngine> host_engine() {
    std::unique_ptr<Engine> engine;
    EngineOptions options;
    options.threads = threads;
    const Status opened = host::open_engine(options, &engine);
    EXPECT_TRUE(opened.ok()) << opened.message;
    return std::unique_ptr<host::HostEngine>(static_cast<host::HostEngine *>(engine.release()));
}

std::uint64_t count_pieces(host::HostEngine &engine, const Stream &stream) {
    std::atomic<std::uint64_t> counted{0};
    engine.workers(stream).for_pieces(
        1000, 1, [&](std::uint64_t first, std::uint64_t last) { counted += last - first; });
    return counted;
}

// Those who help know whose request it is, as long as they do.
TEST(EngineThreads, HelpersKnowTheRequest) {
    const auto engine = host_engine();
    const Stream stream;
    const int request = 0;
    for (const void *expected : {static_cast<const void *>(&request), static_cast<const void *>(nullptr)}) {
        const OnRequest on(expected);
        std::mutex mutex;
        std::set<std::thread::id> took_part;
        int others = 0;
        while (took_part.size() < 2) {
            engine->workers(stream).for_pieces(64, 1, [&](std::uint64_t, std::uint64_t) {
                std::this_thread::sleep_for(std::chrono::microseconds(100));
                const std::lock_guard lock(mutex);
                took_part.insert(std::this_thread::get_id());
                others += current_request == expected ? 0 : 1;
            });
        }
        EXPECT_EQ(others, 0);
    }
    EXPECT_EQ(current_request, nullptr);
}

// All calls but one hold each thread that comes to their help. The last one is done all the same, and ends
// when it is cancelled.
TEST(EngineThreads, ACallWaitsForNoOther) {
    const auto engine = host_engine();
    std::latch began(callers - 1);
    std::promise<void> may_end;
    const std::shared_future<void> end = may_end.get_future().share();
    std::vector<std::thread> others;
    for (std::uint32_t i = 0; i + 1 < callers; ++i) {
        others.emplace_back([&] {
            const Stream stream;
            std::atomic_flag has_begun;
            engine->workers(stream).for_pieces(64, 1, [&](std::uint64_t, std::uint64_t) {
                if (!has_begun.test_and_set()) {
                    began.count_down();
                }
                end.wait();
            });
        });
    }
    std::promise<std::uint64_t> counted;
    std::promise<StatusCode> cancelled;
    std::thread last([&] {
        began.wait();
        Stream stream;
        counted.set_value(count_pieces(*engine, stream));
        stream.cancel();
        cancelled.set_value(guarded([&] {
                                count_pieces(*engine, stream);
                                return Status{};
                            }).code);
    });
    auto result = counted.get_future();
    EXPECT_EQ(result.wait_for(std::chrono::minutes(1)), std::future_status::ready);
    may_end.set_value();
    for (std::thread &other : others) {
        other.join();
    }
    last.join();
    EXPECT_EQ(result.get(), 1000U);
    EXPECT_EQ(cancelled.get_future().get(), StatusCode::cancelled);
}

// From here on this process starts no thread. The limit holds for everybody but root.
bool refuse_threads() {
    const rlimit none{0, 0};
    return (geteuid() != 0 || setuid(65534) == 0) && setrlimit(RLIMIT_NPROC, &none) == 0;
}

class EngineWithoutThreads : public testing::Test {
  protected:
    // What is refused stays refused, so these tests have processes of their own.
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

[[noreturn]] void end(bool right, const char *what) {
    std::fprintf(stderr, "%s: %s\n", right ? "right" : "wrong", what);
    std::fflush(stderr);
    _exit(right ? 0 : 1);
}

[[noreturn]] void compute_without_threads() {
    const auto engine = host_engine();
    std::vector<std::thread> sessions;
    std::latch all(callers + 1);
    std::atomic<std::uint64_t> counted{0};
    for (std::uint32_t i = 0; i < callers; ++i) {
        sessions.emplace_back([&] {
            all.arrive_and_wait();
            const Stream stream;
            for (int round = 0; round < 100; ++round) {
                counted += count_pieces(*engine, stream);
            }
        });
    }
    if (!refuse_threads()) {
        end(false, "threads can't be refused");
    }
    all.count_down();
    for (std::thread &session : sessions) {
        session.join();
    }
    end(counted == std::uint64_t(callers) * 100 * 1000, "the pieces were counted");
}

[[noreturn]] void open_without_threads() {
    if (!refuse_threads()) {
        end(false, "threads can't be refused");
    }
    EngineOptions options;
    options.threads = threads;
    std::unique_ptr<Engine> engine;
    const Status opened = host::open_engine(options, &engine);
    end(opened.code == StatusCode::unavailable && engine == nullptr, opened.message);
}

TEST_F(EngineWithoutThreads, AnEngineThatIsOpenNeedsNone) {
    EXPECT_EXIT(compute_without_threads(), testing::ExitedWithCode(0), "right: the pieces were counted");
}

TEST_F(EngineWithoutThreads, AnEngineIsNotOpenedWithoutThem) {
    EXPECT_EXIT(open_without_threads(), testing::ExitedWithCode(0), "right: .*could not start");
}

}  // namespace
