#include "server/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <ctime>

namespace gpu_engine::server {
namespace {

// Those of syslog.
enum Level : int { level_warning = 4, level_notice = 5 };

std::atomic<bool> has_levels = false;
// Lines that could not be written: nobody reads, and the pipe is full.
std::atomic<unsigned> missing = 0;

// A line is one write, so that lines of several threads don't mix. A pipe takes as much as this whole or not
// at all, and one that a supervisor reads doesn't make its writer wait.
class Line {
  public:
    explicit Line(Level level) noexcept {
        if (has_levels) {
            append("<%d>", static_cast<int>(level));
            return;
        }
        timespec now{};
        clock_gettime(CLOCK_REALTIME, &now);
        tm parts{};
        gmtime_r(&now.tv_sec, &parts);
        used_ = std::strftime(text_, sizeof(text_), "%Y-%m-%d %H:%M:%S", &parts);
        append(".%03ld UTC [%d] pg_gpu_server: ", now.tv_nsec / 1000000, static_cast<int>(getpid()));
    }
    [[gnu::format(printf, 2, 3)]] void append(const char *format, ...) noexcept {
        va_list arguments;
        va_start(arguments, format);
        append_list(format, arguments);
        va_end(arguments);
    }
    void append_list(const char *format, va_list arguments) noexcept {
        const int written = std::vsnprintf(text_ + used_, sizeof(text_) - used_, format, arguments);
        used_ = std::min(used_ + static_cast<std::size_t>(std::max(written, 0)), sizeof(text_) - 2);
    }
    bool write() noexcept {
        text_[used_++] = '\n';
        return ::write(STDERR_FILENO, text_, used_) == static_cast<ssize_t>(used_);
    }

  private:
    char text_[1024];
    std::size_t used_ = 0;
};

void write_line(Level level, const char *format, va_list arguments) noexcept {
    if (const unsigned count = missing.exchange(0); count > 0) {
        Line line(level_warning);
        line.append("%u lines of this log could not be written", count);
        if (!line.write()) {
            missing += count + 1;
            return;
        }
    }
    Line line(level);
    line.append_list(format, arguments);
    if (!line.write()) {
        missing++;
    }
}

}  // namespace

void log_line(const char *format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    write_line(level_notice, format, arguments);
    va_end(arguments);
}

void log_warning(const char *format, ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    write_line(level_warning, format, arguments);
    va_end(arguments);
}

void log_with_levels() noexcept {
    has_levels = true;
}

}  // namespace gpu_engine::server
