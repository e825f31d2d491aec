// Maps of immutable expressions, which a session keeps for statements to come: an expression has the same
// result for a code of a run whenever it is asked, because neither changes. So it has for rows of joined
// tables that are kept themselves.
#pragma once

#include "column/scan/cached_results.h"
#include "plan/query/aggregate_compile.h"
#include "plan/query/join_rows.h"

namespace pg_gpu::plan {

struct CachedMap {
    gpu_engine::AggregateInputKind kind;
    uint64 places;
    uint32 width;         // bytes of a value
    const void *values;   // by code; of Wide that of the column's NULL comes last
    const uint64 *nulls;  // a bit a code; of shared ones nullptr where none is NULL
    const uint8 *scales;  // Wide: by code, and of the column's NULL; of others nullptr
    bool column_null_is_null;
    int64 of_column_null;
    int64 least;  // of numbers; above `greatest` when there is none
    int64 greatest;
    // Group: what its numbers stand for, and whether some of these have equals with other bytes.
    const Datum *values_of_groups;
    uint32 groups;
    bool has_variants;
};

// How many values there are, with that of the column's NULL where it is among them.
inline uint64 places_of_map(const CachedMap &map) {
    return map.places + (map.scales == nullptr ? 0 : 1);
}

// Does an expression give the same in every statement, under the settings of cached_results.h? That is so for
// immutable functions of PostgreSQL's own.
bool gives_cacheable_results(const Node *expression);

// What the source's map of this part is found by, in the current memory context. False: it isn't one to keep.
// That is so but for dictionaries of runs, or rows that are kept, and expressions with cacheable results; and
// for ranges.
// `joins`: nullptr where no tables are joined.
bool describe_map(const InputSource &source, const column::AggregatePart &part, const JoinedTables *joins,
                  column::CacheKey *key);

// Copies a map of numerics, if there is room (pg_gpu.map_memory), for which maps that were not used for long
// give way. `changes`: count_changes() of cached_results.h before the map was made.
void keep_map(const column::CacheKey &key, const CachedMap &map, uint64 changes);

// The same with another map, which stays where it is, in a context from begin_results. Groups' values are
// copied there, and have the type.
void share_map(const column::CacheKey &key, MemoryContext room, const CachedMap &map,
               const column::ColumnType &type, uint64 changes);

// Keeps for which rows of a part a truth value holds, whose map by codes has no NULL; good until the
// transaction ends. nullptr: there is no room.
const uint64 *make_true_rows(const column::CacheKey &key, const column::AggregatePart &part,
                             const gpu_engine::AggregateInput &truth, uint64 changes);

}  // namespace pg_gpu::plan
