#include "text/candidate_scores.h"

#include <algorithm>

#include "text/position_match.h"

namespace pg_gpu::text {

namespace {

// A query, and its lists in the run.
struct Requested {
    const Query *query;
    ListCursor **lists;
    uint32 *frequencies;  // frequencies of the document that is looked at
};

// A page of the run's TIDs.
struct TidPage {
    uint32 number;
    uint32 count;  // 0: none has been read
    ItemPointerData tids[kDocumentsPerPage];
};

}  // namespace

static bool is_below(const ItemPointerData &a, const ItemPointerData &b) {
    return ItemPointerCompare(const_cast<ItemPointer>(&a), const_cast<ItemPointer>(&b)) < 0;
}

// Returns the last page, from `from` on, that doesn't begin behind the TID; `from` if there is none. Rows
// that are wanted mostly lie close together, or on few pages: steps double.
static uint32 find_page(RunReader *reader, uint32 from, const ItemPointerData &tid) {
    const uint32 pages = document_pages(reader->run.entries);
    const auto begins_behind = [&](uint32 page) {
        return is_below(tid, document_tid(reader, page * kDocumentsPerPage));
    };
    uint32 below = from;
    uint32 step = 1;
    while (step < pages - below && !begins_behind(below + step)) {
        below += step;
        step *= 2;
    }
    uint32 behind = Min(step, pages - below) + below;
    while (behind - below > 1) {
        const uint32 middle = below + (behind - below) / 2;
        if (begins_behind(middle))
            behind = middle;
        else
            below = middle;
    }
    return below;
}

static bool read_page(RunReader *reader, uint32 number, TidPage *page) {
    if (page->count > 0 && page->number == number)
        return true;
    CHECK_FOR_INTERRUPTS();
    page->number = number;
    page->count = read_document_tids(reader, number, page->tids);
    return page->count > 0;
}

// Calls visit(ordinal) for each of the run's documents whose rows are in the set's part.
template <typename Visit>
static void visit_block(RunReader *reader, const table::RowSet &set, const table::RowSetBlock &part,
                        TidPage *page, Visit visit) {
    ItemPointerData first;
    ItemPointerSet(&first, part.block, FirstOffsetNumber);
    const bool is_on_page = page->count > 0 && !is_below(page->tids[page->count - 1], first);
    uint32 number = is_on_page ? page->number : find_page(reader, page->number, first);
    const OffsetNumber *offset = set.offsets + part.offset;
    const OffsetNumber *last = offset + Max(part.count, 0);
    for (; number < document_pages(reader->run.entries) && read_page(reader, number, page); number++) {
        const ItemPointerData *end = page->tids + page->count;
        const ItemPointerData *tid = std::lower_bound(page->tids, page->tids + page->count, first, is_below);
        for (; tid < end && ItemPointerGetBlockNumber(tid) == part.block; tid++) {
            while (offset < last && *offset < ItemPointerGetOffsetNumber(tid))
                offset++;
            if (part.count < 0 || (offset < last && *offset == ItemPointerGetOffsetNumber(tid)))
                visit(number * kDocumentsPerPage + static_cast<uint32>(tid - page->tids));
        }
        if (tid < end)
            return;
    }
}

OrdinalSet ordinals_of_rows(RunReader *reader, const table::RowSet &set) {
    const uint64 room = Min(set.rows, reader->run.entries) + 1;
    OrdinalSet found = {allocate<uint32>(room), 0, false, true};
    auto *page = allocate_zeroed<TidPage>(1);
    for (uint32 i = 0; i < set.block_count && !reader->stale; i++)
        visit_block(reader, set, set.blocks[i], page, [&](uint32 ordinal) {
            // A TID comes once, but for an entry that VACUUM has not removed yet.
            if (found.count < room)
                found.ordinals[found.count++] = ordinal;
        });
    pfree(page);
    return found;
}

static Match match_at(const Requested &requested, uint32 ordinal) {
    for (int term = 0; term < requested.query->term_count; term++) {
        ListCursor *list = requested.lists[term];
        const bool has = list != nullptr && seek_ordinal(list, ordinal) && current_ordinal(list) == ordinal;
        requested.frequencies[term] = has ? frequency_at(list, list->at) : 0;
    }
    return match_document(requested.query->root, requested.frequencies);
}

static Requested submit(const Query *query, ListCursor **lists) {
    for (int term = 0; term < query->term_count; term++)
        if (lists[term] != nullptr)
            lists[term]->block = kNoBlock;
    return {query, lists, allocate<uint32>(query->term_count + 1)};
}

static int64 score_of(const Requested &requested, const postings::Norms &norms, uint32 length) {
    int64 score = 0;
    for (int term = 0; term < requested.query->term_count; term++)
        if (requested.frequencies[term] > 0 && requested.query->terms[term].ranked)
            score += postings::contribution(requested.query->terms[term].weight, norms.of(length),
                                            requested.frequencies[term]);
    return score;
}

// Decides by positions for the documents that may match, and drops those that don't.
static void decide_found(RunReader *reader, const Requested *requested, int queries, ScoredDocuments *found) {
    auto *ordinals = allocate<uint32>(found->count + 1);
    auto *matches = allocate<Match>(found->count + 1);
    auto *decided = allocate<Match>(found->count + 1);
    uint32 open = 0;
    for (uint32 i = 0; i < found->count; i++) {
        if (!found->maybe[i])
            continue;
        matches[open] = Match::Yes;
        ordinals[open++] = found->ordinals[i];
    }
    for (int query = 0; query < queries && open > 0; query++) {
        if (!needs_positions(requested[query].query->root))
            continue;
        decide_documents(reader, *requested[query].query, requested[query].query->root, ordinals, open,
                         decided);
        for (uint32 i = 0; i < open; i++)
            matches[i] = both(matches[i], decided[i]);
    }
    uint32 kept = 0;
    open = 0;
    for (uint32 i = 0; i < found->count; i++) {
        const Match match = found->maybe[i] ? matches[open++] : Match::Yes;
        if (match == Match::No)
            continue;
        found->ordinals[kept] = found->ordinals[i];
        found->scores[kept] = found->scores[i];
        found->maybe[kept++] = match == Match::Maybe;
    }
    found->count = kept;
    pfree(decided);
    pfree(matches);
    pfree(ordinals);
}

ScoredDocuments score_candidates(RunReader *reader, ListCursor **lists, const Ranking &ranking) {
    auto *requested = allocate<Requested>(ranking.condition_count + 1);
    requested[0] = submit(ranking.query, lists);
    for (int i = 0; i < ranking.condition_count; i++) {
        const Query *condition = &ranking.conditions[i];
        if (condition->root == nullptr)
            return {};
        requested[i + 1] = submit(condition, open_lists(reader, *condition));
    }
    const OrdinalSet wanted = ordinals_of_rows(reader, *ranking.among);
    ScoredDocuments found = {allocate<uint32>(wanted.count + 1), allocate<int64>(wanted.count + 1),
                             allocate<bool>(wanted.count + 1), 0};
    for (uint32 i = 0; i < wanted.count && !reader->stale; i++) {
        const uint32 ordinal = wanted.ordinals[i];
        Match match = Match::Yes;
        for (int query = 0; query <= ranking.condition_count && match != Match::No; query++)
            match = both(match, match_at(requested[query], ordinal));
        const uint32 length = match == Match::No ? kNullLength : document_length(reader, ordinal);
        if (length == kNullLength)
            continue;
        found.ordinals[found.count] = ordinal;
        found.scores[found.count] = score_of(requested[0], ranking.norms, length);
        found.maybe[found.count++] = match == Match::Maybe;
    }
    if (reader->has_positions)
        decide_found(reader, requested, ranking.condition_count + 1, &found);
    return found;
}

}  // namespace pg_gpu::text
