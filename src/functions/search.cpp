// gpu.search, gpu.search_batch, gpu.intersect and gpu.query: full-text search in a gpu_text index.
#include "functions/index_access.h"
#include "text/bm25.h"
#include "text/rows.h"
#include "text/search.h"
#include "text/text.h"

PG_GPU_FUNCTION(pg_gpu_search);
PG_GPU_FUNCTION(pg_gpu_search_batch);
PG_GPU_FUNCTION(pg_gpu_intersect);
PG_GPU_FUNCTION(pg_gpu_query);

using namespace pg_gpu;

namespace {

constexpr int kMostResults = 10000;

struct FoundRow {
    ItemPointerData tid;
    int64 score;
};

struct FoundRows {
    FoundRow *rows;
    uint32 count;
    uint32 limit;
};

}  // namespace

static functions::OpenIndex open_text_index(Oid index_oid) {
    const functions::OpenIndex open = functions::open_index(index_oid, AccessShareLock, AccessShareLock);
    if (open.index->rd_indam->ambuild != text::build)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not an index of gpu_text", RelationGetRelationName(open.index)),
                        errhint("Name an index created with USING gpu_text.")));
    functions::require_read_access(open);
    functions::lock_predicates(open, GetActiveSnapshot());
    return open;
}

// Ranks what the query matches, and looks rows up until there are enough that the snapshot sees.
static void rank_visible(const functions::OpenIndex &open, text::Rows *rows, TSQuery rewritten,
                         FoundRows *found) {
    found->count = 0;
    if (rewritten == nullptr || found->limit == 0)
        return;
    text::with_corpus(open.index, rows->snapshot, [&](text::Corpus *corpus) {
        text::Query query = text::parse_query(rewritten);
        text::ListCursor ***lists = text::open_all_lists(corpus, query);
        auto *counts = allocate<uint64>(query.term_count + 1);
        text::count_documents(corpus, query, lists, counts);
        const text::Options options = text::options_of(open.index);
        text::weigh_terms(corpus, options.k1, counts, &query);

        text::Ranking ranking = {};
        ranking.query = &query;
        ranking.norms = text::norms_for(options, text::average_length(corpus));
        // A few more, for rows that the snapshot does not see; the fewer, the more is passed over.
        ranking.limit = found->limit + found->limit / 8 + 2;
        text::Hit last;
        found->count = 0;
        for (bool more = true; more && found->count < found->limit;) {
            CHECK_FOR_INTERRUPTS();
            text::rank(corpus, lists, &ranking);
            for (uint32 i = 0; i < ranking.hit_count && found->count < found->limit; i++) {
                const text::Hit &hit = ranking.hits[i];
                bool matches = true;
                ItemPointerData row;
                if (text::look_up_row(rows, hit.tid, hit.maybe ? rewritten : nullptr, &matches, &row) &&
                    matches)
                    found->rows[found->count++] = {row, hit.score};
            }
            more = ranking.hit_count == ranking.limit;
            if (more) {
                last = ranking.hits[ranking.hit_count - 1];
                ranking.after = &last;
                ranking.limit = Min(ranking.limit * 4, 1u << 20);
            }
        }
    });
}

static void search(const functions::OpenIndex &open, text::Rows *rows, TSQuery query, text::Mode mode,
                   FoundRows *found) {
    if (mode != text::Mode::AndOr) {
        rank_visible(open, rows, text::rewrite_query(query, mode), found);
        return;
    }
    TSQuery all = text::rewrite_query(query, text::Mode::And);
    TSQuery any = text::rewrite_query(query, text::Mode::Or);
    rank_visible(open, rows, all, found);
    if (found->count < found->limit && !text::same_query(all, any))
        rank_visible(open, rows, any, found);
}

static uint32 checked_limit(int32 limit) {
    if (limit < 0 || limit > kMostResults)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("k must be between 0 and %d", kMostResults),
                 errhint("A query with ORDER BY ... <=> gpu.query(...) has no such limit.")));
    return static_cast<uint32>(limit);
}

static text::Mode mode_argument(FunctionCallInfo fcinfo, int argument) {
    return text::mode_of(DatumGetCString(DirectFunctionCall1(textout, PG_GETARG_DATUM(argument))));
}

Datum pg_gpu_search(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const uint32 limit = checked_limit(PG_GETARG_INT32(2));
    const text::Mode mode = mode_argument(fcinfo, 3);
    const functions::OpenIndex open = open_text_index(PG_GETARG_OID(0));
    text::Rows rows;
    text::open_rows(&rows, open.heap, open.index, GetActiveSnapshot());
    FoundRows found = {allocate<FoundRow>(uint64{limit} + 1), 0, limit};
    search(open, &rows, PG_GETARG_TSQUERY(1), mode, &found);
    for (uint32 i = 0; i < found.count; i++) {
        Datum values[] = {PointerGetDatum(&found.rows[i].tid),
                          Float4GetDatum(text::postings::score_of(found.rows[i].score))};
        bool nulls[] = {false, false};
        tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
    }
    text::close_rows(&rows);
    functions::close_index(open);
    return Datum{0};
}

