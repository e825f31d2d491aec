// The documents of a run that a query's tree matches are found as sets of ordinals.
#pragma once

#include "text/query.h"
#include "text/reader.h"

namespace pg_gpu::text {

// A set is made of sorted ordinals, or of all others.
struct OrdinalSet {
    uint32 *ordinals;
    uint32 count;
    bool complement;
    bool exact;  // else the rows decide which of them match
};

// `lists` are those of the query's terms.
OrdinalSet match_run(RunReader *reader, const Query &query, ListCursor **lists);

// Returns the intersection of both sets.
OrdinalSet intersect_sets(const OrdinalSet &a, const OrdinalSet &b);

inline OrdinalSet whole_run() {
    return {nullptr, 0, true, true};
}

}  // namespace pg_gpu::text
