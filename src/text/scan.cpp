// There are bitmap and plain scans of `@@`, and ordered scans of `<=>`.
#include <limits>

#include "compat.h"
#include "text/candidate_scores.h"
#include "text/bm25.h"
#include "text/configuration.h"
#include "text/mirror.h"
#include "text/rows.h"
#include "text/search.h"
#include "text/text.h"

namespace pg_gpu::text {

// Ordered scans rank so many at first, and then each time so many times more.
static constexpr uint32 kFirstBatch = 128;
static constexpr uint32 kBatchGrowth = 8;
static constexpr uint32 kLargestBatch = 1u << 20;

// Documents are gone through from the beginning if fewer than one in so many is wanted. Otherwise the best of
// all are passed on as far as they are wanted, because lists let most documents be passed over.
static constexpr double kFewestWanted = 16;

namespace {

struct TidList {
    ItemPointerData *tids;
    bool *maybe;
    uint64 count;
    uint64 room;
};

enum class Phase { Ranked, Unmatched, Nulls, End };

struct Scan {
    client::Usage usage;    // usage by all ordered scans; others send no requests
    MemoryContext context;  // until the next rescan
    bool started;
    bool nothing;  // a condition compares with NULL
    Query *conditions;
    int condition_count;
    bool recheck;          // whatever the index knows
    bool needs_positions;  // some condition does
    bool found_inexact;    // conditions let entries pass of which the rows decide
    // The next fields are for plain scans, where `maybe` says that the conditions let an entry pass of which
    // the row decides, and for the unranked rows of ordered ones, where it says so of the query.
    TidList found;
    TidList nulls;
    uint64 at;
    // The next fields are for ordered scans.
    Phase phase;
    Query query;
    postings::Norms norms;
    bool has_query;
    bool only_ranked;            // a condition asks for what the query matches
    bool unordered;              // the executor orders the rows: the index can't tell their distances
    const table::RowSet *among;  // nullptr: all rows are wanted
    uint32 first_batch;          // 0: kFirstBatch
    Ranking ranking;
    uint32 next_hit;
    Hit last;
    bool has_rows;
    Rows rows;
};

}  // namespace

IndexScanDesc begin_scan(Relation index, int key_count, int order_by_count) {
    IndexScanDesc descriptor = RelationGetIndexScan(index, key_count, order_by_count);
    auto *scan = allocate_zeroed<Scan>(1);
    scan->context = AllocSetContextCreate(CurrentMemoryContext, "gpu_text scan", ALLOCSET_DEFAULT_SIZES);
    descriptor->opaque = scan;
    if (order_by_count > 0) {
        descriptor->xs_orderbyvals = allocate_zeroed<Datum>(order_by_count);
        descriptor->xs_orderbynulls = allocate_zeroed<bool>(order_by_count);
    }
    return descriptor;
}

static void forget(Scan *scan) {
    if (scan->has_rows)
        close_rows(&scan->rows);
    const client::Usage usage = scan->usage;
    MemoryContext context = scan->context;
    MemoryContextReset(context);
    *scan = {};
    scan->context = context;
    scan->usage = usage;
}

void rescan(IndexScanDesc descriptor, ScanKey keys, int key_count, ScanKey order_bys, int order_by_count) {
    if (keys != nullptr && key_count > 0)
        memmove(descriptor->keyData, keys, key_count * sizeof(ScanKeyData));
    if (order_bys != nullptr && order_by_count > 0)
        memmove(descriptor->orderByData, order_bys, order_by_count * sizeof(ScanKeyData));
    forget(static_cast<Scan *>(descriptor->opaque));
}

void end_scan(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    forget(scan);
    MemoryContextDelete(scan->context);
    pfree(scan);
    descriptor->opaque = nullptr;
}

void restrict_scan(IndexScanDesc descriptor, const table::RowSet *rows, double wanted) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    scan->among = rows;
    scan->first_batch = static_cast<uint32>(Min(Max(wanted, kFirstBatch), kFirstBatch * kFewestWanted));
}

