// Inside the client: what requests really took, which the choice of a path learns from.
//
// A record is kept for each index, kind of request, class of size and shape, of this session's requests under
// pg_gpu.path = auto. Of a request counts all that its statement waits for until it has the answer: queues,
// looking rows up in the table, and the pages where the server process did not answer. Loading mirrors does
// not, because that is weighed by itself (mirrors.cpp), nor do looks at all pages that a table's facts are
// about: every path takes them, and they take many times longer when no other session has just looked.
#pragma once

#include "client/client.h"

namespace pg_gpu::client {

// Chooses among the paths that are there: those with an estimate of 0 or more.
Path choose_by_experience(const Request &request, const PathEstimates &estimates);

// What the request is expected to take on a path, in microseconds.
double expected_microseconds(const Request &request, const PathEstimates &estimates, Path path);

// Begins to measure a request that was chosen a path.
Attempt begin_attempt(const Request &request, const PathEstimates &estimates, Path path);

// The server was not really asked, so what follows is an attempt of the pages.
void go_to_pages(RequestKind kind);

// Mirrors were loaded, which took so many microseconds where so many were estimated.
void note_load(double estimate, double taken);
// What a load is expected to take, by what those of its size lately took, in microseconds.
double expected_load(double estimate);

}  // namespace pg_gpu::client
