#include "text/query.h"

#include <algorithm>

namespace pg_gpu::text {

Mode mode_of(const char *name) {
    static constexpr struct {
        const char *name;
        Mode mode;
    } modes[] = {{"and", Mode::And}, {"or", Mode::Or}, {"and_or", Mode::AndOr}, {"query", Mode::Query}};
    for (const auto &candidate : modes)
        if (strcmp(name, candidate.name) == 0)
            return candidate.mode;
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown search mode \"%s\"", name),
                    errhint("Modes are \"and\", \"or\", \"and_or\" and \"query\".")));
}

// ---- rewriting --------------------------------------------------------------------------------------------

namespace {

struct Operands {
    TSQuery joined;   // operands that are not negated, joined
    TSQuery negated;  // the negated operands, joined by &
    PGFunction join;
};

}  // namespace

static TSQuery join_queries(PGFunction join, TSQuery left, TSQuery right) {
    if (left == nullptr)
        return right;
    return DatumGetTSQuery(DirectFunctionCall2(join, TSQueryGetDatum(left), TSQueryGetDatum(right)));
}

static void gather_operands(QTNode *node, Operands *operands) {
    check_stack_depth();
    if (node->valnode->type == QI_OPR &&
        (node->valnode->qoperator.oper == OP_AND || node->valnode->qoperator.oper == OP_OR)) {
        for (int i = 0; i < node->nchild; i++)
            gather_operands(node->child[i], operands);
        return;
    }
    TSQuery operand = QTN2QT(node);
    if (node->valnode->type == QI_OPR && node->valnode->qoperator.oper == OP_NOT)
        operands->negated = join_queries(tsquery_and, operands->negated, operand);
    else
        operands->joined = join_queries(operands->join, operands->joined, operand);
}

// Says whether the query joins its operands by the mode's operator only.
static bool is_rewritten(TSQuery query, Mode mode) {
    const int8 join = mode == Mode::Or ? OP_OR : OP_AND;
    const QueryItem *items = GETQUERY(query);
    return std::all_of(items, items + query->size, [join](const QueryItem &item) {
        return item.type == QI_VAL || item.qoperator.oper == join;
    });
}

TSQuery rewrite_query(TSQuery query, Mode mode) {
    if (query->size == 0)
        return nullptr;
    if (mode == Mode::Query || is_rewritten(query, mode))
        return query;
    Operands operands = {nullptr, nullptr, mode == Mode::Or ? tsquery_or : tsquery_and};
    gather_operands(QT2QTN(GETQUERY(query), GETOPERAND(query)), &operands);
    if (operands.joined == nullptr || operands.negated == nullptr)
        return operands.joined;
    return join_queries(tsquery_and, operands.joined, operands.negated);
}

// ---- parsing ----------------------------------------------------------------------------------------------

static int compare_terms(const QueryTerm &a, const QueryTerm &b) {
    const int order = compare_lexemes(a.lexeme, a.length, b.lexeme, b.length);
    return order != 0 ? order : int{a.prefix} - int{b.prefix};
}

static void collect_terms(QueryItem *item, char *operands, bool positive, Query *query) {
    check_stack_depth();
    if (item->type == QI_VAL) {
        query->terms[query->term_count++] = {operands + item->qoperand.distance, item->qoperand.length,
                                             item->qoperand.prefix, positive, 0};
        return;
    }
    if (item->qoperator.oper == OP_NOT) {
        collect_terms(item + 1, operands, !positive, query);
        return;
    }
    collect_terms(item + item->qoperator.left, operands, positive, query);
    collect_terms(item + 1, operands, positive, query);
}

static void sort_terms(Query *query) {
    std::sort(query->terms, query->terms + query->term_count,
              [](const QueryTerm &a, const QueryTerm &b) { return compare_terms(a, b) < 0; });
    int kept = 0;
    for (int i = 0; i < query->term_count; i++) {
        if (kept > 0 && compare_terms(query->terms[kept - 1], query->terms[i]) == 0)
            query->terms[kept - 1].ranked |= query->terms[i].ranked;
        else
            query->terms[kept++] = query->terms[i];
    }
    query->term_count = kept;
}