client::Usage scan_usage(IndexScanDesc descriptor) {
    return static_cast<const Scan *>(descriptor->opaque)->usage;
}

static const Bm25Query *copy_of_query(Datum value) {
    return reinterpret_cast<const Bm25Query *>(PG_DETOAST_DATUM_COPY(value));
}

static void read_conditions(IndexScanDesc descriptor, Scan *scan) {
    MemoryContext caller = MemoryContextSwitchTo(scan->context);
    scan->started = true;
    count_index_search(descriptor);
    scan->conditions = allocate<Query>(descriptor->numberOfKeys + 1);
    scan->recheck = !IsMVCCSnapshot(descriptor->xs_snapshot);  // rule "Other snapshots"
    const DocumentSource source = source_of(descriptor->indexRelation);
    for (int i = 0; i < descriptor->numberOfKeys; i++) {
        const ScanKeyData &key = descriptor->keyData[i];
        if (key.sk_flags & SK_ISNULL) {
            scan->nothing = true;
            continue;
        }
        Query query;
        if (source.type == TSVECTOROID) {
            query = parse_query(DatumGetTSQueryCopy(key.sk_argument));
        } else {
            const Bm25Query *value = copy_of_query(key.sk_argument);
            // Words that are made otherwise are looked for in the rows.
            if (!makes_same_words(source_of(value, source.type), source)) {
                scan->recheck = true;
                continue;
            }
            query = parse_bm25_query(value);
        }
        scan->nothing = scan->nothing || query.root == nullptr;
        scan->needs_positions =
            scan->needs_positions || (query.root != nullptr && needs_positions(query.root));
        scan->conditions[scan->condition_count++] = query;
    }
    if (descriptor->numberOfOrderBys > 0 && !(descriptor->orderByData[0].sk_flags & SK_ISNULL)) {
        const Bm25Query *value = copy_of_query(descriptor->orderByData[0].sk_argument);
        scan->has_query = true;
        // Words of tsvectors are made elsewhere.
        scan->unordered = !makes_same_words(source_of(value, source.type), source);
        if (!scan->unordered) {
            scan->query = parse_bm25_query(value);
            scan->norms = value->norms;
        }
    }
    MemoryContextSwitchTo(caller);
}

// ---- unordered -------------------------------------------------------------------------------------------

// Reads the TIDs of a page's documents that aren't dead, and returns how many there are; none of a stale run.
static uint32 read_living(RunReader *reader, uint32 page, ItemPointerData *tids) {
    const uint32 on_page = read_document_tids(reader, page, tids);
    uint32 kept = 0;
    for (uint32 i = 0; i < on_page; i++)
        if (!is_dead(reader, page * kDocumentsPerPage + i))
            tids[kept++] = tids[i];
    return kept;
}

// Reads likewise the TIDs of the listed documents of a page. A few are read one by one.
static uint32 read_listed(RunReader *reader, uint32 page, const uint32 *ordinals, uint32 count,
                          ItemPointerData *tids) {
    constexpr uint32 kFew = 16;
    const bool few = count < kFew;
    if (!few && read_document_tids(reader, page, tids) == 0)
        return 0;
    uint32 kept = 0;
    for (uint32 i = 0; i < count; i++) {
        if (is_dead(reader, ordinals[i]))
            continue;
        tids[kept++] = few ? document_tid(reader, ordinals[i]) : tids[ordinals[i] - page * kDocumentsPerPage];
    }
    return reader->stale ? 0 : kept;
}

