// PostgreSQL itself decides whether a document that has a query's lexemes matches its phrases and weights: it
// is given a tsvector that has nothing but the query's lexemes, with the positions that the index keeps.
#pragma once

#include "text/query.h"
#include "text/reader.h"

namespace pg_gpu::text {

// Decides by a node of the query, for documents of a run in order of their ordinals. The run must have
// positions; where a document's aren't known it is Maybe.
void decide_documents(RunReader *reader, const Query &query, const QueryNode *node, const uint32 *ordinals,
                      uint32 count, Match *decided);

// Decides by a node of the query for documents that have none of its lexemes.
bool matches_without_lexemes(const Query &query, const QueryNode *node);

// Decides by the whole query for a tuple's document. It is Maybe where its positions aren't known.
Match decide_tail_tuple(const Query &query, const DocumentTuple *tail_tuple);

}  // namespace pg_gpu::text
