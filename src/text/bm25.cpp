#include "text/bm25.h"

#include "text/rows.h"

PG_GPU_FUNCTION(pg_gpu_bm25_query_in);
PG_GPU_FUNCTION(pg_gpu_bm25_query_out);
PG_GPU_FUNCTION(pg_gpu_bm25_distance);

namespace pg_gpu::text {

Bm25Query *make_bm25_query(Oid index, const DocumentSource &source, const Query &query,
                           const postings::Norms &norms) {
    const size_t weights = sizeof(double) * static_cast<size_t>(query.term_count);
    const size_t text = VARSIZE(query.text);
    const size_t bytes = offsetof(Bm25Query, weights) + weights + text;
    auto *value = reinterpret_cast<Bm25Query *>(allocate_zeroed<char>(bytes));
    SET_VARSIZE(value, bytes);
    value->index = index;
    value->configuration = source.configuration;
    value->element_weights = source.weights;
    value->long_documents = static_cast<uint64>(source.long_documents);
    value->term_count = query.term_count;
    value->norms = norms;
    for (int i = 0; i < query.term_count; i++)
        value->weights[i] = query.terms[i].weight;
    memcpy(value->weights + query.term_count, query.text, text);
    return value;
}

Query parse_bm25_query(const Bm25Query *value) {
    Query query = parse_query(const_cast<TSQueryData *>(query_text(value)));
    for (int i = 0; i < query.term_count; i++)
        query.terms[i].weight = value->weights[i];
    return query;
}

void weigh_alike(Query *query, postings::Norms *norms) {
    constexpr double kSaturation = 1.2;
    *norms = {kSaturation, 0};
    for (int i = 0; i < query->term_count; i++)
        query->terms[i].weight = query->terms[i].ranked ? (kSaturation + 1) / postings::kScoreUnit : 0;
}

int64 document_score(const Query &query, const postings::Norms &norms, const uint32 *frequencies,
                     uint32 length) {
    int64 score = 0;
    for (int term = 0; term < query.term_count; term++)
        if (frequencies[term] > 0 && query.terms[term].ranked)
            score += postings::contribution(query.terms[term].weight, norms.of(length), frequencies[term]);
    return score;
}

namespace {

// This is kept between calls with the same query.
struct ParsedQuery {
    MemoryContext context;  // the context that it lies in itself
    Bm25Query *value;
    Query query;
    uint32 *frequencies;
};

}  // namespace

static ParsedQuery *parsed_query(FmgrInfo *function, const Bm25Query *value) {
    auto *parsed = static_cast<ParsedQuery *>(function->fn_extra);
    if (parsed != nullptr && VARSIZE(parsed->value) == VARSIZE(value) &&
        memcmp(parsed->value, value, VARSIZE(value)) == 0)
        return parsed;
    if (parsed != nullptr)
        MemoryContextDelete(parsed->context);
    function->fn_extra = nullptr;
    MemoryContext context =
        AllocSetContextCreate(function->fn_mcxt, "gpu.bm25_query, parsed", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    parsed = allocate<ParsedQuery>(1);
    parsed->context = context;
    parsed->value = reinterpret_cast<Bm25Query *>(allocate<char>(VARSIZE(value)));
    memcpy(parsed->value, value, VARSIZE(value));
    parsed->query = parse_bm25_query(parsed->value);
    parsed->frequencies = allocate<uint32>(parsed->query.term_count + 1);
    MemoryContextSwitchTo(caller);
    function->fn_extra = parsed;
    return parsed;
}

static float distance(const ParsedQuery *parsed, TSVector vector) {
    if (parsed->query.root == nullptr)
        return 0;
    memset(parsed->frequencies, 0, parsed->query.term_count * sizeof(uint32));
    int next = 0;
    const uint32 length = for_each_lexeme(vector, [&](const Lexeme &lexeme) {
        add_frequency(parsed->query, lexeme, &next, parsed->frequencies);
    });
    const Match match = match_document(parsed->query.root, parsed->frequencies);
    if (match == Match::No || (match == Match::Maybe && !vector_matches(vector, parsed->query.text)))
        return 0;
    const int64 score = document_score(parsed->query, parsed->value->norms, parsed->frequencies, length);
    return score == 0 ? 0 : -postings::score_of(score);
}

}  // namespace pg_gpu::text

using namespace pg_gpu;

Datum pg_gpu_bm25_query_in(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("cannot accept a value of type %s", "gpu.bm25_query"),
                    errhint("gpu.query(regclass, tsquery) makes one.")));
}

Datum pg_gpu_bm25_query_out(PG_FUNCTION_ARGS) {
    const auto *value = reinterpret_cast<text::Bm25Query *>(PG_DETOAST_DATUM(PG_GETARG_DATUM(0)));
    char *query = DatumGetCString(DirectFunctionCall1(tsqueryout, PointerGetDatum(text::query_text(value))));
    char *index = DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(value->index)));
    PG_RETURN_CSTRING(psprintf("%s by %s", query, index));
}

Datum pg_gpu_bm25_distance(PG_FUNCTION_ARGS) {
    TSVector vector = PG_GETARG_TSVECTOR(0);
    const auto *value = reinterpret_cast<text::Bm25Query *>(PG_DETOAST_DATUM(PG_GETARG_DATUM(1)));
    const float result = text::distance(text::parsed_query(fcinfo->flinfo, value), vector);
    PG_FREE_IF_COPY(vector, 0);
    PG_RETURN_FLOAT4(result);
}