static QueryNode *make_node(QueryNode::Kind kind, int room) {
    auto *node = allocate_zeroed<QueryNode>(1);
    node->kind = kind;
    node->children = allocate<QueryNode *>(room + 1);
    return node;
}

// Children of the same kind become the node's own.
static void adopt(QueryNode *node, QueryNode *child) {
    if (child->kind != node->kind || child->kind == QueryNode::Kind::Phrase) {
        node->children[node->child_count++] = child;
        return;
    }
    const int total = node->child_count + child->child_count;
    node->children = reallocate(node->children, total + 2);
    memcpy(node->children + node->child_count, child->children, child->child_count * sizeof(QueryNode *));
    node->child_count = total;
}

static QueryNode *make_tree(QueryItem *item, char *operands, const Query &query) {
    check_stack_depth();
    if (item->type == QI_VAL) {
        const QueryTerm wanted = {operands + item->qoperand.distance, item->qoperand.length,
                                  item->qoperand.prefix, false, 0};
        QueryNode *node = make_node(QueryNode::Kind::Term, 0);
        const QueryTerm *found =
            std::lower_bound(query.terms, query.terms + query.term_count, wanted,
                             [](const QueryTerm &a, const QueryTerm &b) { return compare_terms(a, b) < 0; });
        node->term = static_cast<int>(found - query.terms);
        node->weighted = item->qoperand.weight != 0;
        node->item = item;
        return node;
    }
    if (item->qoperator.oper == OP_NOT) {
        QueryNode *node = make_node(QueryNode::Kind::Not, 1);
        node->item = item;
        node->children[node->child_count++] = make_tree(item + 1, operands, query);
        return node;
    }
    QueryNode *node = make_node(item->qoperator.oper == OP_AND  ? QueryNode::Kind::And
                                : item->qoperator.oper == OP_OR ? QueryNode::Kind::Or
                                                                : QueryNode::Kind::Phrase,
                                2);
    node->item = item;
    adopt(node, make_tree(item + item->qoperator.left, operands, query));
    adopt(node, make_tree(item + 1, operands, query));
    return node;
}

Query parse_query(TSQuery text) {
    Query query = {};
    query.text = text;
    if (text == nullptr || text->size == 0)
        return query;
    query.terms = allocate<QueryTerm>(text->size);
    collect_terms(GETQUERY(text), GETOPERAND(text), true, &query);
    sort_terms(&query);
    query.root = make_tree(GETQUERY(text), GETOPERAND(text), query);
    return query;
}

