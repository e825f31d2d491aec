#include "server/log.h"

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

void log_line(const char *format, ...) noexcept {
    char line[1024];
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    tm parts{};
    gmtime_r(&now.tv_sec, &parts);
    std::size_t used = std::strftime(line, sizeof(line), "%Y-%m-%d %H:%M:%S", &parts);
    const auto append = [&](int written) {
        used = std::min(used + static_cast<std::size_t>(std::max(written, 0)), sizeof(line) - 2);
    };
    append(std::snprintf(line + used, sizeof(line) - used, ".%03ld UTC [%d] pg_gpu_server: ",
                         now.tv_nsec / 1000000, static_cast<int>(getpid())));
    va_list arguments;
    va_start(arguments, format);
    append(std::vsnprintf(line + used, sizeof(line) - used, format, arguments));
    va_end(arguments);
    line[used++] = '\n';
    // Each line is one write, so that lines of several threads don't mix. Nobody can be told when it fails.
    static_cast<void>(!write(STDERR_FILENO, line, used));
}

}  // namespace gpu_engine::server
