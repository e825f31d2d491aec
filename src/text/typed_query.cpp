// What is typed into a search field: words, `or`, `-word` and `"a phrase"` as websearch_to_tsquery reads
// them, and `wor*` for words that begin so, which it doesn't know. PostgreSQL's parser takes the whole apart,
// and only what it makes of a word is made here.
#include "memory.h"
#include "text/configuration.h"
#include "text/tsearch.h"

namespace pg_gpu::text {

namespace {

struct Typed {
    Oid configuration;
    const char *begin;
    const char *end;
};

}  // namespace

// The parser hands over a copy of a word, but a phrase where it lies.
static bool is_phrase(const Typed &typed, const char *token) {
    return token >= typed.begin && token < typed.end;
}

static bool is_prefix(const Typed &typed, const char *token, int bytes) {
    return bytes > 1 && token[bytes - 1] == '*' && !is_phrase(typed, token);
}

// Pushes the lexemes of the word at `first`: variants of it, each of which may be several. Returns where the
// next word begins.
static int push_word(TSQueryParserState state, const ParsedText &words, int first, bool prefix) {
    const ParsedWord *all = words.words;
    const auto is_of_word = [&](int i) { return i < words.curwords && all[i].pos.pos == all[first].pos.pos; };
    int i = first;
    while (is_of_word(i)) {
        const int variant = i;
        for (; is_of_word(i) && all[i].nvariant == all[variant].nvariant; i++) {
            pushValue(state, all[i].word, all[i].len, 0, prefix || (all[i].flags & TSL_PREFIX) != 0);
            if (i > variant)
                pushOperator(state, OP_AND, 0);
        }
        if (variant > first)
            pushOperator(state, OP_OR, 0);
    }
    return i;
}

// Pushes a placeholder for each stop word between two others, as PostgreSQL has it.
static void push_stop_words(TSQueryParserState state, int count) {
    for (int i = 0; i < count; i++) {
        pushStop(state);
        pushOperator(state, OP_PHRASE, 1);
    }
}

// A token may be several words to the configuration, which then stand side by side.
static void push_token(Datum argument, TSQueryParserState state, char *token, int bytes, int16, bool) {
    CHECK_FOR_INTERRUPTS();
    const auto *typed = reinterpret_cast<const Typed *>(DatumGetPointer(argument));
    const bool prefix = is_prefix(*typed, token, bytes);
    ParsedText words = {};
    words.lenwords = 4;
    words.words = allocate<ParsedWord>(words.lenwords);
    parsetext(typed->configuration, &words, token, bytes - (prefix ? 1 : 0));
    if (words.curwords == 0) {
        pushStop(state);
        return;
    }
    int next = push_word(state, words, 0, prefix);
    while (next < words.curwords) {
        push_stop_words(state, words.words[next].pos.pos - words.words[next - 1].pos.pos - 1);
        next = push_word(state, words, next, prefix);
        pushOperator(state, OP_PHRASE, 1);
    }
}

TSQuery typed_query(Oid configuration, Datum typed) {
    char *text = text_to_cstring(reinterpret_cast<struct varlena *>(DatumGetPointer(typed)));
    if (strchr(text, '*') == nullptr)
        return DatumGetTSQuery(
            DirectFunctionCall2(websearch_to_tsquery_byid, ObjectIdGetDatum(configuration), typed));
    const Typed state = {configuration, text, text + strlen(text)};
    return parse_web_tsquery(text, push_token, PointerGetDatum(&state));
}

}  // namespace pg_gpu::text
