// The session's time zone, as steps take it.
#pragma once

#include "plan/query/program.h"

namespace pg_gpu::plan::query {

// Makes it the program's zone; only the executor needs its jumps. False: there are too many.
bool find_session_zone(Program *program, bool is_executor);

}  // namespace pg_gpu::plan::query
