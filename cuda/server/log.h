// The server's log: lines on stderr, which is PostgreSQL's log where a supervisor started the server.
#pragma once

#include <chrono>

namespace gpu_engine::server {

// One line, with time and process. Never fails, never throws; too long lines are cut.
[[gnu::format(printf, 1, 2)]] void log_line(const char *format, ...) noexcept;

// For what may happen very often: says whether it is time for another line of its kind, one a second.
class LogPace {
  public:
    bool due() noexcept {
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) {
            return false;
        }
        next_ = now + std::chrono::seconds(1);
        return true;
    }

  private:
    std::chrono::steady_clock::time_point next_{};
};

}  // namespace gpu_engine::server
