// Inverted runs that the server keeps in memory, and queries ranked by it.
//
// The dictionary stays on pages: the session finds a query's lists there, weighs its terms, and tells the
// server where the lists lie. Tail and sealed tails are ranked here. Scores are integers in fixed point, so
// all paths give the same.
#pragma once

#include "text/request.h"
#include "text/places.h"
#include "text/search.h"
#include "text/steps.h"

namespace pg_gpu::text {

// Says how an index's inverted runs are mirrored. Raw runs have no mirrors.
const client::MirrorFormat *mirror_format(Relation index);

// This is a query on its way through a corpus.
struct RankedQuery {
    Query query;
    Ranking ranking;
    Hit last;             // for ranking.after
    RunPlaces *places;    // by run; nullptr where prefixes have too many lexemes
    ListCursor ***lists;  // by run and term, once pages were asked
    QuerySteps steps;     // for documents that need something else than one list, or all
};

// Ranks the best `limit` documents from the beginning.
void begin_query(const Query &query, uint32 limit, RankedQuery *ranked);

// May the server rank it? Where it may, the lists have been found.
bool is_for_server(Corpus *corpus, RankedQuery *query);

// Does nothing where that is done already.
void find_lists(Corpus *corpus, RankedQuery *query);

// Chooses the path of all these queries together, of which is_for_server must be true, and the runs that are
// read locally meanwhile.
client::Choice choose_ranking_path(Corpus *corpus, const RankedQuery *queries, int count);

// Weighs the terms by the corpus's statistics.
void weigh_queries(Corpus *corpus, const client::Choice &choice, RankedQuery *queries, int count);

// Sets the hits of queries that have the same limit and norms. false when the server is not asked or doesn't
// answer: then they hold nothing of use. On a stale corpus hits mean nothing.
bool rank_by_server(Corpus *corpus, const client::Choice &choice, RankedQuery *queries, int count);
void rank_on_pages(Corpus *corpus, RankedQuery *query);

// Ranks once, by whichever path pays. Weights, norms and limit are the ranking's.
void rank_by_any_path(Corpus *corpus, Ranking *ranking);

// Finds the live entries with all of the query's lexemes in the runs that aren't local, by run and in
// order, palloc'd. Returns false as the function above does.
bool intersect_by_server(Corpus *corpus, const Query &query, ItemPointerData **tids, uint64 *count);

}  // namespace pg_gpu::text
