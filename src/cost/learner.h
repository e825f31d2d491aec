// Inside the client: what requests and loads really took, from which the choice of a path and of what to load
// learns. One place in shared memory holds it for all sessions, so that a new session begins with what others
// know. A session whose costs are its user's own, and one that shared memory has no room for, learns by
// itself.
//
// Of a request counts all that its statement waits for until it has the answer: queues, looking rows up in
// the table, and the pages where the server process did not answer. Loading mirrors does not, because that is
// weighed by itself (residency/mirrors.cpp), nor do looks at all pages that a table's facts are about: every
// path takes them, and they take many times longer when no other session has just looked.
#pragma once

#include "rpc/client.h"
#include "gpu_engine/protocol.h"

namespace pg_gpu::client {

// From _PG_init while preloading: room in shared memory.
void reserve_cost_learner();

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
// What a load is expected to take, in microseconds, by what those of its size lately took.
double expected_load(double estimate);

// What requests would have saved had a run been resident, in microseconds, which is weighed against what
// loading it costs. Sessions add it up together, so that short sessions load what many of them miss. There is
// room for 128 runs; where there are more, those that were missed least begin at zero again.
void add_saving(const gpu_engine::protocol::RunName &run, double microseconds);
double saving_of_run(const gpu_engine::protocol::RunName &run);
void forget_saving(const gpu_engine::protocol::RunName &run);

}  // namespace pg_gpu::client
