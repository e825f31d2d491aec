// The value of gpu.query(): a tsquery with an index's statistics at one instant, so that a score depends on
// the row alone, whatever plan finds it.
#pragma once

#include "text/configuration.h"
#include "text/query.h"

namespace pg_gpu::text {

struct Bm25Query {
    int32 varlena_header;
    Oid index;
    int32 term_count;
    // Configuration that the documents' words were made by; InvalidOid: documents are tsvectors.
    Oid configuration;
    uint64 element_weights;  // DocumentSource::weights
    uint64 long_documents;   // DocumentSource::long_documents
    postings::Norms norms;
    double weights[FLEXIBLE_ARRAY_MEMBER];  // by term; the tsquery follows
};

inline const TSQueryData *query_text(const Bm25Query *query) {
    return reinterpret_cast<const TSQueryData *>(query->weights + query->term_count);
}

// Returns how the words of documents of a type are made, to be compared with the query's.
inline DocumentSource source_of(const Bm25Query *query, Oid type) {
    return {type, query->configuration, query->element_weights,
            static_cast<LongDocuments>(query->long_documents)};
}

Bm25Query *make_bm25_query(Oid index, const DocumentSource &source, const Query &query,
                           const postings::Norms &norms);

// Parses the query in the value and puts the weights in place. The result refers to the value's memory.
Query parse_bm25_query(const Bm25Query *value);

// Has all words weigh the same, and lengths not count, where there are no statistics.
void weigh_alike(Query *query, postings::Norms *norms);

// Returns a matching document's score, in units.
int64 document_score(const Query &query, const postings::Norms &norms, const uint32 *frequencies,
                     uint32 length);

}  // namespace pg_gpu::text
