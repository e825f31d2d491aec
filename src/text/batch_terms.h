// The lexemes of a batch's queries. Queries of a batch have many in common, so each is looked up once in the
// runs' dictionaries and in the tuples of the tail and of sealed tails, and not once for each query.
#pragma once

#include "text/corpus.h"

namespace pg_gpu::text {

struct BatchTerm {
    const char *lexeme;  // with the length: the key
    uint32 length;
    uint32 queries;       // number of queries that have it
    ListPlace *places;    // by run, as a dictionary has it; nullptr until it is asked for
    uint32 *frequencies;  // by tuple; nullptr where tuples aren't known
    uint64 tail_tuples;   // number of tail tuples that have it
};

struct BatchTerms {
    HTAB *terms;
    // The corpus's tuples that are not dead; nullptr where they take too much for so many lexemes.
    const DocumentTuple **tail_tuples;
    uint32 item_count;
};

// Makes corpus->batch of the queries' lexemes. Prefixes are none.
void begin_batch(Corpus *corpus, const Query *queries, int count);

// Does the batch know the tuples of all of the query's terms? They become terms[0] to terms[term_count - 1].
bool find_terms_of_tuples(const Corpus *corpus, const Query &query, BatchTerm **terms);

// Returns the places of a term's lists, by run. Returns nullptr if the term isn't known or is one query's
// alone, and if the batch has too many terms for so many runs.
const ListPlace *places_of_term(Corpus *corpus, const QueryTerm &term);

}  // namespace pg_gpu::text