// Calls visit(tids, count, exact) with the live entries that match the conditions; with none, all. Unless
// `exact`, the rows decide.
template <typename Visit>
static void visit_matches(Corpus *corpus, const Scan *scan, Visit visit) {
    for (int i = 0; i < corpus->raw_count; i++) {
        for_each_tail_tuple(corpus->raws[i], [&](const DocumentTuple *tail_tuple) {
            Match match = Match::Yes;
            if (scan->condition_count > 0)
                match = match_tail_tuple(tail_tuple, nullptr, scan->conditions, scan->condition_count);
            if (match == Match::No)
                return;
            ItemPointerData tid = tail_tuple->head.tid;
            visit(&tid, 1, match == Match::Yes);
        });
    }
    auto *tids = allocate<ItemPointerData>(kDocumentsPerPage);
    for (int i = 0; i < corpus->run_count; i++) {
        RunReader *reader = &corpus->runs[i];
        if (scan->condition_count == 0) {
            for (uint32 page = 0; page < document_pages(reader->run.entries) && !reader->stale; page++) {
                CHECK_FOR_INTERRUPTS();
                visit(tids, read_living(reader, page, tids), true);
            }
            continue;
        }
        const OrdinalSet set =
            match_all_conditions(reader, nullptr, nullptr, scan->conditions, scan->condition_count);
        for (uint32 next = 0, end; next < set.count && !reader->stale; next = end) {
            CHECK_FOR_INTERRUPTS();
            const uint32 page = set.ordinals[next] / kDocumentsPerPage;
            for (end = next; end < set.count && set.ordinals[end] / kDocumentsPerPage == page;)
                end++;
            visit(tids, read_listed(reader, page, set.ordinals + next, end - next, tids), set.exact);
        }
    }
}

int64 get_bitmap(IndexScanDesc descriptor, TIDBitmap *bitmap) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    read_conditions(descriptor, scan);
    int64 count = 0;
    if (scan->nothing)
        return 0;
    const bool recheck = scan->recheck || bitmap_scan_skips_heap();
    // A TID that comes again after a restart does no harm.
    with_corpus(descriptor->indexRelation, descriptor->xs_snapshot, [&](Corpus *corpus) {
        count = 0;
        visit_matches(corpus, scan, [&](ItemPointerData *tids, uint32 found, bool exact) {
            if (found > 0)
                tbm_add_tuples(bitmap, tids, static_cast<int>(found), recheck || !exact);
            count += found;
        });
    });
    return count;
}

bool needs_rows_of(IndexScanDesc descriptor) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    if (!scan->started)
        read_conditions(descriptor, scan);
    return scan->recheck || (scan->needs_positions && !keeps_positions(descriptor->indexRelation));
}

bool visit_matches_of(IndexScanDesc descriptor, const EntrySink &sink) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    if (!scan->started)
        read_conditions(descriptor, scan);
    scan->found_inexact = scan->recheck;
    if (scan->nothing)
        return true;
    // The sink outlives the corpus.
    MemoryContext caller = CurrentMemoryContext;
    with_corpus(descriptor->indexRelation, descriptor->xs_snapshot, [&](Corpus *corpus) {
        MemoryContext own = MemoryContextSwitchTo(caller);
        sink.reset(sink.context);
        MemoryContextSwitchTo(own);
        visit_matches(corpus, scan, [&](const ItemPointerData *tids, uint32 count, bool exact) {
            MemoryContextSwitchTo(caller);
            sink.add(sink.context, tids, count);
            MemoryContextSwitchTo(own);
            scan->found_inexact = scan->found_inexact || !exact;
        });
    });
    return !scan->found_inexact;
}

static void add_tid(MemoryContext context, TidList *list, const ItemPointerData &tid, bool maybe) {
    if (list->count == list->room) {
        MemoryContext caller = MemoryContextSwitchTo(context);
        list->room = Max(list->room * 2, uint64{256});
        list->tids = list->tids == nullptr ? allocate<ItemPointerData>(list->room)
                                           : reallocate(list->tids, list->room);
        list->maybe =
            list->maybe == nullptr ? allocate<bool>(list->room) : reallocate(list->maybe, list->room);
        MemoryContextSwitchTo(caller);
    }
    list->tids[list->count] = tid;
    list->maybe[list->count++] = maybe;
}

