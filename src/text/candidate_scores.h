// Scores of the documents whose rows other indexes have found: these are gone through, and not the lists.
#pragma once

#include "text/search.h"

namespace pg_gpu::text {

struct ScoredDocuments {
    uint32 *ordinals;
    int64 *scores;
    bool *maybe;  // set where the row must decide whether it matches
    uint32 count;
};

// Returns those of the run's documents whose rows are in the set, dead ones too. Means nothing on a stale
// reader.
OrdinalSet ordinals_of_rows(RunReader *reader, const table::RowSet &set);

// Returns those of the run's documents that are in the ranking's set of rows and match its query and
// conditions, in order of ordinals, dead ones too. `lists` are the query's. Means nothing on a stale reader.
ScoredDocuments score_candidates(RunReader *reader, ListCursor **lists, const Ranking &ranking);

}  // namespace pg_gpu::text
