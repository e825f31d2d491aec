// The server's log: lines on stderr, which is PostgreSQL's log where a supervisor started the server.
#pragma once

#include <chrono>

namespace gpu_engine::server {

// Writes one line with the time and the process. It never fails or throws; lines that are too long are cut.
[[gnu::format(printf, 1, 2)]] void log_line(const char *format, ...) noexcept;

// For events that may happen very often: says whether a second has passed since the last line of this kind.
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