static bool next_unordered(IndexScanDesc descriptor, Scan *scan) {
    if (!scan->started) {
        read_conditions(descriptor, scan);
        if (!scan->nothing)
            with_corpus(descriptor->indexRelation, descriptor->xs_snapshot, [&](Corpus *corpus) {
                scan->found.count = 0;
                visit_matches(corpus, scan, [&](ItemPointerData *tids, uint32 count, bool exact) {
                    for (uint32 i = 0; i < count; i++)
                        add_tid(scan->context, &scan->found, tids[i], !exact);
                });
            });
    }
    if (scan->at == scan->found.count)
        return false;
    descriptor->xs_recheck = scan->recheck || scan->found.maybe[scan->at];
    descriptor->xs_heaptid = scan->found.tids[scan->at++];
    return true;
}

// ---- ordered ---------------------------------------------------------------------------------------------

// Ranked rows meet a condition that is the query itself, and no others do.
static void drop_implied_conditions(Scan *scan) {
    int kept = 0;
    for (int i = 0; i < scan->condition_count; i++) {
        if (scan->has_query && same_query(scan->conditions[i].text, scan->query.text))
            scan->only_ranked = true;
        else
            scan->conditions[kept++] = scan->conditions[i];
    }
    scan->condition_count = kept;
}

// Returns how many of the best of all rows to rank so that among them are as many wanted ones as are ranked
// at first otherwise; 0 where the wanted ones are ranked instead.
static uint32 first_batch_of_all(IndexScanDesc descriptor, const Scan *scan) {
    const uint32 usual = Max(scan->first_batch, kFirstBatch);
    if (scan->among == nullptr)
        return usual;
    const double documents = descriptor->indexRelation->rd_rel->reltuples;
    const double per_wanted = documents / Max(static_cast<double>(scan->among->rows), 1);
    return per_wanted > 0 && per_wanted < kFewestWanted
               ? static_cast<uint32>(Min(usual * Max(per_wanted, 1.0), kFirstBatch * kFewestWanted))
               : 0;
}

static void begin_ordered(IndexScanDesc descriptor, Scan *scan) {
    read_conditions(descriptor, scan);
    drop_implied_conditions(scan);
    scan->phase = scan->nothing ? Phase::End : Phase::Ranked;
    scan->ranking.query = &scan->query;
    scan->ranking.norms = scan->norms;
    scan->ranking.conditions = scan->conditions;
    scan->ranking.condition_count = scan->condition_count;
    const uint32 first = first_batch_of_all(descriptor, scan);
    scan->ranking.among = first == 0 ? scan->among : nullptr;
    scan->ranking.limit = Max(first, kFirstBatch) / kBatchGrowth;
}

static bool is_wanted(const Scan *scan, const ItemPointerData &tid) {
    return scan->among == nullptr || contains(*scan->among, tid);
}

// A score depends on the document alone, so a new view goes on behind the last one.
static void rank_batch(IndexScanDesc descriptor, Scan *scan) {
    Ranking *ranking = &scan->ranking;
    ranking->after = scan->next_hit > 0 ? &scan->last : nullptr;
    // If few of the best were wanted, few of those that follow may be.
    if (scan->next_hit > 0)
        ranking->among = scan->among;
    ranking->limit = Min(ranking->limit * kBatchGrowth, kLargestBatch);
    const client::Usage before = client::session_usage();
    Hit *returned = ranking->hits;
    with_corpus(descriptor->indexRelation, descriptor->xs_snapshot, [&](Corpus *corpus) {
        rank_by_any_path(corpus, ranking);
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        auto *hits = allocate<Hit>(uint64{ranking->hit_count} + 1);
        if (ranking->hit_count > 0)
            memcpy(hits, ranking->hits, ranking->hit_count * sizeof(Hit));
        MemoryContextSwitchTo(caller);
        ranking->hits = hits;
    });
    client::add_usage_since(before, &scan->usage);
    if (returned != nullptr)
        pfree(returned);
    scan->next_hit = 0;
}

