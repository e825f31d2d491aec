#include "server/device_probe.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 30s;
constexpr auto pause = 20ms;

// What posix_spawn is told. The new process has no output, and none of our descriptors: they are closed on
// exec.
class Actions {
  public:
    Actions() {
        posix_spawn_file_actions_init(&actions_);
        for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
            posix_spawn_file_actions_addopen(&actions_, descriptor, "/dev/null", O_RDWR, 0);
        }
    }
    Actions(const Actions &) = delete;
    Actions &operator=(const Actions &) = delete;
    ~Actions() { posix_spawn_file_actions_destroy(&actions_); }

    const posix_spawn_file_actions_t *get() const noexcept { return &actions_; }

  private:
    posix_spawn_file_actions_t actions_;
};

}  // namespace

bool another_process_opens_device(std::int32_t device) {
    const Actions actions;
    std::string number = std::to_string(device);
    char name[] = "pg_gpu_server";
    char option[] = "--probe-device";
    char *arguments[] = {name, option, number.data(), nullptr};
    pid_t process = 0;
    if (posix_spawn(&process, "/proc/self/exe", actions.get(), nullptr, arguments, environ) != 0) {
        return false;
    }
    const auto until = std::chrono::steady_clock::now() + patience;
    int status = 0;
    for (bool killed = false;;) {
        const pid_t ended = waitpid(process, &status, WNOHANG);
        if (ended == process) {
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        if (ended < 0 && errno != EINTR) {
            return false;
        }
        if (!killed && std::chrono::steady_clock::now() >= until) {
            kill(process, SIGKILL);
            killed = true;
        }
        std::this_thread::sleep_for(pause);
    }
}

}  // namespace gpu_engine::server
