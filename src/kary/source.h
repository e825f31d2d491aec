// The sources of matches that a scan merges.
#pragma once

#include "kary/format.h"

namespace pg_gpu::kary {

// Matches in index order, as many of them as are held at a time. `at` is a gap between them, so that the scan
// can turn round anywhere. A Cursor reads a run's pages or the tail, a RemoteSource asks the server process.
template <typename Key>
struct Source {
    NullMask nulls;  // the same columns of all entries are NULL
    Key *keys;
    ItemPointerData *tids;
    uint32 room;
    uint32 count;
    uint32 at;
};

// The outcome of a source's step. Restart: its view has gone stale, or the server process does not answer.
enum class Step { Entry, End, Restart };

}  // namespace pg_gpu::kary
