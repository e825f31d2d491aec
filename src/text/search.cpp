#include "text/search.h"

#include <algorithm>

#include "text/candidate_scores.h"
#include "text/batch_terms.h"
#include "text/position_match.h"

namespace pg_gpu::text {

namespace {

// The best documents so far, the worst of them in front.
struct Best {
    Ranking *ranking;
    Hit *hits;
    uint32 count;
    uint32 room;
};

}  // namespace

static bool heap_order(const Hit &a, const Hit &b) {
    return ranks_before(a, b);
}

// Documents with less can't be among the best any more.
static int64 threshold(const Best &best) {
    return best.count < best.ranking->limit ? 0 : best.hits[0].score;
}

static void offer(Best *best, const Hit &hit) {
    const Ranking *ranking = best->ranking;
    if (ranking->after != nullptr && !ranks_before(*ranking->after, hit))
        return;
    if (best->count == ranking->limit) {
        if (!ranks_before(hit, best->hits[0]))
            return;
        std::pop_heap(best->hits, best->hits + best->count, heap_order);
        best->hits[best->count - 1] = hit;
        std::push_heap(best->hits, best->hits + best->count, heap_order);
        return;
    }
    if (best->count == best->room) {
        best->room = Min(Max(best->room * 2, 64u), ranking->limit);
        best->hits = best->hits == nullptr ? allocate<Hit>(best->room) : reallocate(best->hits, best->room);
    }
    best->hits[best->count++] = hit;
    std::push_heap(best->hits, best->hits + best->count, heap_order);
}

static void offer_document(Best *best, RunReader *reader, uint32 ordinal, int64 score, bool maybe) {
    if (score < threshold(*best) || is_dead(reader, ordinal))
        return;
    offer(best, {score, document_tid(reader, ordinal), maybe});
}

// ---- tuples
// ------------------------------------------------------------------------------------------------

Match match_tail_tuple(const DocumentTuple *tail_tuple, const Query *query, const Query *conditions,
                       int condition_count) {
    if (is_null(tail_tuple))
        return Match::No;
    Match match = Match::Yes;
    for (int i = -1; i < condition_count && match != Match::No; i++) {
        const Query *requested = i < 0 ? query : &conditions[i];
        if (requested == nullptr)
            continue;
        if (requested->root == nullptr)
            return Match::No;
        auto *frequencies = allocate<uint32>(requested->term_count);
        tuple_frequencies(*requested, tail_tuple, frequencies);
        Match one = match_document(requested->root, frequencies);
        if (one == Match::Maybe)
            one = decide_tail_tuple(*requested, tail_tuple);
        match = both(match, one);
        pfree(frequencies);
    }
    return match;
}

static int64 score_of_item(const Ranking &ranking, const DocumentTuple *tail_tuple,
                           const uint32 *frequencies) {
    int64 score = 0;
    for (int term = 0; term < ranking.query->term_count; term++)
        if (frequencies[term] > 0 && ranking.query->terms[term].ranked)
            score += postings::contribution(ranking.query->terms[term].weight,
                                            ranking.norms.of(tail_tuple->length), frequencies[term]);
    return score;
}

static void rank_tuples(const storage::Items &items, const Ranking &ranking, Best *best) {
    auto *frequencies = allocate<uint32>(ranking.query->term_count);
    for_each_tail_tuple(items, [&](const DocumentTuple *tail_tuple) {
        if (ranking.among != nullptr && !contains(*ranking.among, tail_tuple->head.tid))
            return;
        const Match match =
            match_tail_tuple(tail_tuple, ranking.query, ranking.conditions, ranking.condition_count);
        if (match == Match::No)
            return;
        tuple_frequencies(*ranking.query, tail_tuple, frequencies);
        offer(best,
              {score_of_item(ranking, tail_tuple, frequencies), tail_tuple->head.tid, match == Match::Maybe});
    });
    pfree(frequencies);
}

// ---- runs, a set of matches first -------------------------------------------------------------------------

// Turns a complement into its members, without NULLs.
static void list_members(RunReader *reader, OrdinalSet *set) {
    if (!set->complement)
        return;
    auto *ordinals = allocate<uint32>(reader->run.entries - set->count + 1);
    uint32 count = 0;
    uint32 excluded = 0;
    for (uint32 ordinal = 0; ordinal < reader->run.entries; ordinal++) {
        if (excluded < set->count && set->ordinals[excluded] == ordinal) {
            excluded++;
            continue;
        }
        if (ordinal % kDocumentsPerPage == 0)
            CHECK_FOR_INTERRUPTS();
        if (document_length(reader, ordinal) != kNullLength)
            ordinals[count++] = ordinal;
    }
    set->ordinals = ordinals;
    set->count = count;
    set->complement = false;
}

OrdinalSet match_all_conditions(RunReader *reader, const Query *query, ListCursor **lists,
                                const Query *conditions, int condition_count) {
    OrdinalSet set = query != nullptr ? match_run(reader, *query, lists) : whole_run();
    for (int i = 0; i < condition_count && (set.count > 0 || set.complement); i++)
        set = intersect_sets(set, match_run(reader, conditions[i], open_lists(reader, conditions[i])));
    list_members(reader, &set);
    return set;
}

static void add_contributions(RunReader *reader, ListCursor *list, double weight,
                              const postings::Norms &norms, const OrdinalSet &set, int64 *scores) {
    load_block(list, 0);
    for (uint32 i = 0; i < set.count && seek_ordinal(list, set.ordinals[i]); i++) {
        if (i % 1024 == 0)
            CHECK_FOR_INTERRUPTS();
        if (current_ordinal(list) == set.ordinals[i])
            scores[i] += postings::contribution(weight, norms.of(document_length(reader, set.ordinals[i])),
                                                frequency_at(list, list->at));
    }
}

static void rank_set(RunReader *reader, ListCursor **lists, const Ranking &ranking, Best *best) {
    const OrdinalSet set =
        match_all_conditions(reader, ranking.query, lists, ranking.conditions, ranking.condition_count);
    if (reader->stale || set.count == 0)
        return;
    auto *scores = allocate_zeroed<int64>(set.count);
    for (int term = 0; term < ranking.query->term_count; term++)
        if (lists[term] != nullptr && ranking.query->terms[term].ranked)
            add_contributions(reader, lists[term], ranking.query->terms[term].weight, ranking.norms, set,
                              scores);
    for (uint32 i = 0; i < set.count && !reader->stale; i++) {
        if (i % 1024 == 0)
            CHECK_FOR_INTERRUPTS();
        offer_document(best, reader, set.ordinals[i], scores[i], !set.exact);
    }
    pfree(scores);
}

// ---- runs, some rows only ---------------------------------------------------------------------------------

static void rank_some(RunReader *reader, ListCursor **lists, const Ranking &ranking, Best *best) {
    const ScoredDocuments documents = score_candidates(reader, lists, ranking);
    for (uint32 i = 0; i < documents.count && !reader->stale; i++)
        offer_document(best, reader, documents.ordinals[i], documents.scores[i], documents.maybe[i]);
}

// ---- bounds -----------------------------------------------------------------------------------------------

double bound_shrink(const RunReader *reader, const postings::Norms &norms) {
    const RunHeader &header = reader->header;
    const postings::Norms written =
        norms_for({postings::Codec::Bitpack, header.k1, header.b}, header.average_length);
    // Neither part of a norm is less than this many times what it was when the bounds were written; so their
    // sum isn't.
    double shrink = 1;
    if (written.base > 0)
        shrink = Min(shrink, norms.base / written.base);
    if (written.slope > 0)
        shrink = Min(shrink, norms.slope / written.slope);
    return shrink;
}

static int64 max_in_block(const ListCursor *list, uint32 block, double weight, double shrink) {
    return postings::bound_contribution(weight, list->heads[block].bound, shrink);
}

// ---- runs, all of the lexemes -----------------------------------------------------------------------------

namespace {

struct RequiredList {
    ListCursor *list;
    double weight;
    uint32 block;                            // block that reaches the candidates
    int64 most;                              // contributed by a posting of it
    uint8 places[postings::kBlockPostings];  // places of the candidates in the block
};

// Documents of a span in which each list has one block.
struct Candidates {
    uint32 count;
    uint32 ordinals[postings::kBlockPostings];
};

// Documents that have all of the lexemes, and the lexemes' frequencies, list by list, in each. They are read
// together: memory is slow, but many requests of it take little longer than one.
constexpr uint32 kMatches = 16;

struct Matches {
    uint32 count;
    int lists;
    uint32 ordinals[kMatches];
    uint32 *frequencies;
};

}  // namespace

// Moves to the blocks that can hold the ordinal; false when a list has none. *most is what they contribute
// together at most.
static bool reach_blocks(RequiredList *required, int count, uint32 ordinal, double shrink, int64 *most) {
    *most = 0;
    for (int i = 0; i < count; i++) {
        RequiredList *entry = &required[i];
        if (entry->block == kNoBlock || entry->list->heads[entry->block].last < ordinal) {
            entry->block = find_block(entry->list, entry->block == kNoBlock ? 0 : entry->block, ordinal);
            if (entry->block == entry->list->blocks)
                return false;
            entry->most = max_in_block(entry->list, entry->block, entry->weight, shrink);
        }
        *most += entry->most;
    }
    return true;
}

// Reads postings from the ordinal to `last` of the first list's block; *next becomes the ordinal of the one
// behind, or what follows `last`.
static bool begin_candidates(RequiredList *first, uint32 ordinal, uint32 last, Candidates *candidates,
                             uint64 *next) {
    const ListCursor *list = first->list;
    candidates->count = 0;
    if (!load_block(first->list, first->block))
        return false;
    uint32 place = find_place(list, ordinal);
    for (; place < list->count && list->ordinals[place] <= last; place++) {
        first->places[candidates->count] = static_cast<uint8>(place);
        candidates->ordinals[candidates->count++] = list->ordinals[place];
    }
    *next = place < list->count ? uint64{list->ordinals[place]} : uint64{last} + 1;
    return true;
}

// Keeps what the list has too, and its places there.
static void keep_common(RequiredList *required, int number, Candidates *candidates) {
    RequiredList *entry = &required[number];
    uint32 kept = 0;
    if (load_block(entry->list, entry->block)) {
        for (uint32 i = 0; i < candidates->count; i++) {
            const uint32 ordinal = candidates->ordinals[i];
            const uint32 place = find_place(entry->list, ordinal);
            if (entry->list->ordinals[place] != ordinal)
                continue;
            for (int before = 0; before < number; before++)
                required[before].places[kept] = required[before].places[i];
            entry->places[kept] = static_cast<uint8>(place);
            candidates->ordinals[kept++] = ordinal;
        }
    }
    candidates->count = kept;
}

// Reads the documents, all of which have been asked for by now.
static void score_matches(RunReader *reader, const RequiredList *required, Matches *matches,
                          const postings::Norms &norms, Best *best) {
    const uint32 *frequencies = matches->frequencies;
    for (uint32 i = 0; i < matches->count && !reader->stale; i++, frequencies += matches->lists) {
        const DocumentEntry document = read_document(reader, matches->ordinals[i]);
        const double norm = norms.of(document.length);
        int64 score = 0;
        for (int j = 0; j < matches->lists; j++)
            score += postings::contribution(required[j].weight, norm, frequencies[j]);
        if (score >= threshold(*best) && !is_dead(reader, matches->ordinals[i]))
            offer(best, {score, document.tid, false});
    }
    matches->count = 0;
}

// Keeps what was found in a span until the documents' lengths are there.
static void add_matches(RunReader *reader, const RequiredList *required, const Candidates &candidates,
                        const postings::Norms &norms, Matches *matches, Best *best) {
    for (uint32 i = 0; i < candidates.count; i++) {
        if (matches->count == kMatches)
            score_matches(reader, required, matches, norms, best);
        uint32 *frequencies = matches->frequencies + matches->count * matches->lists;
        for (int j = 0; j < matches->lists; j++)
            frequencies[j] = frequency_at(required[j].list, required[j].places[i]);
        prefetch_document(reader, candidates.ordinals[i]);
        matches->ordinals[matches->count++] = candidates.ordinals[i];
    }
}

// Goes through a span of documents at a time, in which each list has one block: the shortest list's are
// looked for in the others, shortest first, unless the blocks together cannot reach what is needed.
static void rank_all(RunReader *reader, ListCursor **lists, const Ranking &ranking, Best *best) {
    auto *required = allocate<RequiredList>(ranking.query->term_count);
    int count = 0;
    for (int term = 0; term < ranking.query->term_count; term++) {
        if (lists[term] == nullptr || lists[term]->blocks == 0)
            return;
        RequiredList *entry = &required[count++];
        entry->list = lists[term];
        entry->weight = ranking.query->terms[term].weight;
        entry->block = kNoBlock;
    }
    std::sort(required, required + count, [](const RequiredList &a, const RequiredList &b) {
        return a.list->documents < b.list->documents;
    });
    const double shrink = bound_shrink(reader, ranking.norms);
    Candidates candidates;
    Matches matches = {};
    matches.lists = count;
    matches.frequencies = allocate<uint32>(uint64{kMatches} * static_cast<uint64>(count));
    uint64 ordinal = 0;
    while (ordinal < reader->run.entries && !reader->stale) {
        CHECK_FOR_INTERRUPTS();
        int64 most;
        if (!reach_blocks(required, count, static_cast<uint32>(ordinal), shrink, &most))
            break;
        uint32 last = UINT32_MAX;
        for (int i = 0; i < count; i++)
            last = Min(last, required[i].list->heads[required[i].block].last);
        if (most < threshold(*best)) {
            ordinal = uint64{last} + 1;
            continue;
        }
        if (!begin_candidates(&required[0], static_cast<uint32>(ordinal), last, &candidates, &ordinal))
            break;
        for (int i = 1; i < count && candidates.count > 0; i++)
            keep_common(required, i, &candidates);
        add_matches(reader, required, candidates, ranking.norms, &matches, best);
    }
    score_matches(reader, required, &matches, ranking.norms, best);
    pfree(matches.frequencies);
    pfree(required);
}

// ---- runs, any of the lexemes -----------------------------------------------------------------------------

// Documents are gone through in windows: for each the most that lists can contribute there is known from
// their blocks' bounds, and windows, or lists beside those that matter, are passed over where that is too
// little.
namespace {

struct RankedList {
    ListCursor *list;
    double weight;
    int64 most;    // the most that it contributes in the window
    uint32 block;  // the first that reaches the window
};

struct Window {
    uint32 first;
    uint32 end;
    int64 scores[kWindow];
    uint32 touched_count;
    uint16 touched[kWindow];
};

}  // namespace

// Returns the most the list contributes to a document of the window.
static int64 max_in_window(RankedList *ranked, const Window &window, double shrink) {
    const ListCursor *list = ranked->list;
    ranked->block = find_block(list, ranked->block, window.first);
    if (ranked->block >= list->blocks)
        return 0;
    if (list->block == ranked->block) {
        // The block has been read, so its postings are known one by one.
        const uint32 *next =
            std::lower_bound(list->ordinals + list->at, list->ordinals + list->count, window.first);
        if (next < list->ordinals + list->count && *next >= window.end)
            return 0;
    }
    if (ranked->block > 0 && list->heads[ranked->block - 1].last + 1 >= window.end)
        return 0;
    int64 most = 0;
    for (uint32 block = ranked->block; block < list->blocks; block++) {
        if (block > ranked->block && list->heads[block - 1].last + 1 >= window.end)
            break;
        most = Max(most, max_in_block(list, block, ranked->weight, shrink));
    }
    return most;
}

static void touch_window(RunReader *reader, const RankedList &ranked, const postings::Norms &norms,
                         Window *window) {
    ListCursor *list = ranked.list;
    for (bool more = seek_ordinal(list, window->first); more && current_ordinal(list) < window->end;
         more = load_block(list, list->block + 1)) {
        uint32 at = list->at;
        for (; at < list->count && list->ordinals[at] < window->end; at++) {
            const uint32 slot = list->ordinals[at] - window->first;
            if (window->scores[slot] == 0)
                window->touched[window->touched_count++] = static_cast<uint16>(slot);
            window->scores[slot] += postings::contribution(
                ranked.weight, norms.of(document_length(reader, list->ordinals[at])), frequency_at(list, at));
        }
        list->at = Min(at, list->count - 1);
        if (at < list->count)
            break;
    }
}

// This is done only for documents that can still be among the best.
static void add_to_touched(RunReader *reader, const RankedList &ranked, const postings::Norms &norms,
                           int64 remaining, int64 needed, Window *window) {
    uint32 kept = 0;
    for (uint32 i = 0; i < window->touched_count; i++) {
        const uint32 slot = window->touched[i];
        if (window->scores[slot] + remaining < needed) {
            window->scores[slot] = 0;
            continue;
        }
        window->touched[kept++] = static_cast<uint16>(slot);
        const uint32 ordinal = window->first + slot;
        if (seek_ordinal(ranked.list, ordinal) && current_ordinal(ranked.list) == ordinal)
            window->scores[slot] +=
                postings::contribution(ranked.weight, norms.of(document_length(reader, ordinal)),
                                       frequency_at(ranked.list, ranked.list->at));
    }
    window->touched_count = kept;
}

static void rank_window(RunReader *reader, RankedList *ranked, int count, const postings::Norms &norms,
                        Window *window, Best *best) {
    const int64 needed = threshold(*best);
    int64 remaining = 0;
    for (int i = 0; i < count; i++)
        remaining += ranked[i].most;
    if (remaining < needed)
        return;
    std::sort(ranked, ranked + count,
              [](const RankedList &a, const RankedList &b) { return a.most > b.most; });
    bool sorted = true;
    for (int i = 0; i < count && ranked[i].most > 0; i++) {
        // Documents that no list so far has can't reach what is needed by the others alone.
        if (remaining >= needed) {
            touch_window(reader, ranked[i], norms, window);
            sorted = i == 0;
        } else {
            if (!sorted)
                std::sort(window->touched, window->touched + window->touched_count);
            sorted = true;
            add_to_touched(reader, ranked[i], norms, remaining, needed, window);
        }
        remaining -= ranked[i].most;
    }
    for (uint32 i = 0; i < window->touched_count; i++) {
        const uint32 slot = window->touched[i];
        offer_document(best, reader, window->first + slot, window->scores[slot], false);
        window->scores[slot] = 0;
    }
    window->touched_count = 0;
}

static void rank_any(RunReader *reader, ListCursor **lists, const Ranking &ranking, Best *best) {
    auto *ranked = allocate<RankedList>(ranking.query->term_count);
    int count = 0;
    for (int term = 0; term < ranking.query->term_count; term++) {
        if (lists[term] == nullptr)
            continue;
        ranked[count++] = {lists[term], ranking.query->terms[term].weight, 0, 0};
        // A short list's postings are read at once, because they say more than bounds do.
        lists[term]->block = kNoBlock;
        if (lists[term]->blocks == 1)
            load_block(lists[term], 0);
    }
    const double shrink = bound_shrink(reader, ranking.norms);
    auto *window = allocate_zeroed<Window>(1);
    for (uint64 first = 0; first < reader->run.entries && !reader->stale;) {
        CHECK_FOR_INTERRUPTS();
        window->first = static_cast<uint32>(first);
        window->end = static_cast<uint32>(Min(first + kWindow, reader->run.entries));
        for (int i = 0; i < count; i++)
            ranked[i].most = max_in_window(&ranked[i], *window, shrink);
        rank_window(reader, ranked, count, ranking.norms, window, best);
        first = window->end;
    }
    pfree(window);
    pfree(ranked);
}

// ---- all of it --------------------------------------------------------------------------------------------

static Best begin_ranking(Ranking *ranking) {
    ranking->hits = nullptr;
    ranking->hit_count = 0;
    return {ranking, nullptr, 0, 0};
}

static void end_ranking(const Best &best) {
    std::sort(best.hits, best.hits + best.count, ranks_before);
    best.ranking->hits = best.hits;
    best.ranking->hit_count = best.count;
}

// Does what rank_tuples does for all tuples, by the frequencies that a batch knows. Most tuples have none of
// the query's lexemes.
static bool rank_known_tuples(const Corpus *corpus, const Ranking &ranking, Best *best) {
    const Query &query = *ranking.query;
    if (ranking.among != nullptr || ranking.condition_count > 0)
        return false;
    auto **terms = allocate<BatchTerm *>(query.term_count + 1);
    if (!find_terms_of_tuples(corpus, query, terms)) {
        pfree(terms);
        return false;
    }
    auto *frequencies = allocate_zeroed<uint32>(query.term_count + 1);
    const bool needs_lexeme = match_document(query.root, frequencies) == Match::No;
    for (uint32 i = 0; i < corpus->batch->item_count; i++) {
        uint32 all = 0;
        for (int term = 0; term < query.term_count; term++)
            all |= frequencies[term] = terms[term]->frequencies[i];
        const DocumentTuple *tail_tuple = corpus->batch->tail_tuples[i];
        if ((all == 0 && needs_lexeme) || is_null(tail_tuple))
            continue;
        Match match = match_document(query.root, frequencies);
        if (match == Match::Maybe)
            match = decide_tail_tuple(query, tail_tuple);
        if (match != Match::No)
            offer(best, {score_of_item(ranking, tail_tuple, frequencies), tail_tuple->head.tid,
                         match == Match::Maybe});
    }
    pfree(frequencies);
    pfree(terms);
    return true;
}

static void rank_all_tuples(const Corpus *corpus, const Ranking &ranking, Best *best) {
    if (rank_known_tuples(corpus, ranking, best))
        return;
    for (int i = 0; i < corpus->raw_count; i++)
        rank_tuples(corpus->raws[i], ranking, best);
}

static void rank_run(RunReader *reader, ListCursor **lists, const Ranking &ranking, Best *best) {
    const bool is_plain = ranking.condition_count == 0;
    if (ranking.among != nullptr)
        rank_some(reader, lists, ranking, best);
    else if (is_plain && is_plain_conjunction(ranking.query->root))
        rank_all(reader, lists, ranking, best);
    else if (is_plain && is_plain_disjunction(ranking.query->root))
        rank_any(reader, lists, ranking, best);
    else
        rank_set(reader, lists, ranking, best);
    release_postings(reader);
}

void rank(Corpus *corpus, ListCursor ***lists, Ranking *ranking) {
    Best best = begin_ranking(ranking);
    if (ranking->query->root == nullptr || ranking->limit == 0)
        return;
    rank_all_tuples(corpus, *ranking, &best);
    for (int i = 0; i < corpus->run_count && !corpus->runs[i].stale; i++)
        rank_run(&corpus->runs[i], lists[i], *ranking, &best);
    end_ranking(best);
}

void rank_local_runs_and_hits(Corpus *corpus, ListCursor ***lists, const Hit *hits, uint64 count,
                              Ranking *ranking) {
    Best best = begin_ranking(ranking);
    rank_all_tuples(corpus, *ranking, &best);
    for (uint64 i = 0; i < count; i++)
        offer(&best, hits[i]);
    for (int i = 0; i < corpus->run_count && !corpus->runs[i].stale; i++)
        if (corpus->is_local[i])
            rank_run(&corpus->runs[i], lists[i], *ranking, &best);
    end_ranking(best);
}

}  // namespace pg_gpu::text
