// Inside the client: runs that requests met without mirrors. This says whether loading them pays, and which
// of them sessions read from pages until then.
#pragma once

#include "residency/residency.h"

namespace pg_gpu::client {

// Is called when a run turned out not to be resident, and returns whether it is to be loaded. When it isn't,
// this session reads it from pages for a while.
bool may_load(const RunSet &set, int place, const Choice &choice, uint64 all_entries);

// Returns how many entries the set's live runs have together.
uint64 live_entries(const RunSet &set, const LiveRuns &live);

// Returns how many microseconds a load is expected to take by the settings alone.
double load_microseconds(const RunSet &set, int place, Path path);
// Returns the share of this that is the server's work on the entries once all have come.
double finish_microseconds(const RunSet &set, const storage::RunEntry &run, Path path);

// These note the outcome of a load: the mirror is there, another session loads it, the view is out of date,
// or there is no room.
void note_loaded(const RunSet &set, int place, Path path);
void note_loading(const RunSet &set, int place, Path path);
void note_recycled();
void note_no_room(const RunSet &set, int place, Path path);

}  // namespace pg_gpu::client
