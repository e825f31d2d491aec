// gpu.query, gpu.ranking_query and gpu.matching_query: what rows are ranked and chosen by.
#include "access_methods.h"
#include "functions/text_index.h"
#include "text/gpu_text.h"
#include "version.h"

PG_GPU_FUNCTION(pg_gpu_query);
PG_GPU_FUNCTION(pg_gpu_ranking_query);
PG_GPU_FUNCTION(pg_gpu_matching_query);

using namespace pg_gpu;

namespace {

// The statistics that BM25 needs of an index, or of those of all partitions together.
struct Statistics {
    uint64 documents;
    uint64 length;
    uint64 *frequencies;  // by term
};

}  // namespace

static void require_text_index(Relation index) {
    if (find_access_method(index) != &gpu_text)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not an index of gpu_text", RelationGetRelationName(index)),
                        errhint("Name an index created with USING gpu_text.")));
}

// Does what open_index does, but also accepts an index of a partitioned table.
static functions::OpenIndex open_any_index(Oid oid) {
    if (get_rel_relkind(oid) != RELKIND_PARTITIONED_INDEX)
        return functions::open_index(oid, AccessShareLock, AccessShareLock);
    require_matching_objects();
    functions::OpenIndex open;
    open.heap = table_open(IndexGetRelation(oid, false), AccessShareLock);
    open.index = index_open(oid, AccessShareLock);
    return open;
}

functions::OpenIndex functions::open_text_index(Oid oid) {
    const OpenIndex open = open_any_index(oid);
    require_text_index(open.index);
    require_read_access(open);
    return open;
}

static void add_statistics(Relation index, const text::Query &query, Statistics *statistics) {
    // Work on a view may be done again.
    Statistics before = *statistics;
    before.frequencies = allocate<uint64>(query.term_count + 1);
    memcpy(before.frequencies, statistics->frequencies, query.term_count * sizeof(uint64));
    text::with_corpus(index, GetActiveSnapshot(), [&](text::Corpus *corpus) {
        auto *counts = allocate<uint64>(query.term_count + 1);
        text::count_documents(corpus, query, text::open_all_lists(corpus, query), counts);
        statistics->documents = before.documents + corpus->documents;
        statistics->length = before.length + corpus->length;
        for (int i = 0; i < query.term_count; i++)
            statistics->frequencies[i] = before.frequencies[i] + counts[i];
    });
    pfree(before.frequencies);
}

static Statistics collect_statistics(const functions::OpenIndex &open, const text::Query &query) {
    Statistics statistics = {0, 0, allocate_zeroed<uint64>(query.term_count + 1)};
    functions::for_each_leaf(open, [&](Relation index) { add_statistics(index, query, &statistics); });
    return statistics;
}

static text::Bm25Query *rank_by(const functions::OpenIndex &open, const text::DocumentSource &source,
                                TSQuery tsquery) {
    text::Query query = text::parse_query(tsquery);
    const text::Options options = text::options_of(open.index);
    const Statistics statistics = collect_statistics(open, query);
    text::weigh_terms(statistics.documents, options.k1, statistics.frequencies, &query);
    const text::postings::Norms norms =
        text::norms_for(options, text::average_length(statistics.documents, statistics.length));
    query.text = tsquery;
    return text::make_bm25_query(RelationGetRelid(open.index), source, query, norms);
}

static text::DocumentSource require_configuration(Relation index) {
    const text::DocumentSource source = text::source_of(index);
    if (!OidIsValid(source.configuration))
        ereport(ERROR,
                (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                 errmsg("index \"%s\" has no text search configuration", RelationGetRelationName(index)),
                 errdetail("It is on a tsvector, whose words are made outside of the index."),
                 errhint("Make the query by to_tsquery() with the configuration of the tsvector's words.")));
    return source;
}

TSQuery functions::query_argument(FunctionCallInfo fcinfo, Relation index) {
    Oid *types;
    int count;
    get_func_signature(fcinfo->flinfo->fn_oid, &types, &count);
    return types[1] == TSQUERYOID
               ? PG_GETARG_TSQUERY(1)
               : text::typed_query(require_configuration(index).configuration, PG_GETARG_DATUM(1));
}

Datum pg_gpu_query(PG_FUNCTION_ARGS) {
    const functions::OpenIndex open = functions::open_text_index(PG_GETARG_OID(0));
    text::Bm25Query *value = rank_by(open, text::source_of(open.index), PG_GETARG_TSQUERY(1));
    functions::close_index(open);
    PG_RETURN_POINTER(value);
}

// ---- once a statement -------------------------------------------------------------------------------------

