// gpu.search, gpu.search_batch and gpu.intersect: full-text search in a gpu_text index.
#include "access_methods.h"
#include "functions/index_access.h"
#include "table/table.h"
#include "text/gpu_text.h"
#include "request_kinds.h"

PG_GPU_FUNCTION(pg_gpu_search);
PG_GPU_FUNCTION(pg_gpu_search_batch);
PG_GPU_FUNCTION(pg_gpu_intersect);

using namespace pg_gpu;

namespace {

constexpr int kMaxResults = 10000;

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
    if (find_access_method(open.index) != &gpu_text)
        ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
                        errmsg("\"%s\" is not an index of gpu_text", RelationGetRelationName(open.index)),
                        errhint("Name an index created with USING gpu_text.")));
    functions::require_read_access(open);
    functions::lock_predicates(open, GetActiveSnapshot());
    return open;
}

namespace {

// The numbers of an index's hits whose rows were looked up lately, and of those without a row that a snapshot
// saw.
struct PassedOver {
    Oid index;
    uint32 looked_up;
    uint32 passed_over;
};

}  // namespace

// Places are found by the index's OID. Two indexes may share one, which costs no more than another request.
static PassedOver &passed_over_of(Oid index) {
    constexpr uint32 kIndexes = 16;
    static PassedOver lately[kIndexes];
    PassedOver &passed = lately[index % kIndexes];
    if (passed.index != index)
        passed = {index, 0, 0};
    return passed;
}

static void note_passed_over(Oid index, uint32 looked_up, uint32 passed_over) {
    constexpr uint32 kRemembered = 1024;
    PassedOver &passed = passed_over_of(index);
    passed.looked_up += looked_up;
    passed.passed_over += passed_over;
    while (passed.looked_up > kRemembered) {
        passed.looked_up /= 2;
        passed.passed_over /= 2;
    }
}

// A few more than are wanted, and as many more as lately were passed over because the snapshot did not see
// their rows, so that the ranking need not go on for them; the fewer, the more documents it passes over.
static uint32 first_limit(Oid index, uint32 wanted) {
    constexpr uint64 kMaxTimes = 16;
    const PassedOver &passed = passed_over_of(index);
    const uint64 seen = Max(passed.looked_up - passed.passed_over, 1U);
    const uint64 more = Min(uint64{wanted} * passed.passed_over / seen, wanted * kMaxTimes);
    return static_cast<uint32>(
        Min(wanted + more + (wanted + more) / 8 + 2, uint64{gpu_engine::max_text_hits}));
}

// Looks hits up until there are enough rows that the snapshot sees. true when more may follow the last hit.
// Those of a stale corpus are no rows.
static bool take_visible(const text::Corpus *corpus, text::Rows *rows, const text::RankedQuery &query,
                         FoundRows *found) {
    if (text::is_stale(corpus))
        return false;
    const text::Ranking &ranking = query.ranking;
    const uint32 before = found->count;
    uint32 i = 0;
    for (; i < ranking.hit_count && found->count < found->limit; i++) {
        const text::Hit &hit = ranking.hits[i];
        bool matches = true;
        ItemPointerData row;
        if (text::look_up_row(rows, hit.tid, hit.maybe ? query.query.text : nullptr, &matches, &row) &&
            matches)
            found->rows[found->count++] = {row, hit.score};
    }
    note_passed_over(RelationGetRelid(corpus->index), i, i - (found->count - before));
    return ranking.hit_count == ranking.limit && found->count < found->limit;
}

// Goes on behind the hits that the query has.
static void take_more(text::Corpus *corpus, client::Choice choice, text::Rows *rows, text::RankedQuery *query,
                      FoundRows *found) {
    constexpr uint32 kGrowth = 4;
    constexpr uint32 kMaxRanked = 1u << 20;
    text::Ranking *ranking = &query->ranking;
    do {
        CHECK_FOR_INTERRUPTS();
        query->last = ranking->hits[ranking->hit_count - 1];
        ranking->after = &query->last;
        ranking->limit = Min(ranking->limit * kGrowth,
                             choice.path == client::Path::Paged ? kMaxRanked : gpu_engine::max_text_hits);
        if (!text::rank_by_server(corpus, choice, query, 1)) {
            choice.path = client::Path::Paged;
            text::rank_on_pages(corpus, query);
        }
    } while (take_visible(corpus, rows, *query, found));
}

