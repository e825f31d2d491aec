// The server's log: lines on stderr, which is PostgreSQL's log where a supervisor started the server.
#pragma once

namespace gpu_engine::server {

// One line, with time and process. Never fails, never throws; too long lines are cut.
[[gnu::format(printf, 1, 2)]] void log_line(const char *format, ...) noexcept;

}  // namespace gpu_engine::server
