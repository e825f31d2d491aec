// Copies of runs' pages that a reader makes for itself when a merge has recycled pages under it (rule
// "Recycled pages"): what it has a copy of can't be taken from it again.
#pragma once

#include "storage/format.h"

namespace pg_gpu::storage {

struct View;

struct Copies;

// A reader's copies. They outlive its views, and are the next view's where that lists the same runs.
struct CachedRuns {
    MemoryContext owner;  // lives as long as the reader
    uint32 page_limit;    // runs of at most so many pages are copied when a view is taken; 0: none
    Copies *copies;       // nullptr: none yet
};

// begin_cached only remembers the current memory context, in which the copies will live: nothing is copied
// until a page was recycled. end_cached frees the copies; deleting the context does, too.
void begin_cached(CachedRuns *cached);
void end_cached(CachedRuns *cached);

// Is called when the reader has got on: the next recycled page then counts as the first again.
inline void got_on(CachedRuns *cached) {
    cached->page_limit = 0;
}

// take_view calls both for a reader whose pages were recycled. cache_small_runs copies runs of a few pages
// that are in shared buffers while the metapage is locked, so that nobody can recycle them; cache_large_runs
// copies others once it isn't, as far as it comes.
void cache_small_runs(Relation index, View *view);
void cache_large_runs(Relation index, View *view);

// Returns a page of a run that the reader has a copy of; nullptr when it has none. Where *temporary is set
// the caller pfrees the page.
Page cached_page(Relation index, const RunEntry &run, uint32 position, bool *temporary);

}  // namespace pg_gpu::storage
