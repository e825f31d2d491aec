// The results of functions for values of a run's dictionary, which a session keeps for later statements: runs
// don't change, and neither does what an immutable function gives.
#pragma once

#include "column/format/format.h"

namespace pg_gpu::column {

// Results are distinguished by the run, its column, what kind of results they are, and an expression.
struct CacheKey {
    Relation index;
    uint64 run_id;  // 0: all of the index
    int column;
    int kind;
    const Node *expression;
};

// These are the kinds of conditions, and of the rows that conditions leave.
inline constexpr int kCachedMatches = -1;
inline constexpr int kCachedMatchingRows = -2;
// Numerics of a dictionary, as integers.
inline constexpr int kKeptDecimals = -3;
// Which of a few values an expression gives for each entry.
inline constexpr int kKeptResults = -4;

// May a function's results be cached? That is so for PostgreSQL's own ones: what others do may depend on
// tables and on settings, whatever they are declared to be.
bool gives_cacheable_results(Oid function);

// Appends the settings that these results depend on.
void describe_settings(StringInfo text);

// Returns how often the catalogs that results depend on have changed. Results are cached only if the number
// is that from before they were made.
uint64 count_changes();

// Returns results as they were added; nullptr when there are none. They are good until others are added.
const void *find_results(const CacheKey &key);

// Returns the same results, which are good until the transaction ends.
const void *use_results(const CacheKey &key);

// Returns where results of so many bytes are to be put; nullptr when they would take more than
// pg_gpu.map_memory.
MemoryContext begin_results(size_t bytes);

// Keeps results that lie in such a context, with all that belongs to them, or drops them where there is no
// room. Results that were not used for long give way.
void add_results(const CacheKey &key, MemoryContext context, const void *results, uint64 changes);

// The same for results that the statement goes on using, which are then good until the transaction ends.
// False: there is no room, and the context stays the statement's.
bool share_results(const CacheKey &key, MemoryContext context, const void *results, uint64 changes);

}  // namespace pg_gpu::column