static bool row_matches(IndexScanDesc descriptor, Scan *scan, const ItemPointerData &tid, bool *matches) {
    if (!scan->has_rows) {
        MemoryContext caller = MemoryContextSwitchTo(scan->context);
        open_rows(&scan->rows, descriptor->heapRelation, descriptor->indexRelation, descriptor->xs_snapshot);
        MemoryContextSwitchTo(caller);
        scan->has_rows = true;
    }
    return look_up_row(&scan->rows, tid, scan->query.text, matches, nullptr);
}

static void return_row(IndexScanDesc descriptor, const Scan *scan, const ItemPointerData &tid, bool recheck,
                       float distance, bool is_null) {
    descriptor->xs_heaptid = tid;
    descriptor->xs_recheck = scan->recheck || recheck;
    // This is all that is known of further distances: the executor computes them and orders by them.
    descriptor->xs_recheckorderby = descriptor->numberOfOrderBys > 1 || scan->unordered;
    for (int i = 0; i < descriptor->numberOfOrderBys; i++) {
        const bool known = i == 0 && !scan->unordered;
        descriptor->xs_orderbyvals[i] =
            Float4GetDatum(known ? distance : -std::numeric_limits<float>::infinity());
        descriptor->xs_orderbynulls[i] = is_null && known;
    }
}

static bool next_ranked(IndexScanDesc descriptor, Scan *scan) {
    Ranking *ranking = &scan->ranking;
    if (!scan->has_query || scan->query.root == nullptr)
        return false;
    for (;;) {
        if (scan->next_hit == ranking->hit_count) {
            if (ranking->hits != nullptr && ranking->hit_count < ranking->limit)
                return false;
            rank_batch(descriptor, scan);
            if (ranking->hit_count == 0)
                return false;
        }
        scan->last = ranking->hits[scan->next_hit++];
        if (!is_wanted(scan, scan->last.tid))
            continue;
        bool matches = true;
        if (scan->last.maybe && (!row_matches(descriptor, scan, scan->last.tid, &matches) || !matches))
            continue;
        return_row(descriptor, scan, scan->last.tid, scan->last.maybe && scan->condition_count > 0,
                   scan->last.score == 0 ? 0 : -postings::score_of(scan->last.score), false);
        return true;
    }
}

static Match match_query(const Scan *scan, const DocumentTuple *tail_tuple) {
    return scan->has_query ? match_tail_tuple(tail_tuple, &scan->query, nullptr, 0) : Match::No;
}

// Calls visit(ordinal, tid) for each of the run's entries of rows that are wanted.
template <typename Visit>
static void visit_wanted(const Scan *scan, RunReader *reader, Visit visit) {
    const bool all = scan->among == nullptr;
    const OrdinalSet wanted = all ? whole_run() : ordinals_of_rows(reader, *scan->among);
    const uint64 count = all ? reader->run.entries : wanted.count;
    auto *tids = allocate<ItemPointerData>(kDocumentsPerPage);
    uint32 page = UINT32_MAX;
    for (uint64 i = 0; i < count && !reader->stale; i++) {
        const uint32 ordinal = all ? static_cast<uint32>(i) : wanted.ordinals[i];
        if (ordinal / kDocumentsPerPage != page) {
            CHECK_FOR_INTERRUPTS();
            page = ordinal / kDocumentsPerPage;
            if (read_document_tids(reader, page, tids) == 0)
                return;
        }
        if (!is_dead(reader, ordinal))
            visit(ordinal, tids[ordinal % kDocumentsPerPage]);
    }
}

// Goes forward through a set.
static bool is_member(const OrdinalSet &set, uint32 *next, uint32 ordinal) {
    while (*next < set.count && set.ordinals[*next] < ordinal)
        ++*next;
    return (*next < set.count && set.ordinals[*next] == ordinal) != set.complement;
}

