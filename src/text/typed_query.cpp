// What is typed into a search field: words, `or`, `-word` and `"a phrase"` as websearch_to_tsquery reads
// them, and `wor*` for words that begin so, which it doesn't know.
#include "memory.h"
#include "text/configuration.h"
#include "text/tsearch.h"

namespace pg_gpu::text {

namespace {

// What is typed between two `or`: what websearch_to_tsquery reads, and what `*` stands behind, as a tsquery.
struct Alternative {
    StringInfoData plain;
    TSQuery prefixes;
};

struct Token {
    const char *begin;
    const char *end;
};

}  // namespace

// Finds the next word that stands outside of quotes. Returns false at the end.
static bool next_token(const char **at, const char *end, Token *token) {
    bool is_quoted = false;
    while (*at < end && (is_quoted || **at == '"' || isspace(static_cast<unsigned char>(**at)))) {
        is_quoted = is_quoted != (**at == '"');
        ++*at;
    }
    token->begin = *at;
    while (*at < end && **at != '"' && !isspace(static_cast<unsigned char>(**at)))
        ++*at;
    token->end = *at;
    return token->begin < token->end;
}

static bool is_or(const Token &token) {
    return token.end - token.begin == 2 && pg_strncasecmp(token.begin, "or", 2) == 0;
}

static bool is_negated(const Token &token) {
    return *token.begin == '-';
}

static bool is_prefix(const Token &token) {
    return token.end - token.begin > (is_negated(token) ? 2 : 1) && token.end[-1] == '*';
}

static TSQuery both_of(TSQuery a, TSQuery b) {
    return a == nullptr
               ? b
               : DatumGetTSQuery(DirectFunctionCall2(tsquery_and, TSQueryGetDatum(a), TSQueryGetDatum(b)));
}

static TSQuery prefix_query(Oid configuration, const Token &token) {
    StringInfoData word;
    initStringInfo(&word);
    appendStringInfoChar(&word, '\'');
    for (const char *at = token.begin + (is_negated(token) ? 1 : 0); at < token.end - 1; at++) {
        if (*at == '\'' || *at == '\\')
            appendStringInfoChar(&word, *at);
        appendStringInfoChar(&word, *at);
    }
    appendStringInfoString(&word, "':*");
    const Datum query =
        DirectFunctionCall2(to_tsquery_byid, ObjectIdGetDatum(configuration), CStringGetTextDatum(word.data));
    return DatumGetTSQuery(is_negated(token) ? DirectFunctionCall1(tsquery_not, query) : query);
}

static bool is_blank(const StringInfoData &text) {
    return strspn(text.data, " \t\n\r\f\v") == static_cast<size_t>(text.len);
}

static TSQuery read_plain(Oid configuration, const StringInfoData &text) {
    return DatumGetTSQuery(DirectFunctionCall2(websearch_to_tsquery_byid, ObjectIdGetDatum(configuration),
                                               CStringGetTextDatum(text.data)));
}

// Adds an alternative to those before it.
static TSQuery finish_alternative(Oid configuration, const Alternative &alternative, TSQuery before) {
    TSQuery query = alternative.prefixes;
    if (!is_blank(alternative.plain))
        query = both_of(query, read_plain(configuration, alternative.plain));
    if (query == nullptr || before == nullptr)
        return query == nullptr ? before : query;
    return DatumGetTSQuery(DirectFunctionCall2(tsquery_or, TSQueryGetDatum(before), TSQueryGetDatum(query)));
}

static Alternative begin_alternative() {
    Alternative alternative = {};
    initStringInfo(&alternative.plain);
    return alternative;
}

TSQuery typed_query(Oid configuration, Datum typed) {
    const char *from = text_to_cstring(reinterpret_cast<struct varlena *>(DatumGetPointer(typed)));
    const char *end = from + strlen(from);
    TSQuery query = nullptr;
    bool has_prefixes = false;
    Alternative alternative = begin_alternative();
    Token token;
    for (const char *at = from; next_token(&at, end, &token);) {
        if (!is_prefix(token) && !is_or(token))
            continue;
        appendBinaryStringInfo(&alternative.plain, from, static_cast<int>(token.begin - from));
        from = token.end;
        if (is_prefix(token)) {
            has_prefixes = true;
            alternative.prefixes = both_of(alternative.prefixes, prefix_query(configuration, token));
        } else {
            query = finish_alternative(configuration, alternative, query);
            alternative = begin_alternative();
        }
    }
    if (!has_prefixes)
        return DatumGetTSQuery(
            DirectFunctionCall2(websearch_to_tsquery_byid, ObjectIdGetDatum(configuration), typed));
    appendBinaryStringInfo(&alternative.plain, from, static_cast<int>(end - from));
    return finish_alternative(configuration, alternative, query);
}

}  // namespace pg_gpu::text
