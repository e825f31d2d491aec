// Text search configurations gpu.bigrams and gpu.trigrams: text in languages that are written without spaces,
// and parts of words. A word becomes all strings of two or three characters in it, side by side, so what is
// typed is a phrase of such strings, which is where the word is a part of another.
//
// Less than two or three characters are searched as the beginning of a string. Those at the end of a word
// begin none, so a word's last string has them as further lexemes: `bc` of `abc` also has `c bc`. A query of
// `abc` asks for `ab <-> (bc | c bc)`, which is no more than `ab <-> bc`, since `c bc` is nowhere without
// `bc`.
#include "memory.h"
#include "text/tsearch.h"

PG_GPU_FUNCTION(pg_gpu_begin_bigrams);
PG_GPU_FUNCTION(pg_gpu_begin_trigrams);
PG_GPU_FUNCTION(pg_gpu_next_gram);
PG_GPU_FUNCTION(pg_gpu_end_grams);
PG_GPU_FUNCTION(pg_gpu_gram_types);
PG_GPU_FUNCTION(pg_gpu_last_gram_lexemes);
PG_GPU_FUNCTION(pg_gpu_short_word_lexemes);

namespace pg_gpu::text {

namespace {

enum GramType : int { kNoGram = 0, kGram = 1, kLastGram = 2, kShortWord = 3 };

// A parse of one text.
struct Grams {
    char *text;
    const char *at;
    const char *end;
    int size;
};

}  // namespace

template <typename T>
static T *argument(FunctionCallInfo fcinfo, int number) {
    return reinterpret_cast<T *>(PG_GETARG_POINTER(number));
}

// ---- characters -------------------------------------------------------------------------------------------

// Full-width and half-width characters become the usual ones, and capital letters small ones.
static char *normalize(const char *text, int bytes) {
    char *normal = pnstrdup(text, bytes);
    if (GetDatabaseEncoding() == PG_UTF8 && !pg_is_ascii(normal))
        normal = text_to_cstring(reinterpret_cast<struct varlena *>(DatumGetPointer(
            OidFunctionCall2(F_NORMALIZE, CStringGetTextDatum(normal), CStringGetTextDatum("NFKC")))));
    return str_tolower(normal, strlen(normal), DEFAULT_COLLATION_OID);
}

// Spaces and punctuation are between words. The database's locale isn't asked: many know ASCII alone.
static bool is_between_words(const char *at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (!IS_HIGHBIT_SET(byte))
        return !isalnum(byte);
    if (GetDatabaseEncoding() != PG_UTF8)
        return false;
    const pg_wchar c = utf8_to_unicode(reinterpret_cast<const unsigned char *>(at));
    const bool is_latin_sign = c < 0xc0;
    const bool is_general = c >= 0x2000 && c <= 0x206f;
    // Those of Chinese and Japanese, but not the signs for repetition, closing and zero.
    const bool is_ideographic = c >= 0x3000 && c <= 0x3020 && (c < 0x3005 || c > 0x3007);
    const bool is_middle_dot = c == 0x30fb;
    return is_latin_sign || is_general || is_ideographic || is_middle_dot;
}

static bool is_at_word(const char *at, const char *end) {
    return at < end && !is_between_words(at);
}

// ---- the parser -------------------------------------------------------------------------------------------

static Grams *begin_grams(FunctionCallInfo fcinfo, int size) {
    char *text = normalize(argument<const char>(fcinfo, 0), PG_GETARG_INT32(1));
    auto *grams = allocate<Grams>(1);
    *grams = {text, text, text + strlen(text), size};
    return grams;
}

// Finds the next string, which ends at `end`, and goes on to where the one behind it begins.
static GramType next_gram(Grams *grams, const char **begin, const char **end) {
    while (grams->at < grams->end && is_between_words(grams->at))
        grams->at += pg_mblen(grams->at);
    *begin = *end = grams->at;
    int characters = 0;
    for (; characters < grams->size && is_at_word(*end, grams->end); characters++)
        *end += pg_mblen(*end);
    if (characters == 0)
        return kNoGram;
    if (is_at_word(*end, grams->end)) {
        grams->at += pg_mblen(grams->at);
        return kGram;
    }
    grams->at = *end;
    return characters < grams->size ? kShortWord : kLastGram;
}

static LexDescr describe(GramType type, const char *name, const char *description) {
    return {type, pstrdup(name), pstrdup(description)};
}

// ---- the dictionaries -------------------------------------------------------------------------------------

// Returns the lexemes of what a word ends with: the string itself, and each of its ends with the string
// behind it. They are variants, of which a query asks for any.
static TSLexeme *lexemes_at_end(FunctionCallInfo fcinfo, uint16 flags) {
    const auto *text = argument<const char>(fcinfo, 1);
    const int bytes = PG_GETARG_INT32(2);
    auto *lexemes = allocate_zeroed<TSLexeme>(pg_mbstrlen_with_len(text, bytes) + 1);
    char *whole = pnstrdup(text, bytes);
    lexemes[0] = {1, flags, whole};
    uint16 variant = 1;
    for (const char *end = whole + pg_mblen(whole); *end != '\0'; end += pg_mblen(end)) {
        lexemes[variant] = {static_cast<uint16>(variant + 1), 0, psprintf("%s %s", end, whole)};
        variant++;
    }
    return lexemes;
}

}  // namespace pg_gpu::text

using namespace pg_gpu;

Datum pg_gpu_begin_bigrams(PG_FUNCTION_ARGS) {
    PG_RETURN_POINTER(text::begin_grams(fcinfo, 2));
}

Datum pg_gpu_begin_trigrams(PG_FUNCTION_ARGS) {
    PG_RETURN_POINTER(text::begin_grams(fcinfo, 3));
}

Datum pg_gpu_next_gram(PG_FUNCTION_ARGS) {
    const char *begin;
    const char *end;
    const text::GramType type = text::next_gram(text::argument<text::Grams>(fcinfo, 0), &begin, &end);
    *text::argument<const char *>(fcinfo, 1) = begin;
    *text::argument<int>(fcinfo, 2) = static_cast<int>(end - begin);
    PG_RETURN_INT32(type);
}

Datum pg_gpu_end_grams(PG_FUNCTION_ARGS) {
    auto *grams = text::argument<text::Grams>(fcinfo, 0);
    pfree(grams->text);
    pfree(grams);
    PG_RETURN_VOID();
}

Datum pg_gpu_gram_types(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    auto *types = allocate_zeroed<LexDescr>(4);
    types[0] = text::describe(text::kGram, "gram", "Characters within a word");
    types[1] = text::describe(text::kLastGram, "last_gram", "Characters at the end of a word");
    types[2] = text::describe(text::kShortWord, "short_word", "Word of fewer characters");
    PG_RETURN_POINTER(types);
}

Datum pg_gpu_last_gram_lexemes(PG_FUNCTION_ARGS) {
    PG_RETURN_POINTER(text::lexemes_at_end(fcinfo, 0));
}

// A query of it asks for what begins so.
Datum pg_gpu_short_word_lexemes(PG_FUNCTION_ARGS) {
    PG_RETURN_POINTER(text::lexemes_at_end(fcinfo, TSL_PREFIX));
}
