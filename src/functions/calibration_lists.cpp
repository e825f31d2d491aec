// Fitting the cost model's part for inverted lists: rankings of a made-up collection are timed, and the costs
// of their features fitted by least squares.
#include "functions/calibration.h"

#include <bit>

#include "gpu_engine/least_squares.h"
#include "text/gpu_text.h"
#include "request_kinds.h"

namespace pg_gpu::functions {

// ---- the collection ---------------------------------------------------------------------------------------

static constexpr int kLexemes = 48;

static uint64 random_number(uint64 document, uint64 seed) {
    return hash_bytes_uint32_extended(static_cast<uint32>(document), seed);
}

static char *lexeme_name(int lexeme) {
    return psprintf("lexeme%d", lexeme);
}

// A lexeme is in fewer documents than the one before: in a quarter as many after nine lexemes.
static bool has_lexeme(uint64 document, int lexeme) {
    constexpr double kMax = 0.25;
    constexpr double kFewer = 0.857;
    const double share = kMax * pow(kFewer, lexeme);
    return static_cast<double>(random_number(document, lexeme) >> 32) < share * 4294967296.0;
}

static void add_words(ParsedText *text, const char *word, int count) {
    for (int i = 0; i < count; i++) {
        if (text->curwords == text->lenwords) {
            text->lenwords *= 2;
            text->words = reallocate(text->words, text->lenwords);
        }
        ParsedWord *added = &text->words[text->curwords++];
        *added = {};
        added->word = pstrdup(word);
        added->len = static_cast<uint16>(strlen(word));
        added->pos.pos = static_cast<uint16>(LIMITPOS(++text->pos));
    }
}

TSVector make_document(uint64 number) {
    constexpr int kMaxOfFiller = 5;
    constexpr uint64 kMaxOfLexeme = 8;
    ParsedText text = {};
    text.lenwords = 64;
    text.words = allocate<ParsedWord>(text.lenwords);
    for (int lexeme = 0; lexeme < kLexemes; lexeme++) {
        if (!has_lexeme(number, lexeme))
            continue;
        // Mostly once, as lexemes do.
        const uint64 random = random_number(number, kLexemes + lexeme) | kMaxOfLexeme;
        add_words(&text, lexeme_name(lexeme), std::countr_zero(random) + 1);
    }
    // Documents are short and long.
    add_words(&text, "filler", 1 << (random_number(number, 2 * kLexemes) % (kMaxOfFiller + 1)));
    return make_tsvector(&text);
}

// ---- queries ----------------------------------------------------------------------------------------------

static constexpr uint32 kHits = 10;
static constexpr int kStrides[] = {1, 7, 13};  // from a lexeme of a query to its next
static constexpr int kTerms[] = {1, 2, 3, 5, 8};
static constexpr int kQueries = 6;  // queries of each kind

static text::Query make_query(int first, int stride, int terms, text::Mode mode) {
    StringInfoData query;
    initStringInfo(&query);
    for (int term = 0; term < terms; term++)
        appendStringInfo(&query, "%s%s",
                         term == 0                 ? ""
                         : mode == text::Mode::And ? " & "
                                                   : " | ",
                         lexeme_name((first + term * stride) % kLexemes));
    const Datum parsed = DirectFunctionCall1(tsqueryin, CStringGetDatum(query.data));
    return text::parse_query(DatumGetTSQuery(parsed));
}

// ---- times ------------------------------------------------------------------------------------------------

namespace {

using Samples = gpu_engine::LeastSquares<kListFeatures>;

struct Measurement {
    text::Corpus *corpus;
    client::Path path;
    double paid;  // microseconds of a request that no ranking has to answer for
    Samples *samples;
};

}  // namespace

// Returns how long queries take that are sent together. Their lists have been found before, as for any path.
// *request becomes what the cost model sees.
static double time_queries(const Measurement &measurement, const text::Query *queries, int count,
                           client::Request *request) {
    constexpr client::Choice kPages = {client::Path::Paged, 0};
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.calibrate rankings", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    auto *ranked = allocate<text::RankedQuery>(count);
    for (int i = 0; i < count; i++) {
        text::begin_query(queries[i], kHits, &ranked[i]);
        text::find_lists(measurement.corpus, &ranked[i]);
    }
    text::weigh_queries(measurement.corpus, kPages, ranked, count);
    *request = text::request_of(measurement.corpus, client::RequestKind::SearchText, ranked, count);
    bool answered = true;
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    if (measurement.path == client::Path::Paged) {
        for (int i = 0; i < count; i++)
            text::rank_on_pages(measurement.corpus, &ranked[i]);
    } else {
        answered = text::rank_by_server(measurement.corpus, {measurement.path, 0}, ranked, count);
    }
    const double microseconds = microseconds_since(start);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
    return answered ? microseconds : -1;
}

// Squares of errors count by the time, since long rankings differ by more; what is less than a request takes
// matters to no choice.
static bool add_sample(const Measurement &measurement, const text::Query *queries, int count) {
    client::Request request;
    const double time = shortest_time([&] { return time_queries(measurement, queries, count, &request); });
    if (time < 0)
        return false;
    constexpr double kLittle = 10;
    const double weight = 1 / sqrt(time + kLittle);
    text::ListFeatures features = text::list_features(request);
    for (double &feature : features)
        feature *= weight;
    measurement.samples->add(features, (time - measurement.paid) * weight);
    return true;
}

// Measures each of the queries by itself, and on an engine all of them in one call.
static bool add_queries(const Measurement &measurement, int stride, int terms, text::Mode mode) {
    text::Query queries[kQueries];
    for (int i = 0; i < kQueries; i++) {
        queries[i] = make_query(i * (kLexemes / kQueries), stride, terms, mode);
        if (!add_sample(measurement, &queries[i], 1))
            return false;
    }
    return measurement.path == client::Path::Paged || add_sample(measurement, queries, kQueries);
}

static bool add_all_queries(const Measurement &measurement) {
    for (const int stride : kStrides)
        for (const int terms : kTerms)
            if (!add_queries(measurement, stride, terms, text::Mode::Or) ||
                (terms > 1 && !add_queries(measurement, stride, terms, text::Mode::And)))
                return false;
    return true;
}

bool measure_lists(const Relation *indexes, int count, client::Path path, CostSettings *costs) {
    // A cost that measurements leave open stays as it is: the old cost counts like a sample with an error of
    // that size.
    constexpr double kTrust = 1;
    const int p = static_cast<int>(path);
    if (path != client::Path::Paged && !client::is_available(path))
        return false;
    choose(path);
    Samples samples;
    for (int i = 0; i < kListFeatures; i++) {
        text::ListFeatures feature = {};
        if (costs->lists[p][i] > 0) {
            feature[i] = kTrust / costs->lists[p][i];
            samples.add(feature, kTrust);
        }
    }
    for (int i = 0; i < count; i++) {
        const Samples before = samples;
        bool answered = true;
        text::with_corpus(indexes[i], GetActiveSnapshot(), [&](text::Corpus *corpus) {
            samples = before;
            answered = add_all_queries({corpus, path, costs->request[p], &samples});
        });
        if (path != client::Path::Paged)
            client::evict_index(indexes[i]);
        if (!answered)
            return false;
    }
    const text::ListFeatures fitted = samples.fit_nonnegative();
    std::copy(fitted.begin(), fitted.end(), costs->lists[p]);
    return true;
}

}  // namespace pg_gpu::functions
