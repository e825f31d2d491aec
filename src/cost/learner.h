// Inside the client: what requests and loads really took, from which the choice of a path and of what to load
// learns. One place in shared memory holds it for all sessions, so that a new session begins with what others
// know. A session that shared memory has no room for learns by itself.
//
// The time of a request is all that its statement waits for until it has the result: queues, looking rows up
// in the table, and reading pages where the server process gave no result. Two things are left out. Loading
// mirrors is weighed by itself (residency/mirrors.cpp). Checking all pages that a table's facts are about is
// needed on every path, and takes many times longer when no other session has just checked them.
#pragma once

#include "cost/cost.h"

namespace pg_gpu::client {

// Chooses among the paths that are there: those with an estimate of 0 or more.
Path choose_by_experience(const Request &request, const PathEstimates &estimates);

// Returns the microseconds that the request is expected to take on a path.
double expected_microseconds(const Request &request, const PathEstimates &estimates, Path path);

// Begins to measure a request that was chosen a path.
Attempt begin_attempt(const Request &request, const PathEstimates &estimates, Path path);

// What follows is an attempt of the pages: the server was not really asked, or was, but `is_declined` says
// that the next request of the same shape is likely to come to the same.
void go_to_pages(RequestKind kind, bool is_declined);

}  // namespace pg_gpu::client
