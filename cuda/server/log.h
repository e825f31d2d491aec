// The server's log: lines on stderr. A supervisor that started the server reads them, with the level that
// each begins with, and makes entries of PostgreSQL's log of them; for who starts the server by hand they
// have the time and the process.
#pragma once

#include <chrono>

namespace gpu_engine::server {

// Both write one line: log_line about what happens, and log_warning about what somebody should look at. They
// never fail, throw or wait; lines that are too long are cut.
[[gnu::format(printf, 1, 2)]] void log_line(const char *format, ...) noexcept;
[[gnu::format(printf, 1, 2)]] void log_warning(const char *format, ...) noexcept;

// Has lines begin with their level, as syslog's numbers in angle brackets, in place of the time and the
// process.
void log_with_levels() noexcept;

// A LogPace is for events that may happen very often: it says whether a second has passed since the last line
// of this kind.
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
