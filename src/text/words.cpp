// What documents are made of: the words of text, jsonb and text[] by a text search configuration, as far as a
// tsvector has room for them.
#include <algorithm>

#include "memory.h"
#include "text/configuration.h"

namespace pg_gpu::text {

// ---- words in order ---------------------------------------------------------------------------------------

static void begin_words(ParsedText *words, int expected) {
    *words = {};
    words->lenwords = Max(expected, 16);
    words->words = allocate<ParsedWord>(words->lenwords);
}

static void add_text(ParsedText *words, Oid configuration, char *text, int bytes) {
    parsetext(configuration, words, text, bytes);
}

static ParsedText words_of_text(Oid configuration, Datum value) {
    struct varlena *string = PG_DETOAST_DATUM_PACKED(value);
    const int bytes = VARSIZE_ANY_EXHDR(string);
    ParsedText words;
    begin_words(&words, bytes / 6);
    add_text(&words, configuration, VARDATA_ANY(string), bytes);
    return words;
}

namespace {

struct StringsOfJson {
    Oid configuration;
    ParsedText words;
};

}  // namespace

// As jsonb_to_tsvector has it, no phrase goes on from one string to the next.
static ParsedText words_of_json(Oid configuration, Datum value) {
    StringsOfJson strings = {configuration, {}};
    begin_words(&strings.words, 0);
    iterate_jsonb_values(DatumGetJsonbP(value), jtiString, &strings,
                         [](void *context, char *string, int bytes) {
                             auto *state = static_cast<StringsOfJson *>(context);
                             const int before = state->words.curwords;
                             add_text(&state->words, state->configuration, string, bytes);
                             state->words.pos += state->words.curwords > before ? 1 : 0;
                         });
    return strings.words;
}

// Adds the words from `first` on once more, behind all others.
static void repeat_words(ParsedText *words, int first, int end, int from_position) {
    const int count = end - first;
    if (words->curwords + count > words->lenwords) {
        words->lenwords = Max(2 * words->lenwords, words->curwords + count);
        words->words = reallocate(words->words, words->lenwords);
    }
    const int distance = words->pos - from_position;
    for (int i = first; i < end; i++) {
        ParsedWord word = words->words[i];
        // Each copy is freed for itself.
        word.word = pnstrdup(word.word, word.len);
        word.pos.pos = LIMITPOS(word.pos.pos + distance);
        words->words[words->curwords++] = word;
    }
}

// The documents of the elements lie one behind the other, each as often as its weight says, with a position
// between them, so that no phrase begins in one and ends in another.
static ParsedText words_of_elements(const DocumentSource &source, Datum array) {
    Datum *elements;
    bool *nulls;
    int count;
    deconstruct_array(DatumGetArrayTypeP(array), TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &count);
    ParsedText words;
    begin_words(&words, 0);
    for (int i = 0; i < count; i++) {
        if (nulls[i])
            continue;
        struct varlena *string = PG_DETOAST_DATUM_PACKED(elements[i]);
        const int first = words.curwords;
        const int from_position = words.pos;
        add_text(&words, source.configuration, VARDATA_ANY(string), VARSIZE_ANY_EXHDR(string));
        const int end = words.curwords;
        const int length = words.pos + 1 - from_position;
        words.pos++;
        // Elements behind the last weight count once.
        const uint64 weight = i < kMaxWeights ? source.weights >> (8 * i) & 0xff : 0;
        bool is_at_end = false;
        for (uint64 copy = 1; copy < weight && !is_at_end; copy++) {
            // All words of this copy are at the last position that a tsvector has. Another one adds nothing.
            is_at_end = words.pos + 1 >= MAXENTRYPOS - 1;
            repeat_words(&words, first, end, from_position);
            words.pos += length;
        }
    }
    return words;
}

static ParsedText words_of_value(const DocumentSource &source, Datum value) {
    if (source.type == JSONBOID)
        return words_of_json(source.configuration, value);
    if (source.type == TEXTARRAYOID && source.weights != 0)
        return words_of_elements(source, value);
    if (source.type == TEXTARRAYOID)
        value = OidFunctionCall2(F_ARRAY_TO_STRING_ANYARRAY_TEXT, value, CStringGetTextDatum("\n"));
    return words_of_text(source.configuration, value);
}

// ---- the room that a tsvector has -------------------------------------------------------------------------

namespace {

// A word's bytes in the tsvector that make_tsvector makes.
struct Occurrence {
    int number;
    int first;  // number of the word's first occurrence
    int count;  // at the first occurrence: positions so far
    int last_position;
};

}  // namespace

static bool precedes(const ParsedWord &a, const ParsedWord &b) {
    const int compared = memcmp(a.word, b.word, Min(a.len, b.len));
    return compared != 0 ? compared < 0 : a.len < b.len;
}

// Finds for each word the first one that equals it.
static Occurrence *find_occurrences(const ParsedText &words) {
    auto *sorted = allocate<int>(words.curwords);
    for (int i = 0; i < words.curwords; i++)
        sorted[i] = i;
    const ParsedWord *all = words.words;
    std::sort(sorted, sorted + words.curwords, [all](int a, int b) {
        return precedes(all[a], all[b]) || (!precedes(all[b], all[a]) && a < b);
    });
    auto *occurrences = allocate_zeroed<Occurrence>(words.curwords);
    for (int i = 0; i < words.curwords; i++) {
        const bool is_first = i == 0 || precedes(all[sorted[i - 1]], all[sorted[i]]);
        occurrences[sorted[i]].first = is_first ? sorted[i] : occurrences[sorted[i - 1]].first;
    }
    pfree(sorted);
    return occurrences;
}

// Returns how many of the words, from the first on, a tsvector has room for, and what all of them take.
static int count_fitting(const ParsedText &words, uint64 *bytes) {
    Occurrence *occurrences = find_occurrences(words);
    int fitting = words.curwords;
    *bytes = 0;
    for (int i = 0; i < words.curwords; i++) {
        Occurrence *first = &occurrences[occurrences[i].first];
        const int position = LIMITPOS(words.words[i].pos.pos);
        if (first->count == 0)
            *bytes += SHORTALIGN(words.words[i].len) + sizeof(uint16);
        if (first->count < MAXNUMPOS - 1 && (first->count == 0 || (first->last_position != MAXENTRYPOS - 1 &&
                                                                   first->last_position != position))) {
            *bytes += sizeof(WordEntryPos);
            first->count++;
            first->last_position = position;
        }
        if (*bytes > MAXSTRPOS)
            fitting = Min(fitting, i);
    }
    pfree(occurrences);
    return fitting;
}

// Most documents are found to be short without a look at which words are the same.
static bool is_short(const ParsedText &words) {
    uint64 bytes = 0;
    for (int i = 0; i < words.curwords; i++)
        bytes += SHORTALIGN(words.words[i].len) + sizeof(uint16) + sizeof(WordEntryPos);
    return bytes <= MAXSTRPOS;
}

[[noreturn]] static void report_long_document(const DocumentPlace *place, uint64 bytes) {
    if (place == nullptr)
        ereport(ERROR,
                (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("document is too long to be searched"),
                 errdetail("Its words take %llu bytes, and a document has room for %d.",
                           static_cast<unsigned long long>(bytes), MAXSTRPOS),
                 errhint("Search it by an index of gpu_text with long_documents = truncate or skip.")));
    ereport(
        ERROR,
        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
         errmsg("document of row (%u,%u) is too long for index \"%s\"", ItemPointerGetBlockNumber(place->tid),
                ItemPointerGetOffsetNumber(place->tid), RelationGetRelationName(place->index)),
         errdetail("Its words take %llu bytes, and a document has room for %d.",
                   static_cast<unsigned long long>(bytes), MAXSTRPOS),
         errhint("An index WITH (long_documents = truncate) has the first words of such documents, one "
                 "WITH (long_documents = skip) none. An existing index takes the option with REINDEX.")));
}

static void fit_words(LongDocuments long_documents, ParsedText *words, const DocumentPlace *place) {
    if (is_short(*words))
        return;
    uint64 bytes;
    const int fitting = count_fitting(*words, &bytes);
    if (fitting == words->curwords)
        return;
    if (long_documents == LongDocuments::Error)
        report_long_document(place, bytes);
    words->curwords = long_documents == LongDocuments::Skip ? 0 : fitting;
}

TSVector document_of_value(const DocumentSource &source, Datum value, const DocumentPlace *place) {
    if (source.type == TSVECTOROID)
        return DatumGetTSVector(value);
    ParsedText words = words_of_value(source, value);
    fit_words(source.long_documents, &words, place);
    return make_tsvector(&words);
}

}  // namespace pg_gpu::text
