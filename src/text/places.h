// The places of the lists of a query's terms, as the dictionaries have them, without reading the lists.
#pragma once

#include "text/corpus.h"

namespace pg_gpu::text {

// The places of lists in one run: the lists of term t are places[first[t]] to places[first[t + 1] - 1], none
// where the run has no such lexeme, and one for each lexeme of a prefix.
struct RunPlaces {
    ListPlace *places;
    uint32 *first;
};

inline bool has_places(const RunPlaces &run, int term) {
    return run.first[term] < run.first[term + 1];
}

// Returns the places of the query's lists, by run; nullptr where a run has more than `most` lists.
RunPlaces *find_places(Corpus *corpus, const Query &query, uint32 most);

// Opens the lists, by run and term; with `is_local`, of local runs alone.
ListCursor ***open_lists_at(Corpus *corpus, const Query &query, const RunPlaces *places,
                            const bool *is_local = nullptr);

}  // namespace pg_gpu::text