// Searches all in one request. Returns false when the server isn't asked or doesn't answer.
static bool search_on_server(text::Corpus *corpus, text::Rows *rows, text::RankedQuery *queries,
                             FoundRows **found, int count) {
    for (int i = 0; i < count; i++)
        text::find_lists(corpus, &queries[i]);
    client::Choice choice;
    bool answered = false;
    for (int tries = 0; !answered && tries < table::kMaxServerTries; tries++) {
        choice = text::choose_ranking_path(corpus, queries, count);
        if (choice.path == client::Path::Paged)
            return false;
        text::weigh_queries(corpus, choice, queries, count);
        answered = text::rank_by_server(corpus, choice, queries, count);
        if (!answered && !client::may_share_out_again())
            return false;
    }
    if (!answered)
        return false;
    for (int i = 0; i < count; i++)
        if (take_visible(corpus, rows, queries[i], found[i]))
            take_more(corpus, choice, rows, &queries[i], found[i]);
    return true;
}

static void search_on_pages(text::Corpus *corpus, text::Rows *rows, text::RankedQuery *query,
                            FoundRows *found) {
    constexpr client::Choice kPages = {client::Path::Paged, 0};
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.search query", ALLOCSET_DEFAULT_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(context);
    text::find_lists(corpus, query);
    text::weigh_queries(corpus, kPages, query, 1);
    text::rank_on_pages(corpus, query);
    if (take_visible(corpus, rows, *query, found))
        take_more(corpus, kPages, rows, query, found);
    MemoryContextSwitchTo(caller);
    MemoryContextDelete(context);
}

// Ranks what each of the queries matches, nothing where it is nullptr, all in one view.
static void search_visible(const functions::OpenIndex &open, text::Rows *rows, TSQuery *texts, int count,
                           FoundRows *found) {
    pgstat_count_index_scan(open.index);
    text::with_corpus(open.index, rows->snapshot, [&](text::Corpus *corpus) {
        auto *queries = allocate<text::RankedQuery>(count);
        auto **queries_found = allocate<FoundRows *>(count);
        auto *parsed = allocate<text::Query>(count);
        for (int i = 0; i < count; i++)
            parsed[i] = text::parse_query(texts[i]);
        if (count > 1)
            text::begin_batch(corpus, parsed, count);
        // Those for the server first, the others from the end on.
        int plain = 0;
        int others = count;
        for (int i = 0; i < count; i++) {
            found[i].count = 0;
            const text::Query &query = parsed[i];
            if (query.root == nullptr || found[i].limit == 0)
                continue;
            const uint32 limit = first_limit(RelationGetRelid(open.index), found[i].limit);
            text::begin_query(query, limit, &queries[plain]);
            if (text::is_for_server(corpus, &queries[plain])) {
                queries_found[plain++] = &found[i];
                continue;
            }
            text::begin_query(query, limit, &queries[--others]);
            queries_found[others] = &found[i];
        }
        int done = 0;
        if (plain > 0 && search_on_server(corpus, rows, queries, queries_found, plain))
            done = plain;
        for (int i = done; i < plain; i++)
            search_on_pages(corpus, rows, &queries[i], queries_found[i]);
        client::note_request_done(open.index, client::RequestKind::SearchText);
        for (int i = others; i < count; i++)
            search_on_pages(corpus, rows, &queries[i], queries_found[i]);
    });
}

static void search(const functions::OpenIndex &open, text::Rows *rows, const TSQuery *queries, int count,
                   text::Mode mode, FoundRows *found) {
    auto *texts = allocate<TSQuery>(count);
    const text::Mode first = mode == text::Mode::AndOr ? text::Mode::And : mode;
    for (int i = 0; i < count; i++)
        texts[i] = text::rewrite_query(queries[i], first);
    search_visible(open, rows, texts, count, found);
    if (mode != text::Mode::AndOr)
        return;
    // The query by any lexeme answers for that by all lexemes where all of them together have too few
    // documents.
    auto *any = allocate<TSQuery>(count);
    auto *rest = allocate<FoundRows>(count);
    auto *numbers = allocate<int>(count);
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (found[i].count == found[i].limit)
            continue;
        TSQuery text = text::rewrite_query(queries[i], text::Mode::Or);
        if (text::same_query(texts[i], text))
            continue;
        any[left] = text;
        rest[left] = found[i];
        numbers[left++] = i;
    }
    if (left > 0)
        search_visible(open, rows, any, left, rest);
    for (int i = 0; i < left; i++)
        found[numbers[i]].count = rest[i].count;
}

