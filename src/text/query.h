// A tsquery asks the index for its lexemes and for a tree over them.
#pragma once

#include "text/document.h"

namespace pg_gpu::text {

enum class Mode { And, Or, AndOr, Query };

// Raises an ERROR when the name is none of and, or, and_or, query.
Mode mode_of(const char *name);

// A term is a distinct lexeme, or a prefix, which counts as one lexeme.
struct QueryTerm {
    const char *lexeme;
    uint32 length;
    bool prefix;
    bool ranked;  // counts in the score: stands under an even number of NOTs
    double weight;
};

struct QueryNode {
    enum class Kind { Term, And, Or, Not, Phrase } kind;
    int term;
    bool weighted;    // asks for positions' weights
    QueryItem *item;  // item that it was made of
    QueryNode **children;
    int child_count;
};

struct Query {
    TSQuery text;      // the query that a row must match, in the form that the mode gives it
    QueryNode *root;   // nullptr: matches nothing
    QueryTerm *terms;  // by lexeme, prefixes after equal lexemes
    int term_count;
};

// Rewrites a tsquery for a mode: And asks for all of its operands, Or for one at least; & and | are looked
// through, what stands under ! or <-> is one operand, and operands under ! must always fail to match.
// nullptr when nothing can match.
TSQuery rewrite_query(TSQuery query, Mode mode);

Query parse_query(TSQuery text);

// Says whether two queries are written in the same way, which is false when one is nullptr.
bool same_query(TSQuery a, TSQuery b);

// Says whether any answer needs positions, which are the rows' where the index keeps none.
bool needs_positions(const QueryNode *node);

// Says whether the query has one or more lexemes, none of them weighted, of which a document needs one.
bool is_plain_disjunction(const QueryNode *node);

// Says whether the query has at least two lexemes, none of them weighted, of which a document needs all.
bool is_plain_conjunction(const QueryNode *node);

enum class Match { No, Yes, Maybe };

inline Match both(Match a, Match b) {
    if (a == Match::No || b == Match::No)
        return Match::No;
    return a == Match::Yes && b == Match::Yes ? Match::Yes : Match::Maybe;
}

// Returns the part of the query's text that a node was made of.
TSQuery text_of(const Query &query, const QueryNode *node);

// Says whether one document matches, given its frequencies by term.
Match match_document(const QueryNode *node, const uint32 *frequencies);

// Finds the frequencies by term of an item's document.
void tuple_frequencies(const Query &query, const DocumentTuple *item, uint32 *frequencies);

// Adds a lexeme of a document, whose lexemes come in order, to frequencies that were zero; *next is the first
// term not yet passed, 0 at the beginning.
void add_frequency(const Query &query, const Lexeme &lexeme, int *next, uint32 *frequencies);

}  // namespace pg_gpu::text