Datum pg_gpu_search_batch(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, 0);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const uint32 limit = checked_limit(PG_GETARG_INT32(2));
    const text::Mode mode = mode_argument(fcinfo, 3);
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
    Datum *queries;
    bool *nulls;
    int count;
    deconstruct_array(array, TSQUERYOID, -1, false, TYPALIGN_INT, &queries, &nulls, &count);
    const functions::OpenIndex open = open_text_index(PG_GETARG_OID(0));
    text::Rows rows;
    text::open_rows(&rows, open.heap, open.index, GetActiveSnapshot());
    FoundRows found = {allocate<FoundRow>(uint64{limit} + 1), 0, limit};
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.search_batch query", ALLOCSET_DEFAULT_SIZES);
    for (int i = 0; i < count; i++) {
        if (nulls[i])
            continue;
        MemoryContext caller = MemoryContextSwitchTo(context);
        search(open, &rows, DatumGetTSQuery(queries[i]), mode, &found);
        MemoryContextSwitchTo(caller);
        MemoryContextReset(context);
        for (uint32 j = 0; j < found.count; j++) {
            Datum values[] = {Int64GetDatum(int64{i} + 1), PointerGetDatum(&found.rows[j].tid),
                              Float4GetDatum(text::postings::score_of(found.rows[j].score))};
            bool value_nulls[] = {false, false, false};
            tuplestore_putvalues(result->setResult, result->setDesc, values, value_nulls);
        }
    }
    text::close_rows(&rows);
    functions::close_index(open);
    return Datum{0};
}

// ---- gpu.intersect
// -----------------------------------------------------------------------------------------

// A tsquery that asks for all of the lexemes; nullptr without any.
static TSQuery query_of_lexemes(ArrayType *array) {
    Datum *lexemes;
    bool *nulls;
    int count;
    deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &lexemes, &nulls, &count);
    if (count == 0)
        return nullptr;
    StringInfoData text;
    initStringInfo(&text);
    for (int i = 0; i < count; i++) {
        if (nulls[i])
            ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("lexemes cannot be NULL")));
        const char *lexeme = DatumGetCString(DirectFunctionCall1(textout, lexemes[i]));
        if (*lexeme == '\0')
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("lexemes cannot be empty")));
        appendStringInfoString(&text, i == 0 ? "'" : " & '");
        for (; *lexeme != '\0'; lexeme++) {
            if (*lexeme == '\'' || *lexeme == '\\')
                appendStringInfoChar(&text, *lexeme);
            appendStringInfoChar(&text, *lexeme);
        }
        appendStringInfoChar(&text, '\'');
    }
    return DatumGetTSQuery(DirectFunctionCall1(tsqueryin, CStringGetDatum(text.data)));
}

// TIDs of the entries that match, by run in order.
static uint64 matching_tids(const functions::OpenIndex &open, Snapshot snapshot, TSQuery text,
                            ItemPointerData **result) {
    uint64 count = 0;
    uint64 room = 1024;
    auto *tids = allocate<ItemPointerData>(room);
    const auto add = [&](const ItemPointerData &tid) {
        if (count == room) {
            room *= 2;
            tids = reallocate(tids, room);
        }
        tids[count++] = tid;
    };
    text::with_corpus(open.index, snapshot, [&](text::Corpus *corpus) {
        count = 0;
        const text::Query query = text::parse_query(text);
        for (int i = 0; i < corpus->raw_count; i++)
            text::for_each_item(corpus->raws[i], [&](const text::DocumentItem *item) {
                if (text::match_item(item, &query, nullptr, 0) == text::Match::Yes)
                    add(item->head.tid);
            });
        for (int i = 0; i < corpus->run_count; i++) {
            text::RunReader *reader = &corpus->runs[i];
            const text::OrdinalSet set =
                text::match_all_conditions(reader, &query, text::open_lists(reader, query), nullptr, 0);
            for (uint32 j = 0; j < set.count && !reader->stale; j++)
                if (!text::is_dead(reader, set.ordinals[j]))
                    add(text::document_tid(reader, set.ordinals[j]));
        }
    });
    *result = tids;
    return count;
}

Datum pg_gpu_intersect(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    TSQuery query = query_of_lexemes(PG_GETARG_ARRAYTYPE_P(1));
    const functions::OpenIndex open = open_text_index(PG_GETARG_OID(0));
    if (query != nullptr) {
        text::Rows rows;
        text::open_rows(&rows, open.heap, open.index, GetActiveSnapshot());
        ItemPointerData *tids;
        const uint64 count = matching_tids(open, rows.snapshot, query, &tids);
        for (uint64 i = 0; i < count; i++) {
            CHECK_FOR_INTERRUPTS();
            ItemPointerData row;
            if (!text::look_up_row(&rows, tids[i], nullptr, nullptr, &row))
                continue;
            Datum values[] = {PointerGetDatum(&row)};
            bool nulls[] = {false};
            tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        }
        text::close_rows(&rows);
    }
    functions::close_index(open);
    return Datum{0};
}

// ---- gpu.query
// ---------------------------------------------------------------------------------------------

Datum pg_gpu_query(PG_FUNCTION_ARGS) {
    TSQuery text = PG_GETARG_TSQUERY(0);
    const functions::OpenIndex open = open_text_index(PG_GETARG_OID(1));
    text::Query query = text::parse_query(text);
    const text::Options options = text::options_of(open.index);
    text::postings::Norms norms = {};
    text::with_corpus(open.index, GetActiveSnapshot(), [&](text::Corpus *corpus) {
        auto *counts = allocate<uint64>(query.term_count + 1);
        text::count_documents(corpus, query, text::open_all_lists(corpus, query), counts);
        text::weigh_terms(corpus, options.k1, counts, &query);
        norms = text::norms_for(options, text::average_length(corpus));
    });
    query.text = text;
    text::Bm25Query *value = text::make_bm25_query(RelationGetRelid(open.index), query, norms);
    functions::close_index(open);
    PG_RETURN_POINTER(value);
}
