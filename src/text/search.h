// Ranking finds the best documents of a corpus for a query, by score and then by TID.
#pragma once

#include "table/table.h"
#include "text/corpus.h"
#include "text/match.h"
#include "text/options.h"

namespace pg_gpu::text {

struct Hit {
    int64 score;
    ItemPointerData tid;
    bool maybe;  // set where the row must decide whether it matches
};

// The number of documents that are gone through at a time in a query that one lexeme is enough for.
inline constexpr uint32 kWindow = 2048;

// Says whether `a` comes before `b`.
inline bool ranks_before(const Hit &a, const Hit &b) {
    if (a.score != b.score)
        return a.score > b.score;
    return ItemPointerCompare(const_cast<ItemPointer>(&a.tid), const_cast<ItemPointer>(&b.tid)) < 0;
}

// A ranking asks for the best `limit` documents that come behind `after`, best first. `conditions` are
// further trees that a document must match, over queries of their own. With `among`, documents of these rows
// are ranked only.
struct Ranking {
    const Query *query;
    postings::Norms norms;
    uint32 limit;
    const Hit *after;  // nullptr: from the beginning
    const Query *conditions;
    int condition_count;
    const table::RowSet *among;  // nullptr: of all
    // The result.
    Hit *hits;
    uint32 hit_count;
};

// Allocates hits in the current memory context. On a stale corpus the result means nothing.
void rank(Corpus *corpus, ListCursor ***lists, Ranking *ranking);

// Does the same from hits of runs, which are the best `limit` of each, from tuples, and from the local runs,
// whose lists these are.
void rank_local_runs_and_hits(Corpus *corpus, ListCursor ***lists, const Hit *hits, uint64 count,
                              Ranking *ranking);

// Returns a factor, at most 1: every norm is at least so many times what it was when the run's bounds were
// written.
double bound_shrink(const RunReader *reader, const postings::Norms &norms);

// Finds the documents of each run that match the query and the conditions.
OrdinalSet match_all_conditions(RunReader *reader, const Query *query, ListCursor **lists,
                                const Query *conditions, int condition_count);
Match match_tail_tuple(const DocumentTuple *tail_tuple, const Query *query, const Query *conditions,
                       int condition_count);

}  // namespace pg_gpu::text
