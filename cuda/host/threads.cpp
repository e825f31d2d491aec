#include "host/threads.h"

#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "gpu_engine/guard.h"

namespace gpu_engine::host {
namespace {

// A machine so busy that a thread doesn't begin within this time has none to spare.
constexpr std::chrono::seconds start_limit(60);

// Helpers come here one after the other, and stay until all are here: so each is another thread.
class Meeting {
  public:
    void attend() {
        std::unique_lock lock(mutex_);
        ++present_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return over_; });
    }
    bool wait_for(std::uint32_t count) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, start_limit, [&] { return present_ >= count; });
    }
    void end() {
        const std::lock_guard lock(mutex_);
        over_ = true;
        changed_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint32_t present_ = 0;
    bool over_ = false;
};

// They are never taken apart: the threads would end with them, and static objects may still compute.
struct Helpers {
    std::mutex mutex;
    std::uint32_t count = 0;
    std::optional<tbb::global_control> limit;  // on how many oneTBB starts
    std::vector<std::unique_ptr<tbb::task_arena>> arenas;
};

Helpers &helpers() {
    static auto *const the_helpers = new Helpers;
    return *the_helpers;
}

// An arena of one helper has oneTBB start the thread here and now, where it can fail: of several it would
// start the first two, and leave the others to these.
void start(Helpers &all, std::uint32_t count) {
    const auto meeting = std::make_shared<Meeting>();
    struct Ending {
        Meeting &meeting;
        ~Ending() { meeting.end(); }
    } const ending{*meeting};
    for (std::uint32_t present = 0; present < count; ++present) {
        if (present == all.arenas.size()) {
            all.arenas.push_back(std::make_unique<tbb::task_arena>(1, 0));
        }
        all.arenas[present]->enqueue([meeting] { meeting->attend(); });
        if (!meeting->wait_for(present + 1)) {
            throw Failure{make_status(StatusCode::unavailable, "a thread of the host engine did not begin")};
        }
    }
}

}  // namespace

void start_helpers(std::uint32_t count) {
    Helpers &all = helpers();
    const std::lock_guard lock(all.mutex);
    if (count <= all.count) {
        return;
    }
    // The limit counts a caller too. The least of several limits would hold.
    all.limit.reset();
    all.limit.emplace(tbb::global_control::max_allowed_parallelism, count + 1);
    try {
        start(all, count);
    } catch (const std::bad_alloc &) {
        throw;
    } catch (const std::exception &exception) {
        char message[Status::message_capacity];
        std::snprintf(message, sizeof(message), "could not start the host engine's %u threads: %s", count,
                      exception.what());
        throw Failure{make_status(StatusCode::unavailable, message)};
    }
    all.count = count;
}

}  // namespace gpu_engine::host
