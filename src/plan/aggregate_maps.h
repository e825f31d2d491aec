// Maps of immutable expressions, which a session keeps for statements to come: an expression has the same
// result for a code of a run whenever it is asked, because neither changes.
#pragma once

#include "plan/aggregate_compile.h"

namespace pg_gpu::plan {

struct KeptMap {
    uint64 places;
    uint32 width;         // bytes of a value
    const void *values;   // by code; of Wide that of the column's NULL comes last
    const uint64 *nulls;  // a bit a code
    const uint8 *scales;  // Wide: by code, and of the column's NULL; of others nullptr
    bool column_null_is_null;
    int64 of_column_null;
    int64 least;  // of numbers; above `greatest` when there is none
    int64 greatest;
};

// With that of the column's NULL, where it is among the values.
inline uint64 places_of_map(const KeptMap &map) {
    return map.places + (map.scales == nullptr ? 0 : 1);
}

// Is the source's map of this part one to keep? That is so for dictionaries of runs, and for immutable
// functions of PostgreSQL's own.
bool is_map_kept(const InputSource &source, const column::AggregatePart &part);

// The map of a source's results for all of a part's codes; nullptr when there is none. Good until maps are
// kept again.
const KeptMap *find_map(const InputSource &source, const column::AggregatePart &part);

// Copies it, if there is room (pg_gpu.map_memory), for which maps that were not used for long give way.
// `changes`: count_changes() of kept_results.h before the map was made.
void keep_map(const InputSource &source, const column::AggregatePart &part, const KeptMap &map,
              uint64 changes);

}  // namespace pg_gpu::plan
