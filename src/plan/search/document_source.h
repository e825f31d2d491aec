// Where the document of `document @@@ 'what was typed'` comes from, and which index says how its words are
// made.
#pragma once

#include "text/gpu_text.h"

namespace pg_gpu::plan {

// The source of a document: an expression over one table, in the query that reads that table.
struct Source {
    const Query *query;
    const RangeTblEntry *table;
    Index table_number;
    Node *expression;
};

// Returns the document's sources, one by one of the parts of a UNION and its like: a List of Source. NIL
// where some source isn't an expression over one table.
List *find_sources(PlannerInfo *root, Node *document);

// An index that says how a document's words are made.
struct DocumentIndex {
    Oid oid;
    Oid family;
    Oid type;  // type that the operator class is for
    text::DocumentSource words;
};

// Finds the index that says how the words of all of the sources are made. It doesn't depend on what the
// planner or a restore has made of the indexes: those whose predicate the query doesn't imply count only if
// there are no others, those that count must agree, and the statistics for ranking are those of an index of
// all rows rather than of some, and then of the first by name. Returns false if a source has no index, or the
// parts of a UNION don't agree. Raises an error where indexes of a table disagree.
bool find_document_index(List *sources, DocumentIndex *found);

}  // namespace pg_gpu::plan
