// Inside the room: what is remembered of paths that failed.
#pragma once

#include "cost/cost.h"

namespace pg_gpu::client {

// Returns whether the path is there, as far as this session knows, or has yet to be found out.
bool may_be_there(Path path);

// Returns the reason for which the path rests after a failure; nullptr when it doesn't.
const char *resting_reason(Path path);

// The server has no such engine and nobody asked for it by name: the path cools down, and no fall-back is
// counted. Returns false.
bool avoid_absent(Path path);

}  // namespace pg_gpu::client
