// An estimate of how many rows `@@@` leaves, by what the table's index knows of the query's words. It looks
// at no row and no statistics of the column: making words of a table's most common values would take
// milliseconds, each time that a statement is planned.
#include "access_methods.h"
#include "text/bm25.h"
#include "text/corpus.h"
#include "text/match.h"
#include "text/planned.h"
#include "text/text.h"

PG_GPU_FUNCTION(pg_gpu_match_selectivity);

namespace pg_gpu::text {

// A word's share of the documents where nothing is known of it.
static constexpr double kWordShare = 0.01;

// A prefix's lexemes are counted up to this many of each run. With more it is common anyway.
static constexpr int kMaxOfPrefix = 1000;

// ---- shares of words --------------------------------------------------------------------------------------

// Returns how many of the run's documents have the term, dead ones too; of a prefix's lexemes each counts.
static uint64 count_in_run(RunReader *reader, const QueryTerm &term, DictionaryCursor *dictionary) {
    if (!term.prefix)
        return find_lexeme(dictionary, reader, term.lexeme, term.length) ? dictionary->frequency : 0;
    uint64 total = 0;
    int left = kMaxOfPrefix;
    for (seek_lexeme(dictionary, reader, term.lexeme, term.length);
         !dictionary->end && left-- > 0 && dictionary->lexeme_length >= term.length &&
         memcmp(dictionary->lexeme, term.lexeme, term.length) == 0;
         next_entry(dictionary))
        total += dictionary->frequency;
    return total;
}

static uint64 count_entries(const Corpus *corpus) {
    uint64 entries = 0;
    for_each_tail_tuple(corpus->raws[0], [&](const DocumentTuple *) { entries++; });
    for (int i = 0; i < corpus->view.run_count; i++)
        entries += corpus->view.runs[i].entries;
    return entries;
}

// Returns the terms' shares of the index's entries. Dead ones are taken to be as the others are, so their
// bitmaps aren't read.
static double *read_shares(Relation index, const Query &query) {
    auto *shares = allocate_zeroed<double>(query.term_count + 1);
    const auto count = [&](Corpus *corpus) {
        auto *counts = allocate_zeroed<uint64>(query.term_count + 1);
        auto *dictionary = allocate<DictionaryCursor>(1);
        count_in_tuples(corpus, query, counts);
        for (int run = 0; run < corpus->run_count; run++)
            for (int term = 0; term < query.term_count && !corpus->runs[run].stale; term++)
                counts[term] += count_in_run(&corpus->runs[run], query.terms[term], dictionary);
        const double entries = Max(static_cast<double>(count_entries(corpus)), 1.0);
        for (int term = 0; term < query.term_count; term++)
            shares[term] = Min(static_cast<double>(counts[term]) / entries, 1.0);
    };
    with_corpus(index, nullptr, count, DeadEntries::Ignored);
    return shares;
}

// `shares` are those of terms; nullptr where nothing is known of them.
static double estimate(const QueryNode *node, const double *shares) {
    check_stack_depth();
    double none = 1;  // has a document of none of the children
    double all = 1;
    for (int i = 0; i < node->child_count; i++) {
        const double share = estimate(node->children[i], shares);
        none *= 1 - share;
        all *= share;
    }
    switch (node->kind) {
        case QueryNode::Kind::Or:
            return 1 - none;
        case QueryNode::Kind::Not:
            return none;
        case QueryNode::Kind::And:
        case QueryNode::Kind::Phrase:
            return all;
        case QueryNode::Kind::Term:
            break;
    }
    return shares == nullptr ? kWordShare : shares[node->term];
}

static double estimate_query(PlannerInfo *root, Node *document, const Bm25Query *value) {
    const Query query = parse_bm25_query(value);
    if (query.root == nullptr)
        return 0;
    Relation index = open_index_of(root, document, value);
    if (index == nullptr)
        return estimate(query.root, nullptr);
    const double share = estimate(query.root, read_shares(index, query));
    index_close(index, NoLock);
    return share;
}

}  // namespace pg_gpu::text

using namespace pg_gpu;

// An operator's restriction estimator gets the planner's state, the operator, its arguments, and the
// relation.
Datum pg_gpu_match_selectivity(PG_FUNCTION_ARGS) {
    auto *root = static_cast<PlannerInfo *>(static_cast<void *>(PG_GETARG_POINTER(0)));
    auto *arguments = static_cast<List *>(static_cast<void *>(PG_GETARG_POINTER(2)));
    if (list_length(arguments) != 2)
        PG_RETURN_FLOAT8(text::kWordShare);
    Node *query = estimate_expression_value(root, static_cast<Node *>(lsecond(arguments)));
    if (!IsA(query, Const))
        PG_RETURN_FLOAT8(text::kWordShare);
    if (castNode(Const, query)->constisnull)
        PG_RETURN_FLOAT8(0);
    const Datum value = castNode(Const, query)->constvalue;
    switch (exprType(query)) {
        case TEXTOID:
            PG_RETURN_FLOAT8(text::kWordShare);
        case TSQUERYOID: {
            const text::Query parsed = text::parse_query(DatumGetTSQuery(value));
            PG_RETURN_FLOAT8(parsed.root == nullptr ? 0 : text::estimate(parsed.root, nullptr));
        }
        default:
            PG_RETURN_FLOAT8(
                text::estimate_query(root, static_cast<Node *>(linitial(arguments)),
                                     reinterpret_cast<text::Bm25Query *>(PG_DETOAST_DATUM(value))));
    }
}
