// The operators @@@ and <@> on text, jsonb and text[]: with gpu.bm25_query, which names the configuration,
// and with what was typed. The planner replaces the latter by the former where there is an index
// (plan/search/typed_search.cpp); only elsewhere they are called.
#include "text/bm25.h"
#include "text/configuration.h"
#include "text/rows.h"
#include "text/text.h"

extern "C" {
#include "tcop/pquery.h"
}

PG_GPU_FUNCTION(pg_gpu_text_matches);
PG_GPU_FUNCTION(pg_gpu_text_distance);
PG_GPU_FUNCTION(pg_gpu_text_may_match);
PG_GPU_FUNCTION(pg_gpu_text_matches_typed);
PG_GPU_FUNCTION(pg_gpu_text_distance_typed);

namespace pg_gpu::text {

namespace {

// The state that is kept between calls with the same query.
struct Operation {
    MemoryContext query_context;  // has what follows
    struct varlena *argument;     // argument that the query was made of
    Query query;
    postings::Norms norms;
    uint32 *frequencies;
};

struct Operator {
    MemoryContext row_context;
    Oid document_type;
    Oid query_type;
    Oid typed_configuration;
    Operation operation;
};

}  // namespace

static uint64 hash_of_source(bool is_planning) {
    const char *source = is_planning ? debug_query_string : ActivePortal->sourceText;
    return source == nullptr ? 0
                             : hash_bytes_extended(reinterpret_cast<const unsigned char *>(source),
                                                   static_cast<int>(strlen(source)), 0);
}

// Several calls of a statement, and of what it executes, say it once. In the extended protocol each message
// has a time of its own: what was said when the statement was planned counts for its first execution in the
// same transaction, too, as for a cursor's first FETCH. Workers leave it to their leader.
bool is_first_unindexed_search(bool is_planning) {
    static struct {
        TimestampTz statement;
        TimestampTz transaction;
        uint64 source;
        bool is_planned;  // and not executed yet
    } last;
    if (IsParallelWorker())
        return false;
    const TimestampTz statement = GetCurrentStatementStartTimestamp();
    if (last.statement == statement) {
        last.is_planned = is_planning;
        return false;
    }
    const TimestampTz transaction = GetCurrentTransactionStartTimestamp();
    const uint64 source = hash_of_source(is_planning);
    const bool is_its_execution =
        !is_planning && last.is_planned && last.transaction == transaction && last.source == source;
    last = {statement, transaction, source, is_planning};
    return !is_its_execution;
}

static void say_how_words_are_made(Oid configuration) {
    if (!is_first_unindexed_search(ActivePortal == nullptr))
        return;
    ereport(
        NOTICE,
        (errmsg("what is searched has no index of gpu_text"),
         errdetail("Its words are made by text search configuration \"%s\" "
                   "(default_text_search_config), and all weigh the same.",
                   DatumGetCString(DirectFunctionCall1(regconfigout, ObjectIdGetDatum(configuration)))),
         errhint("gpu.matching_query('index', 'what was typed') has the words made as that index's are.")));
}

// Types are those of the function's arguments: an index scan calls it without an expression.
static Operator *operator_of(FmgrInfo *function) {
    if (function->fn_extra != nullptr)
        return static_cast<Operator *>(function->fn_extra);
    MemoryContext caller = MemoryContextSwitchTo(function->fn_mcxt);
    auto *made = allocate_zeroed<Operator>(1);
    Oid *types;
    int count;
    get_func_signature(function->fn_oid, &types, &count);
    made->document_type = types[0];
    made->query_type = types[1];
    made->row_context = AllocSetContextCreate(function->fn_mcxt, "gpu_text operator", ALLOCSET_DEFAULT_SIZES);
    made->operation.query_context =
        AllocSetContextCreate(function->fn_mcxt, "gpu_text operator's query", ALLOCSET_SMALL_SIZES);
    MemoryContextSwitchTo(caller);
    function->fn_extra = made;
    return made;
}

static void read_query(Operator *called, bool typed) {
    Operation *operation = &called->operation;
    if (!typed) {
        const auto *value = reinterpret_cast<const Bm25Query *>(operation->argument);
        operation->query = parse_bm25_query(value);
        operation->norms = value->norms;
    } else {
        TSQuery text = called->query_type == TSQUERYOID
                           ? DatumGetTSQuery(PointerGetDatum(operation->argument))
                           : typed_query(called->typed_configuration, PointerGetDatum(operation->argument));
        operation->query = parse_query(text);
        operation->query.text = text;
        weigh_alike(&operation->query, &operation->norms);
    }
    operation->frequencies = allocate<uint32>(uint64(operation->query.term_count) + 1);
}

// The configuration in force may change while a function's cache lives, as in PL/pgSQL.
static const Operation *operation_of(Operator *called, struct varlena *argument, bool typed) {
    Operation *operation = &called->operation;
    const Oid configuration = typed ? getTSCurrentConfig(true) : InvalidOid;
    if (operation->argument != nullptr && called->typed_configuration == configuration &&
        VARSIZE(operation->argument) == VARSIZE(argument) &&
        memcmp(operation->argument, argument, VARSIZE(argument)) == 0)
        return operation;
    if (typed && operation->argument == nullptr)
        say_how_words_are_made(configuration);
    operation->argument = nullptr;
    MemoryContextReset(operation->query_context);
    called->typed_configuration = configuration;
    MemoryContext caller = MemoryContextSwitchTo(operation->query_context);
    auto *copy = reinterpret_cast<struct varlena *>(allocate<char>(VARSIZE(argument)));
    memcpy(copy, argument, VARSIZE(argument));
    operation->argument = copy;
    read_query(called, typed);
    MemoryContextSwitchTo(caller);
    return operation;
}

// Returns a matching document's score in units; -1 when it doesn't match.
static int64 score_of_document(const Operation *operation, TSVector vector) {
    if (operation->query.root == nullptr)
        return -1;
    memset(operation->frequencies, 0, operation->query.term_count * sizeof(uint32));
    int next = 0;
    const uint32 length = for_each_lexeme(vector, [&](const Lexeme &lexeme) {
        add_frequency(operation->query, lexeme, &next, operation->frequencies);
    });
    const Match match = match_document(operation->query.root, operation->frequencies);
    if (match == Match::No || (match == Match::Maybe && !vector_matches(vector, operation->query.text)))
        return -1;
    return document_score(operation->query, operation->norms, operation->frequencies, length);
}

// Computes the score of the call's document, in units; -1 when it doesn't match.
static int64 evaluate(FunctionCallInfo fcinfo, bool typed) {
    Operator *called = operator_of(fcinfo->flinfo);
    struct varlena *argument = PG_DETOAST_DATUM(PG_GETARG_DATUM(1));
    const Operation *operation = operation_of(called, argument, typed);
    DocumentSource source = {called->document_type, called->typed_configuration, 0, LongDocuments::Error};
    if (!typed)
        source = source_of(reinterpret_cast<const Bm25Query *>(operation->argument), called->document_type);
    if (!OidIsValid(source.configuration))
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("the query has been made by an index of tsvectors"),
                        errdetail("It names no text search configuration, which words of text are made by."),
                        errhint("Use an index of gpu_text on the text itself.")));
    MemoryContext caller = MemoryContextSwitchTo(called->row_context);
    const int64 score = score_of_document(operation, document_of_value(source, PG_GETARG_DATUM(0)));
    MemoryContextSwitchTo(caller);
    MemoryContextReset(called->row_context);
    PG_FREE_IF_COPY(argument, 1);
    return score;
}

static Datum distance_of(int64 score) {
    return Float4GetDatum(score <= 0 ? 0 : -postings::score_of(score));
}

}  // namespace pg_gpu::text

using namespace pg_gpu;

Datum pg_gpu_text_matches(PG_FUNCTION_ARGS) {
    PG_RETURN_BOOL(text::evaluate(fcinfo, false) >= 0);
}

// Looks at nothing, so it tells nothing of rows that are hidden from the user.
Datum pg_gpu_text_may_match(PG_FUNCTION_ARGS) {
    (void)fcinfo;
    PG_RETURN_BOOL(true);
}

Datum pg_gpu_text_distance(PG_FUNCTION_ARGS) {
    return text::distance_of(text::evaluate(fcinfo, false));
}

Datum pg_gpu_text_matches_typed(PG_FUNCTION_ARGS) {
    PG_RETURN_BOOL(text::evaluate(fcinfo, true) >= 0);
}

Datum pg_gpu_text_distance_typed(PG_FUNCTION_ARGS) {
    return text::distance_of(text::evaluate(fcinfo, true));
}
