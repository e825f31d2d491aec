// The source of an index's documents: tsvectors as they are, or the words of text, jsonb and text[] by a text
// search configuration.
#pragma once

#include "text/document.h"
#include "text/options.h"

namespace pg_gpu::text {

// A DocumentSource says how the indexed value becomes a document.
struct DocumentSource {
    Oid type;           // tsvector, text, jsonb or text[]
    Oid configuration;  // InvalidOid for tsvector
    // Weights of a text[]'s elements, a byte each, the first one's lowest; 0: all count alike.
    uint64 weights;
    LongDocuments long_documents;
};

// Do both make the same words of a value?
inline bool makes_same_words(const DocumentSource &a, const DocumentSource &b) {
    return a.configuration == b.configuration && a.weights == b.weights &&
           a.long_documents == b.long_documents;
}

// The entry that a document is made for, to be named in errors.
struct DocumentPlace {
    Relation index;
    const ItemPointerData *tid;
};

// The source that an index is built from: its option, which names a configuration.
DocumentSource source_to_build(Relation index);

// The source that an index was built from. ALTER INDEX may have named another configuration since, which
// counts from the next REINDEX on.
DocumentSource source_of(Relation index);

// Does the index keep positions? It does what its option said when it was built.
bool keeps_positions(Relation index);

// The options by which the index goes on: codec and parameters as they are now, positions as it was built.
Options built_options(Relation index);

// Returns the part of the options that the metapage keeps.
storage::BuiltWith built_with(Relation index);

// Returns a value's document. Only a tsvector may be the value itself. An element of weight n is there n
// times, as in the simple BM25 of weighted fields (Robertson, Zaragoza and Taylor, CIKM 2004).
TSVector document_of_value(const DocumentSource &source, Datum value, const DocumentPlace *place = nullptr);

// Returns the indexed column's document, and nullptr when it is NULL.
inline TSVector document_of(const DocumentSource &source, const Datum *values, const bool *nulls,
                            const DocumentPlace *place = nullptr) {
    return nulls[0] ? nullptr : document_of_value(source, values[0], place);
}

// Makes a query of what is typed into a search field.
TSQuery typed_query(Oid configuration, Datum typed);

}  // namespace pg_gpu::text
