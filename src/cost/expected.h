// What planners want to know of the server, who must not look for it.
#pragma once

namespace pg_gpu::client {

// Is a statement to come likely to ask the server? As far as settings and the session's own experience tell.
bool is_server_expected();

}  // namespace pg_gpu::client