static uint32 checked_limit(int32 limit) {
    if (limit < 0 || limit > kMaxResults)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("k must be between 0 and %d", kMaxResults),
                 errhint("A query with ORDER BY ... <=> gpu.query(...) has no such limit.")));
    return static_cast<uint32>(limit);
}

static text::Mode mode_argument(FunctionCallInfo fcinfo, int argument) {
    return text::mode_of(DatumGetCString(DirectFunctionCall1(textout, PG_GETARG_DATUM(argument))));
}

Datum pg_gpu_search(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    const uint32 limit = checked_limit(PG_GETARG_INT32(2));
    const text::Mode mode = mode_argument(fcinfo, 3);
    const functions::OpenIndex open = open_text_index(PG_GETARG_OID(0));
    text::Rows rows;
    text::open_rows(&rows, open.heap, open.index, GetActiveSnapshot());
    FoundRows found = {allocate<FoundRow>(uint64{limit} + 1), 0, limit};
    TSQuery query = PG_GETARG_TSQUERY(1);
    search(open, &rows, &query, 1, mode, &found);
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

namespace {

// Some of a batch's queries.
struct BatchPart {
    const Datum *queries;
    const bool *nulls;
    int first;
    int count;
};

}  // namespace

// Returns how many queries from `first` on are asked at once: their rows take no more than 16 MiB, and the
// lists of their lexemes, by run, stay within reason.
static int queries_at_once(const Datum *queries, const bool *nulls, int first, int count, uint32 limit) {
    constexpr uint32 kMaxRows = 1u << 20;
    constexpr uint32 kMaxQueries = 4096;
    constexpr uint64 kMaxOperands = 32768;
    const int most = Min(count - first, static_cast<int>(Min(kMaxRows / Max(limit, 1u), kMaxQueries)));
    uint64 operands = 0;
    int taken = 0;
    while (taken < most && (taken == 0 || operands < kMaxOperands)) {
        if (!nulls[first + taken])
            operands += DatumGetTSQuery(queries[first + taken])->size;
        taken++;
    }
    return taken;
}

static void search_some(const functions::OpenIndex &open, text::Rows *rows, const BatchPart &part,
                        text::Mode mode, uint32 limit, ReturnSetInfo *result) {
    auto *queries = allocate<TSQuery>(part.count);
    auto *found = allocate<FoundRows>(part.count);
    auto *numbers = allocate<int>(part.count);
    int count = 0;
    for (int i = part.first; i < part.first + part.count; i++) {
        if (part.nulls[i])
            continue;
        queries[count] = DatumGetTSQuery(part.queries[i]);
        found[count] = {allocate<FoundRow>(uint64{limit} + 1), 0, limit};
        numbers[count++] = i + 1;
    }
    search(open, rows, queries, count, mode, found);
    for (int i = 0; i < count; i++) {
        for (uint32 j = 0; j < found[i].count; j++) {
            Datum values[] = {Int64GetDatum(int64{numbers[i]}), PointerGetDatum(&found[i].rows[j].tid),
                              Float4GetDatum(text::postings::score_of(found[i].rows[j].score))};
            bool nulls[] = {false, false, false};
            tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
        }
    }
}

Datum pg_gpu_search_batch(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
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
    MemoryContext context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu.search_batch queries", ALLOCSET_DEFAULT_SIZES);
    for (int first = 0; first < count;) {
        const int some = queries_at_once(queries, nulls, first, count, limit);
        MemoryContext caller = MemoryContextSwitchTo(context);
        search_some(open, &rows, {queries, nulls, first, some}, mode, limit, result);
        first += some;
        MemoryContextSwitchTo(caller);
        MemoryContextReset(context);
    }
    text::close_rows(&rows);
    functions::close_index(open);
    return Datum{0};
}

// ---- gpu.intersect ----------------------------------------------------------------------------------------

// Returns a tsquery that asks for all of the lexemes; nullptr without any.
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
            ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                            errmsg("gpu.intersect cannot look for a lexeme that is NULL")));
        const char *lexeme = DatumGetCString(DirectFunctionCall1(textout, lexemes[i]));
        if (*lexeme == '\0')
            ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                            errmsg("gpu.intersect cannot look for an empty lexeme")));
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