namespace {

// A value that a statement has had made, which all of its scans compute with: those of partitions are many,
// and statistics are of all partitions together.
struct Made {
    Oid function;
    Oid index;
    // Whose privileges have been checked, and how.
    Oid user;
    bool row_security;
    struct varlena *argument;
    text::Bm25Query *value;
};

// The values of one statement that sees one state of the database.
struct MadeOfStatement {
    TimestampTz began_at;
    TransactionId xmin;
    TransactionId xmax;
    uint32 running;
    CommandId command;
};

}  // namespace

static constexpr int kMaxMade = 64;
static constexpr Size kMaxMadeBytes = 1024 * 1024;

static List *made = NIL;
static MemoryContext made_context = nullptr;

static bool is_same_statement(const MadeOfStatement &a, const MadeOfStatement &b) {
    return a.began_at == b.began_at && a.xmin == b.xmin && a.xmax == b.xmax && a.running == b.running &&
           a.command == b.command;
}

static void forget_made() {
    made = NIL;
    if (made_context == nullptr)
        made_context =
            AllocSetContextCreate(TopMemoryContext, "gpu_text queries of a statement", ALLOCSET_SMALL_SIZES);
    MemoryContextReset(made_context);
}

static void forget_other_statements() {
    static MadeOfStatement made_of;
    MadeOfStatement now = {};
    now.began_at = GetCurrentStatementStartTimestamp();
    if (ActiveSnapshotSet()) {
        const SnapshotData *snapshot = GetActiveSnapshot();
        now.xmin = snapshot->xmin;
        now.xmax = snapshot->xmax;
        now.running = snapshot->xcnt;
        now.command = snapshot->curcid;
    }
    if (is_same_statement(now, made_of) && list_length(made) < kMaxMade)
        return;
    forget_made();
    made_of = now;
}

static struct varlena *copy_of(const void *value) {
    auto *copy = reinterpret_cast<struct varlena *>(allocate<char>(VARSIZE(value)));
    memcpy(copy, value, VARSIZE(value));
    return copy;
}

static const Made *find_made(Oid function, Oid index, const struct varlena *argument) {
    ListCell *cell;
    foreach (cell, made) {
        const auto *candidate = static_cast<const Made *>(lfirst(cell));
        if (candidate->function == function && candidate->index == index && candidate->user == GetUserId() &&
            candidate->row_security == row_security && VARSIZE(candidate->argument) == VARSIZE(argument) &&
            memcmp(candidate->argument, argument, VARSIZE(argument)) == 0)
            return candidate;
    }
    return nullptr;
}

// Returns what the call of a function with an index and a query returns, which make(index) makes: it opens
// the index, and checks what the caller may do with it.
template <typename Make>
static Datum make_once(FunctionCallInfo fcinfo, Make make) {
    const Oid index = PG_GETARG_OID(0);
    const Oid function = fcinfo->flinfo->fn_oid;
    const struct varlena *argument = PG_DETOAST_DATUM(PG_GETARG_DATUM(1));
    forget_other_statements();
    const Made *known = find_made(function, index, argument);
    if (known == nullptr) {
        const text::Bm25Query *value = make(index);
        // Long ones are kept alone.
        if (MemoryContextMemAllocated(made_context, false) + VARSIZE(argument) + VARSIZE(value) >
            kMaxMadeBytes)
            forget_made();
        MemoryContext caller = MemoryContextSwitchTo(made_context);
        auto *entry = allocate<Made>(1);
        *entry = {function,          index,
                  GetUserId(),       row_security,
                  copy_of(argument), reinterpret_cast<text::Bm25Query *>(copy_of(value))};
        made = lappend(made, entry);
        MemoryContextSwitchTo(caller);
        known = entry;
    }
    return PointerGetDatum(copy_of(known->value));
}

Datum pg_gpu_ranking_query(PG_FUNCTION_ARGS) {
    return make_once(fcinfo, [fcinfo](Oid index) {
        const functions::OpenIndex open = functions::open_text_index(index);
        const text::DocumentSource source = require_configuration(open.index);
        text::Bm25Query *value = rank_by(open, source, functions::query_argument(fcinfo, open.index));
        functions::close_index(open);
        return value;
    });
}

static text::Bm25Query *match_by(Relation index, TSQuery tsquery) {
    const text::DocumentSource source = require_configuration(index);
    text::Query query = text::parse_query(tsquery);
    query.text = tsquery;
    text::postings::Norms norms;
    text::weigh_alike(&query, &norms);
    return text::make_bm25_query(RelationGetRelid(index), source, query, norms);
}

// Tells nothing of the rows, so whoever may name the index may have it.
Datum pg_gpu_matching_query(PG_FUNCTION_ARGS) {
    return make_once(fcinfo, [fcinfo](Oid index) {
        const functions::OpenIndex open = open_any_index(index);
        require_text_index(open.index);
        text::Bm25Query *value = match_by(open.index, functions::query_argument(fcinfo, open.index));
        functions::close_index(open);
        return value;
    });
}