static void collect_unranked_run(Scan *scan, RunReader *reader) {
    const OrdinalSet matching =
        scan->condition_count == 0
            ? whole_run()
            : match_all_conditions(reader, nullptr, nullptr, scan->conditions, scan->condition_count);
    const OrdinalSet ranked = scan->has_query && scan->query.root != nullptr
                                  ? match_run(reader, scan->query, open_lists(reader, scan->query))
                                  : OrdinalSet{nullptr, 0, false, true};
    scan->found_inexact = scan->found_inexact || !matching.exact;
    uint32 next_matching = 0;
    uint32 next_ranked = 0;
    visit_wanted(scan, reader, [&](uint32 ordinal, const ItemPointerData &tid) {
        if (!is_member(matching, &next_matching, ordinal))
            return;
        const bool is_ranked = is_member(ranked, &next_ranked, ordinal);
        if (!scan->has_query || document_length(reader, ordinal) == kNullLength)
            add_tid(scan->context, &scan->nulls, tid, false);
        else if (!is_ranked || !ranked.exact)
            add_tid(scan->context, &scan->found, tid, is_ranked);
    });
}

// All entries that are not ranked: those that do not match, perhaps not, and NULLs.
static void collect_unranked(IndexScanDesc descriptor, Scan *scan) {
    with_corpus(descriptor->indexRelation, descriptor->xs_snapshot, [&](Corpus *corpus) {
        scan->found.count = 0;
        scan->nulls.count = 0;
        scan->found_inexact = false;
        for (int i = 0; i < corpus->raw_count; i++) {
            for_each_tail_tuple(corpus->raws[i], [&](const DocumentTuple *tail_tuple) {
                if (!is_wanted(scan, tail_tuple->head.tid))
                    return;
                const Match meets =
                    scan->condition_count == 0
                        ? Match::Yes
                        : match_tail_tuple(tail_tuple, nullptr, scan->conditions, scan->condition_count);
                if (meets == Match::No)
                    return;
                scan->found_inexact = scan->found_inexact || meets == Match::Maybe;
                const Match match = match_query(scan, tail_tuple);
                if (is_null(tail_tuple) || !scan->has_query)
                    add_tid(scan->context, &scan->nulls, tail_tuple->head.tid, false);
                else if (match != Match::Yes)
                    add_tid(scan->context, &scan->found, tail_tuple->head.tid, match == Match::Maybe);
            });
        }
        for (int i = 0; i < corpus->run_count; i++)
            collect_unranked_run(scan, &corpus->runs[i]);
    });
    scan->at = 0;
}

static bool next_ordered(IndexScanDesc descriptor, Scan *scan) {
    if (!scan->started)
        begin_ordered(descriptor, scan);
    if (scan->phase == Phase::Ranked) {
        if (next_ranked(descriptor, scan))
            return true;
        if (scan->only_ranked) {
            scan->phase = Phase::End;
            return false;
        }
        collect_unranked(descriptor, scan);
        scan->phase = Phase::Unmatched;
    }
    while (scan->phase == Phase::Unmatched) {
        if (scan->at == scan->found.count) {
            scan->at = 0;
            scan->phase = Phase::Nulls;
            break;
        }
        const ItemPointerData tid = scan->found.tids[scan->at];
        const bool maybe = scan->found.maybe[scan->at++];
        // Those that match have been returned.
        bool matches = false;
        if (maybe && (!row_matches(descriptor, scan, tid, &matches) || matches))
            continue;
        return_row(descriptor, scan, tid, scan->found_inexact, 0, false);
        return true;
    }
    if (scan->phase == Phase::Nulls && scan->at < scan->nulls.count) {
        return_row(descriptor, scan, scan->nulls.tids[scan->at++], scan->found_inexact, 0, true);
        return true;
    }
    scan->phase = Phase::End;
    return false;
}

bool get_tuple(IndexScanDesc descriptor, ScanDirection) {
    auto *scan = static_cast<Scan *>(descriptor->opaque);
    const bool found =
        descriptor->numberOfOrderBys > 0 ? next_ordered(descriptor, scan) : next_unordered(descriptor, scan);
    if (found)
        storage::check_snapshot_of_view(descriptor->indexRelation, run_kind(), descriptor->xs_snapshot);
    return found;
}

}  // namespace pg_gpu::text