bool same_query(TSQuery a, TSQuery b) {
    return a != nullptr && b != nullptr && VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

bool needs_positions(const QueryNode *node) {
    check_stack_depth();
    if (node->kind == QueryNode::Kind::Phrase || node->weighted)
        return true;
    return std::any_of(node->children, node->children + node->child_count, needs_positions);
}

// The items of a subtree follow one another, of which the last are its left operand's.
static uint32 item_count(const QueryItem *item) {
    uint32 count = 0;
    for (; item->type == QI_OPR; item += item->qoperator.oper == OP_NOT ? 1 : item->qoperator.left)
        count += item->qoperator.oper == OP_NOT ? 1 : item->qoperator.left;
    return count + 1;
}

TSQuery text_of(const Query &query, const QueryNode *node) {
    if (node->item == GETQUERY(query.text))
        return query.text;
    const uint32 count = item_count(node->item);
    const char *operands = GETOPERAND(query.text);
    const size_t operand_bytes =
        VARSIZE(query.text) - static_cast<size_t>(operands - reinterpret_cast<const char *>(query.text));
    const size_t bytes = HDRSIZETQ + count * sizeof(QueryItem) + operand_bytes;
    auto *text = reinterpret_cast<TSQuery>(allocate_zeroed<char>(bytes));
    SET_VARSIZE(text, bytes);
    text->size = static_cast<int32>(count);
    memcpy(GETQUERY(text), node->item, count * sizeof(QueryItem));
    memcpy(GETOPERAND(text), operands, operand_bytes);
    return text;
}

static bool is_plain_term(const QueryNode *node) {
    return node->kind == QueryNode::Kind::Term && !node->weighted;
}

bool is_plain_disjunction(const QueryNode *node) {
    return is_plain_term(node) ||
           (node->kind == QueryNode::Kind::Or &&
            std::all_of(node->children, node->children + node->child_count, is_plain_term));
}

bool is_plain_conjunction(const QueryNode *node) {
    return node->kind == QueryNode::Kind::And &&
           std::all_of(node->children, node->children + node->child_count, is_plain_term);
}

// ---- one document -----------------------------------------------------------------------------------------

static Match match_phrase(const QueryNode *node, const uint32 *frequencies) {
    check_stack_depth();
    // Positions decide, and under a NOT they do so whatever the document holds.
    switch (node->kind) {
        case QueryNode::Kind::Term:
            return frequencies[node->term] > 0 ? Match::Maybe : Match::No;
        case QueryNode::Kind::Not:
            return Match::Maybe;
        case QueryNode::Kind::Or:
            for (int i = 0; i < node->child_count; i++)
                if (match_phrase(node->children[i], frequencies) != Match::No)
                    return Match::Maybe;
            return Match::No;
        default:
            for (int i = 0; i < node->child_count; i++)
                if (match_phrase(node->children[i], frequencies) == Match::No)
                    return Match::No;
            return Match::Maybe;
    }
}

Match match_document(const QueryNode *node, const uint32 *frequencies) {
    check_stack_depth();
    Match result;
    switch (node->kind) {
        case QueryNode::Kind::Term:
            if (frequencies[node->term] == 0)
                return Match::No;
            return node->weighted ? Match::Maybe : Match::Yes;
        case QueryNode::Kind::Not:
            result = match_document(node->children[0], frequencies);
            return result == Match::Yes ? Match::No : result == Match::No ? Match::Yes : Match::Maybe;
        case QueryNode::Kind::Phrase:
            return match_phrase(node, frequencies);
        case QueryNode::Kind::And:
            result = Match::Yes;
            for (int i = 0; i < node->child_count && result != Match::No; i++) {
                const Match child = match_document(node->children[i], frequencies);
                if (child != Match::Yes)
                    result = child;
            }
            return result;
        default:
            result = Match::No;
            for (int i = 0; i < node->child_count && result != Match::Yes; i++) {
                const Match child = match_document(node->children[i], frequencies);
                if (child != Match::No)
                    result = child;
            }
            return result;
    }
}

void add_frequency(const Query &query, const Lexeme &lexeme, int *next, uint32 *frequencies) {
    while (*next < query.term_count && compare_lexemes(query.terms[*next].lexeme, query.terms[*next].length,
                                                       lexeme.bytes, lexeme.length) < 0)
        (*next)++;
    if (*next < query.term_count && !query.terms[*next].prefix &&
        compare_lexemes(query.terms[*next].lexeme, query.terms[*next].length, lexeme.bytes, lexeme.length) ==
            0)
        frequencies[*next] += lexeme.frequency;
    // A lexeme's prefixes are not above it, the empty one first.
    const int end = Min(*next + 2, query.term_count);
    for (int i = 0; i < end; i++) {
        const QueryTerm &term = query.terms[i];
        if (term.prefix && term.length <= lexeme.length &&
            memcmp(term.lexeme, lexeme.bytes, term.length) == 0)
            frequencies[i] += lexeme.frequency;
    }
}

void tuple_frequencies(const Query &query, const DocumentTuple *item, uint32 *frequencies) {
    memset(frequencies, 0, query.term_count * sizeof(uint32));
    TupleReader reader = begin_tuple(item);
    int next = 0;
    while (next_lexeme(&reader))
        add_frequency(query, reader.lexeme, &next, frequencies);
}

}  // namespace pg_gpu::text
