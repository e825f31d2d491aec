#include "text/mirror.h"

#include <algorithm>

#include "table/table.h"
#include "text/text.h"
#include "request_kinds.h"

namespace pg_gpu::text {

using gpu_engine::TextList;
using gpu_engine::TextQuery;
using gpu_engine::TextTerm;

// With fewer entries a request's way there and back alone takes longer.
static constexpr uint64 kFewestEntries = 16384;

// ---- the mirror's format ---------------------------------------------------------------------------------

static uint64 mirrored_entries(const storage::RunEntry &run) {
    return layout_of(run) == Layout::Inverted ? run.entries : 0;
}

static bool read_shape(Relation index, const storage::RunEntry &run, gpu_engine::TextShape *shape) {
    RunReader reader;
    storage::RunEntry without_dead = run;
    without_dead.dead = 0;
    open_reader(&reader, index, without_dead);
    const bool read = !reader.stale;
    *shape = {reader.header.posting_bytes, static_cast<uint32>(run.entries),
              static_cast<postings::Codec>(reader.header.codec)};
    close_reader(&reader);
    return read;
}

const client::MirrorFormat *mirror_format(Relation) {
    static constexpr TextMirror format = {{&text_mirror, 0, mirrored_entries}, kPostingSection, read_shape};
    return &format;
}

// Returns the view's runs that `chosen` has, in its order; *places says which of the corpus's each is.
template <typename Chosen>
static client::RunSet run_set(const Corpus *corpus, Chosen chosen, int *places) {
    auto *runs = allocate<storage::RunEntry>(corpus->run_count + 1);
    auto *saves = allocate<double>(corpus->run_count + 1);
    client::RunSet set = {corpus->index,           run_kind(), mirror_format(corpus->index), runs, 0,
                          corpus->view.vacuum_seq, saves};
    for (int i = 0; i < corpus->run_count; i++) {
        if (corpus->runs[i].run.entries == 0 || !chosen(i))
            continue;
        places[set.count] = i;
        saves[set.count] = corpus->saves[i];
        runs[set.count++] = corpus->runs[i].run;
    }
    return set;
}

// ---- queries ---------------------------------------------------------------------------------------------

static gpu_engine::TextMode mode_for(const RankedQuery &query) {
    return query.steps.count > 0                            ? gpu_engine::TextMode::steps
           : query.query.root->kind == QueryNode::Kind::And ? gpu_engine::TextMode::all
                                                            : gpu_engine::TextMode::any;
}

static bool may_use_server(const Corpus *corpus) {
    uint64 entries = 0;
    for (int i = 0; i < corpus->run_count; i++)
        entries += corpus->runs[i].run.entries;
    return entries > 0 && corpus->run_count <= client::kMaxRuns &&
           client::may_use_server(entries, kFewestEntries);
}

// Returns false where prefixes have too many lexemes.
static bool find_few_places(Corpus *corpus, RankedQuery *query) {
    query->places = find_places(corpus, query->query, gpu_engine::max_text_lists);
    if (query->places == nullptr)
        return false;
    if (has_prefixes(query->query) ||
        !(is_plain_disjunction(query->query.root) || is_plain_conjunction(query->query.root)))
        query->steps = make_steps(query->query);
    return true;
}

static const char *reason_against_server(Corpus *corpus, RankedQuery *query) {
    if (query->query.term_count > static_cast<int>(gpu_engine::max_text_terms))
        return "the query has too many lexemes";
    if (!find_few_places(corpus, query))
        return "too many lexemes have the prefix";
    return query->steps.too_many ? "the query has too many operators" : nullptr;
}

bool is_for_server(Corpus *corpus, RankedQuery *query) {
    if (query->query.root == nullptr || !may_use_server(corpus))
        return false;
    const char *reason = reason_against_server(corpus, query);
    if (reason != nullptr)
        client::note_unsuited(client::RequestKind::SearchText, RelationGetRelid(corpus->index), reason);
    return reason == nullptr;
}

void begin_query(const Query &query, uint32 limit, RankedQuery *ranked) {
    *ranked = {};
    ranked->query = query;
    ranked->ranking.query = &ranked->query;
    ranked->ranking.limit = limit;
}

void find_lists(Corpus *corpus, RankedQuery *query) {
    if (query->places != nullptr || query->lists != nullptr)
        return;
    if (!find_few_places(corpus, query))
        query->lists = open_all_lists(corpus, query->query);
}

static TextList list_at(const ListPlace &place) {
    return {place.start,   place.bytes,          static_cast<uint32>(place.documents),
            place.ordinal, place.term_frequency, 0};
}

// ---- which path -------------------------------------------------------------------------------------------

// Windows of documents are gone through on pages where one list is enough.
static void add_any(const RankedQuery &query, const RunPlaces &places, uint64 documents,
                    client::Request *request) {
    const uint32 lists = places.first[query.query.term_count];
    for (uint32 i = 0; i < lists; i++)
        request->entries += places.places[i].documents;
    request->lists += lists;
    if (query.steps.count == 0)
        request->windows += lists * (documents / kWindow + 1);
}

static void add_all(const RankedQuery &query, const RunPlaces &places, client::Request *request) {
    uint64 shortest = PG_UINT64_MAX;
    uint64 second = PG_UINT64_MAX;
    for (int term = 0; term < query.query.term_count; term++) {
        if (!has_places(places, term))
            return;
        const uint64 documents = places.places[places.first[term]].documents;
        second = Min(second, Max(shortest, documents));
        shortest = Min(shortest, documents);
    }
    request->lists += static_cast<uint64>(query.query.term_count);
    request->shortest += shortest;
    request->second += second;
}

static void add_run(const Corpus *corpus, const RankedQuery &query, int run, client::Request *request) {
    if (mode_for(query) == gpu_engine::TextMode::all)
        add_all(query, query.places[run], request);
    else
        add_any(query, query.places[run], corpus->runs[run].run.entries, request);
}

// Returns how the cost model sees all these queries together, whose lists have been found.
static client::Request request_of(const Corpus *corpus, client::RequestKind kind, const RankedQuery *queries,
                                  int count) {
    client::Request request = {};
    request.index = RelationGetRelid(corpus->index);
    request.learns = true;
    // Pages answer a batch's queries one after the other, so single ones tell nothing of it.
    request.shape = count > 1 ? 1 : 0;
    request.kind = kind;
    request.runs = corpus->run_count;
    request.items = static_cast<uint64>(count);
    for (int i = 0; i < count; i++) {
        const uint64 before = request.entries + request.shortest;
        for (int run = 0; run < corpus->run_count; run++)
            add_run(corpus, queries[i], run, &request);
        request.results += Min(uint64{queries[i].ranking.limit} * static_cast<uint64>(corpus->run_count),
                               request.entries + request.shortest - before);
    }
    return request;
}

// Computes how much longer the queries take on pages for each run. Pages rank one query after the other,
// while a device ranks all of them in a run at once.
static void find_savings(Corpus *corpus, client::Path path, client::RequestKind kind,
                         const RankedQuery *queries, int count) {
    for (int run = 0; run < corpus->run_count; run++) {
        client::Request of_run = {};
        of_run.kind = kind;
        for (int i = 0; i < count; i++)
            add_run(corpus, queries[i], run, &of_run);
        corpus->saves[run] = client::saved_by_server(of_run, path);
    }
}

// The server goes through one run after the other, and each of them takes a ranking of its own. Runs that
// pages rank in less time stay local, as long as each is a small part, and all local together are.
static void keep_cheap_runs_local(Corpus *corpus) {
    constexpr uint64 kLeastPart = 16;
    constexpr uint64 kLeastTogether = 8;
    uint64 documents = 0;
    uint64 is_local = 0;
    for (int run = 0; run < corpus->run_count; run++) {
        documents += corpus->runs[run].run.entries;
        is_local += corpus->is_local[run] ? corpus->runs[run].run.entries : 0;
    }
    for (int run = 0; run < corpus->run_count; run++) {
        const uint64 entries = corpus->runs[run].run.entries;
        if (corpus->is_local[run] || corpus->saves[run] > 0 || entries > documents / kLeastPart ||
            is_local + entries > documents / kLeastTogether)
            continue;
        corpus->is_local[run] = true;
        is_local += entries;
    }
}

static client::Choice choose_path(Corpus *corpus, const client::Request &request, const RankedQuery *queries,
                                  int count) {
    constexpr client::Choice kPages = {client::Path::Paged, 0};
    memset(corpus->is_local, 0, static_cast<size_t>(corpus->run_count) * sizeof(bool));
    auto *places = allocate<int>(corpus->run_count + 1);
    client::RunSet all = run_set(
        corpus, [](int) { return true; }, places);
    const bool all_are_small = !std::any_of(
        all.runs, all.runs + all.count,
        [&](const storage::RunEntry &run) { return client::is_worth_mirroring(*all.format, run); });
    if (all_are_small && count == 1) {
        client::note_unsuited(request.kind, request.index, client::kAllRunsAreSmall);
        return kPages;
    }
    const client::Choice choice = client::choose_path(request);
    if (choice.path == client::Path::Paged)
        return kPages;
    find_savings(corpus, choice.path, request.kind, queries, count);
    all = run_set(
        corpus, [](int) { return true; }, places);
    auto *is_local = allocate<bool>(all.count + 1);
    if (!client::share_out(all, choice, request.kind, is_local))
        return kPages;
    if (std::all_of(is_local, is_local + all.count, [](bool is_local_run) { return is_local_run; })) {
        client::note_unsuited(request.kind, request.index, client::kAllRunsAreSmall);
        return kPages;
    }
    for (int i = 0; i < all.count; i++)
        corpus->is_local[places[i]] = is_local[i];
    // Intersections are told by run, in the runs' order.
    if (request.kind == client::RequestKind::SearchText)
        keep_cheap_runs_local(corpus);
    return choice;
}

client::Choice choose_ranking_path(Corpus *corpus, const RankedQuery *queries, int count) {
    return choose_path(corpus, request_of(corpus, client::RequestKind::SearchText, queries, count), queries,
                       count);
}

// ---- weighing ---------------------------------------------------------------------------------------------

// A list whose dead postings must be counted, and where the others' number goes.
namespace {

struct CountedList {
    int run;
    const ListPlace *place;
    uint64 *count;
};

struct CountedLists {
    CountedList *lists;
    uint32 count;
    uint32 room;
};

}  // namespace

static void add_counted(CountedLists *counted, const CountedList &list) {
    if (counted->count == counted->room) {
        counted->room = Max(counted->room * 2, 64u);
        counted->lists = counted->lists == nullptr ? allocate<CountedList>(counted->room)
                                                   : reallocate(counted->lists, counted->room);
    }
    counted->lists[counted->count++] = list;
}

static bool count_by_server(Corpus *corpus, const client::Choice &choice, CountedLists *counted) {
    if (choice.path == client::Path::Paged)
        return false;
    std::stable_sort(counted->lists, counted->lists + counted->count,
                     [](const CountedList &a, const CountedList &b) { return a.run < b.run; });
    auto *places = allocate<int>(corpus->run_count + 1);
    const client::RunSet set = run_set(
        corpus, [&](int run) { return corpus->runs[run].dead != nullptr && !corpus->is_local[run]; }, places);
    auto *lists = allocate<TextList>(counted->count);
    auto *first = allocate<uint32>(set.count + 1);
    uint32 next = 0;
    TextLists requested = {lists, first, {}};
    requested.request.kind = client::RequestKind::CountText;
    requested.request.runs = set.count;
    requested.request.items = counted->count;
    requested.request.lists = counted->count;
    for (int i = 0; i < set.count; i++) {
        first[i] = next;
        for (; next < counted->count && counted->lists[next].run == places[i]; next++) {
            lists[next] = list_at(*counted->lists[next].place);
            requested.request.entries += lists[next].documents;
        }
    }
    first[set.count] = next;
    const uint32 *documents;
    if (!count_text(set, choice, requested, &documents))
        return false;
    for (uint32 i = 0; i < next; i++)
        *counted->lists[i].count += Min(uint64{documents[i]}, counted->lists[i].place->documents);
    return true;
}

static void count_on_pages(Corpus *corpus, const CountedList &counted) {
    CHECK_FOR_INTERRUPTS();
    ListCursor *list = open_list(&corpus->runs[counted.run], *counted.place);
    *counted.count += count_live(list);
    close_list(list);
}

// Adds what the run's directory and dictionary tell; lists of a run with dead entries must be read.
static void count_in_runs(Corpus *corpus, RankedQuery *query, uint64 *counts, CountedLists *counted) {
    for (int run = 0; run < corpus->run_count; run++) {
        const RunReader *reader = &corpus->runs[run];
        const RunPlaces &places = query->places[run];
        for (int term = 0; term < query->query.term_count; term++) {
            if (!query->query.terms[term].ranked)
                continue;
            for (uint32 i = places.first[term]; i < places.first[term + 1]; i++) {
                const ListPlace &place = places.places[i];
                if (place.documents > 1 && reader->dead != nullptr && corpus->is_local[run])
                    count_on_pages(corpus, {run, &place, &counts[term]});
                else if (place.documents > 1 && reader->dead != nullptr)
                    add_counted(counted, {run, &place, &counts[term]});
                else if (place.documents != 1 || !is_dead(reader, place.ordinal))
                    counts[term] += place.documents;
            }
        }
    }
}

void weigh_queries(Corpus *corpus, const client::Choice &choice, RankedQuery *queries, int count) {
    const Options options = options_of(corpus->index);
    CountedLists counted = {};
    auto **counts = allocate<uint64 *>(count);
    for (int i = 0; i < count; i++) {
        RankedQuery *query = &queries[i];
        query->ranking.norms = norms_for(options, average_length(corpus));
        counts[i] = allocate_zeroed<uint64>(query->query.term_count + 1);
        if (query->places == nullptr) {
            count_documents(corpus, query->query, query->lists, counts[i]);
            continue;
        }
        count_in_tuples(corpus, query->query, counts[i]);
        count_in_runs(corpus, query, counts[i], &counted);
    }
    const bool answered = counted.count > 0 && count_by_server(corpus, choice, &counted);
    for (uint32 i = 0; !answered && i < counted.count; i++)
        count_on_pages(corpus, counted.lists[i]);
    for (int i = 0; i < count; i++)
        weigh_terms(corpus->documents, options.k1, counts[i], &queries[i].query);
}

// ---- ranking ----------------------------------------------------------------------------------------------

namespace {

// The request: queries and their terms, by run, and the queries' steps.
struct Requested {
    TextQuery *queries;
    TextTerm *terms;
    uint32 *first_term;
    double *shrink;
    gpu_engine::TextStep *steps;
    uint32 step_count;
};

}  // namespace

// Adds the query's terms in one run, and returns their number; none where it can't match.
static uint32 add_terms(const RankedQuery &query, int run, TextTerm *terms) {
    const RunPlaces &places = query.places[run];
    uint32 count = 0;
    for (int term = 0; term < query.query.term_count; term++) {
        const QueryTerm &requested = query.query.terms[term];
        for (uint32 i = places.first[term]; i < places.first[term + 1]; i++)
            terms[count++] = {list_at(places.places[i]), requested.weight, static_cast<uint32>(term),
                              requested.ranked ? 1U : 0U};
        if (mode_for(query) == gpu_engine::TextMode::all && !has_places(places, term))
            return 0;
    }
    return count;
}

static Requested room_for(const int *places, int runs, const RankedQuery *queries, int count) {
    uint64 terms = 0;
    uint64 steps = 0;
    for (int i = 0; i < count; i++) {
        for (int r = 0; r < runs; r++)
            terms += queries[i].places[places[r]].first[queries[i].query.term_count];
        steps += queries[i].steps.count;
    }
    return {allocate<TextQuery>(static_cast<uint64>(runs) * static_cast<uint64>(count) + 1),
            allocate<TextTerm>(terms + 1),
            allocate<uint32>(runs + 1),
            allocate<double>(runs + 1),
            allocate<gpu_engine::TextStep>(steps + 1),
            0};
}

static Requested lay_out(Corpus *corpus, const int *places, int runs, const RankedQuery *queries, int count) {
    Requested requested = room_for(places, runs, queries, count);
    uint32 next = 0;
    for (int r = 0; r < runs; r++) {
        requested.first_term[r] = next;
        requested.shrink[r] = bound_shrink(&corpus->runs[places[r]], queries[0].ranking.norms);
        uint32 step = 0;
        for (int i = 0; i < count; i++) {
            const RankedQuery &query = queries[i];
            const Hit *after = query.ranking.after;
            TextQuery *out = &requested.queries[static_cast<int64>(r) * count + i];
            *out = {};
            out->first_term = next - requested.first_term[r];
            out->terms = add_terms(query, places[r], requested.terms + next);
            out->mode = mode_for(query);
            out->k = query.ranking.limit;
            out->first_step = step;
            out->steps = query.steps.count;
            if (after != nullptr) {
                out->resumes = 1;
                out->score = after->score;
                memcpy(&out->tid, &after->tid, sizeof(out->tid));
            }
            next += out->terms;
            step += out->steps;
        }
    }
    requested.first_term[runs] = next;
    for (int i = 0; i < count; i++) {
        if (queries[i].steps.count > 0)
            memcpy(requested.steps + requested.step_count, queries[i].steps.steps,
                   queries[i].steps.count * sizeof(*requested.steps));
        requested.step_count += queries[i].steps.count;
    }
    return requested;
}

// Checks TIDs, which are the server's word.
static bool are_tids_within(Corpus *corpus, client::RequestKind kind, const ItemPointerData *tids,
                            uint64 count) {
    for (uint64 i = 0; i < count; i++) {
        if (is_possible_tid(corpus->index, &corpus->heap_blocks, tids[i]))
            continue;
        client::note_unsuited(kind, RelationGetRelid(corpus->index),
                              "the answer has a TID outside of the table");
        return false;
    }
    return true;
}

// Takes the hits of the answer's query number `number`, and with them those of tuples and of local runs.
static bool take_hits(Corpus *corpus, int runs, const TextHits &result, uint64 number, uint64 begin,
                      RankedQuery *query) {
    uint64 found = 0;
    for (int r = 0; r < runs; r++)
        found += result.counts[r][number];
    auto *hits = allocate<Hit>(found + 1);
    uint64 taken = 0;
    for (int r = 0; r < runs; r++) {
        const gpu_engine::TextHit *of_run = result.hits[r] + begin;
        for (uint32 i = 0; i < result.counts[r][number]; i++) {
            Hit *hit = &hits[taken++];
            *hit = {of_run[i].score, {}, query->steps.count > 0 && !query->steps.exact};
            memcpy(&hit->tid, &of_run[i].tid, sizeof(hit->tid));
            if (!are_tids_within(corpus, client::RequestKind::SearchText, &hit->tid, 1))
                return false;
        }
    }
    ListCursor ***lists = open_lists_at(corpus, query->query, query->places, corpus->is_local);
    rank_local_runs_and_hits(corpus, lists, hits, taken, &query->ranking);
    pfree(hits);
    return true;
}

bool rank_by_server(Corpus *corpus, const client::Choice &choice, RankedQuery *queries, int count) {
    const uint32 limit = queries[0].ranking.limit;
    if (choice.path == client::Path::Paged || limit > gpu_engine::max_text_hits)
        return false;
    if (limit == 0)
        return true;
    auto *places = allocate<int>(corpus->run_count + 1);
    const client::RunSet set = run_set(
        corpus, [&](int run) { return !corpus->is_local[run]; }, places);
    const Requested requested = lay_out(corpus, places, set.count, queries, count);
    const TextSearch search = {requested.queries,
                               static_cast<uint64>(count),
                               requested.terms,
                               requested.first_term,
                               requested.steps,
                               requested.step_count,
                               queries[0].ranking.norms,
                               requested.shrink,
                               request_of(corpus, client::RequestKind::SearchText, queries, count)};
    auto *result = allocate<TextHits>(1);
    for (uint64 done = 0; done < search.count; done += result->queries) {
        CHECK_FOR_INTERRUPTS();
        if (!search_text(set, choice, search, done, result))
            return false;
        for (uint64 i = 0; i < result->queries; i++)
            if (!take_hits(corpus, set.count, *result, i, i * limit, &queries[done + i]))
                return false;
    }
    return true;
}

void rank_on_pages(Corpus *corpus, RankedQuery *query) {
    if (query->lists == nullptr && query->places != nullptr)
        query->lists = open_lists_at(corpus, query->query, query->places);
    const client::PagedRequest request = client::begin_paged(client::RequestKind::SearchText, 1);
    rank(corpus, query->lists, &query->ranking);
    client::end_paged(request);
}

void rank_by_any_path(Corpus *corpus, Ranking *ranking) {
    RankedQuery query;
    begin_query(*ranking->query, ranking->limit, &query);
    query.ranking = *ranking;
    bool asks = ranking->condition_count == 0 && ranking->among == nullptr && is_for_server(corpus, &query);
    if (query.query.root != nullptr)
        find_lists(corpus, &query);
    bool answered = false;
    for (int tries = 0; asks && !answered && tries < table::kMaxServerTries; tries++) {
        answered = rank_by_server(corpus, choose_ranking_path(corpus, &query, 1), &query, 1);
        asks = client::may_share_out_again();
    }
    if (!answered)
        rank_on_pages(corpus, &query);
    client::note_request_done(corpus->index, client::RequestKind::SearchText);
    *ranking = query.ranking;
}

// ---- intersecting -----------------------------------------------------------------------------------------

bool intersect_by_server(Corpus *corpus, const Query &query, ItemPointerData **tids, uint64 *count) {
    if (!may_use_server(corpus) || query.term_count > static_cast<int>(gpu_engine::max_text_terms))
        return false;
    RankedQuery ranked;
    begin_query(query, 0, &ranked);
    find_lists(corpus, &ranked);
    TextLists requested = {};
    requested.request = request_of(corpus, client::RequestKind::IntersectText, &ranked, 1);
    requested.request.results = requested.request.shortest + requested.request.entries;
    const client::Choice choice = choose_path(corpus, requested.request, &ranked, 1);
    if (choice.path == client::Path::Paged)
        return false;
    auto *places = allocate<int>(corpus->run_count + 1);
    const client::RunSet set = run_set(
        corpus,
        [&](int run) {
            return !corpus->is_local[run] &&
                   ranked.places[run].first[query.term_count] == static_cast<uint32>(query.term_count);
        },
        places);
    *count = 0;
    *tids = nullptr;
    if (set.count == 0)
        return true;
    const auto terms = static_cast<uint32>(query.term_count);
    auto *lists = allocate<TextList>(static_cast<uint64>(set.count) * terms);
    auto *first = allocate<uint32>(set.count + 1);
    for (int i = 0; i < set.count; i++) {
        first[i] = static_cast<uint32>(i) * terms;
        for (uint32 term = 0; term < terms; term++)
            lists[first[i] + term] = list_at(ranked.places[places[i]].places[term]);
    }
    first[set.count] = static_cast<uint32>(set.count) * terms;
    requested.lists = lists;
    requested.first = first;
    auto *result = allocate<client::EntriesResult>(1);
    if (!intersect_text(set, choice, requested, result))
        return false;
    for (int i = 0; i < set.count; i++)
        *count += result->runs[i].entries;
    *tids = allocate<ItemPointerData>(*count + 1);
    uint64 taken = 0;
    for (int i = 0; i < set.count; i++) {
        memcpy(*tids + taken, result->runs[i].tids, result->runs[i].entries * sizeof(ItemPointerData));
        taken += result->runs[i].entries;
    }
    return are_tids_within(corpus, client::RequestKind::IntersectText, *tids, *count);
}

}  // namespace pg_gpu::text