namespace {

struct Tids {
    ItemPointerData *tids;
    uint64 count;
    uint64 room;
};

}  // namespace

static void add_tids(Tids *tids, const ItemPointerData *more, uint64 count) {
    if (tids->room - tids->count < count) {
        tids->room = Max(tids->room * 2, tids->count + count);
        tids->tids = reallocate(tids->tids, tids->room);
    }
    if (count > 0)
        memcpy(tids->tids + tids->count, more, count * sizeof(*more));
    tids->count += count;
}

// Adds what all runs have, or those that are chosen.
static void add_intersections(text::Corpus *corpus, const text::Query &query, const bool *chosen,
                              Tids *tids) {
    for (int i = 0; i < corpus->run_count; i++) {
        text::RunReader *reader = &corpus->runs[i];
        if (chosen != nullptr && !chosen[i])
            continue;
        const text::OrdinalSet set =
            text::match_all_conditions(reader, &query, text::open_lists(reader, query), nullptr, 0);
        for (uint32 j = 0; j < set.count && !reader->stale; j++) {
            if (j % 1024 == 0)
                CHECK_FOR_INTERRUPTS();
            if (text::is_dead(reader, set.ordinals[j]))
                continue;
            const ItemPointerData tid = text::document_tid(reader, set.ordinals[j]);
            add_tids(tids, &tid, 1);
        }
    }
}

static void intersect_on_pages(text::Corpus *corpus, const text::Query &query, Tids *tids) {
    const client::PagedRequest request = client::begin_paged(client::RequestKind::IntersectText, 1);
    add_intersections(corpus, query, nullptr, tids);
    client::end_paged(request);
}

// false when the server is not asked or doesn't answer.
static bool intersect_on_server(text::Corpus *corpus, const text::Query &query, Tids *tids) {
    ItemPointerData *found;
    uint64 count;
    for (int tries = 0; tries < table::kMaxServerTries; tries++) {
        if (text::intersect_by_server(corpus, query, &found, &count)) {
            add_tids(tids, found, count);
            add_intersections(corpus, query, corpus->is_local, tids);
            return true;
        }
        if (!client::may_share_out_again())
            break;
    }
    return false;
}

// Returns the TIDs of the entries that match, by run in order.
static Tids matching_tids(const functions::OpenIndex &open, Snapshot snapshot, TSQuery text) {
    constexpr uint64 kFirstRoom = 1024;
    Tids tids = {allocate<ItemPointerData>(kFirstRoom), 0, kFirstRoom};
    pgstat_count_index_scan(open.index);
    text::with_corpus(open.index, snapshot, [&](text::Corpus *corpus) {
        tids.count = 0;
        const text::Query query = text::parse_query(text);
        for (int i = 0; i < corpus->raw_count; i++)
            text::for_each_tail_tuple(corpus->raws[i], [&](const text::DocumentTuple *tail_tuple) {
                if (text::match_tail_tuple(tail_tuple, &query, nullptr, 0) == text::Match::Yes)
                    add_tids(&tids, &tail_tuple->head.tid, 1);
            });
        if (!intersect_on_server(corpus, query, &tids))
            intersect_on_pages(corpus, query, &tids);
        client::note_request_done(open.index, client::RequestKind::IntersectText);
    });
    return tids;
}

Datum pg_gpu_intersect(PG_FUNCTION_ARGS) {
    InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
    auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
    TSQuery query = query_of_lexemes(PG_GETARG_ARRAYTYPE_P(1));
    const functions::OpenIndex open = open_text_index(PG_GETARG_OID(0));
    if (query != nullptr) {
        text::Rows rows;
        text::open_rows(&rows, open.heap, open.index, GetActiveSnapshot());
        const Tids tids = matching_tids(open, rows.snapshot, query);
        for (uint64 i = 0; i < tids.count; i++) {
            CHECK_FOR_INTERRUPTS();
            ItemPointerData row;
            if (!text::look_up_row(&rows, tids.tids[i], nullptr, nullptr, &row))
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
