// Ranked search: disjunctions by windows of documents with their blocks' bounds, conjunctions by spans
// in which each list has one block.
#include <algorithm>
#include <vector>

#include "gpu_engine/guard.h"
#include "host/engine.h"
#include "host/text/best.h"
#include "host/text/index.h"
#include "host/text/list.h"
#include "host/text/steps.h"

namespace gpu_engine::host {
namespace {

// When a batch has fewer queries than this many times the threads, the documents are divided among the
// threads, in pieces of at least `least_piece`.
constexpr std::uint32_t queries_a_thread = 2;
constexpr std::uint32_t least_piece = 1 << 16;
constexpr std::uint32_t pieces_a_thread = 4;
// A piece may find as many hits as the query wants. All pieces together find about this many at most.
constexpr std::uint32_t max_piece_hits = 1 << 17;

struct RankedList {
    Cursor cursor;
    double weight;
    std::uint32_t block = 0;                             // the first that reaches the documents
    std::int64_t most = 0;                               // most that a posting contributes there
    std::uint8_t places[postings::kBlockPostings] = {};  // places of the candidates in the block
    static_assert(postings::kBlockPostings - 1 <= UINT8_MAX);
    RankedList(const List &list, double of_term) : cursor(list), weight(of_term) {}
};

class Search {
  public:
    Search(const TextParts &parts, const TextRanking &ranking, const Stream &stream)
        : parts_(parts), ranking_(ranking), stream_(stream) {}

    // Ranks the documents from `first` to below `end` that are in any or in all of the query's lists.
    void lists(const TextQuery &query, const TextTerm *terms, std::uint32_t first, std::uint32_t end,
               Best *best) const;

  private:
    void any(std::vector<RankedList> &lists, std::uint32_t first, std::uint32_t end, Best *best) const;
    void all(std::vector<RankedList> &lists, std::uint32_t first, std::uint32_t end, Best *best) const;

    struct Window {
        std::uint32_t first;
        std::uint32_t end;
        std::uint32_t touched_count = 0;
        std::uint16_t touched[window_documents];
        std::int64_t scores[window_documents] = {};
    };
    // Documents of a span in which each list has one block.
    struct Candidates {
        std::uint32_t count = 0;
        std::uint32_t ordinals[postings::kBlockPostings];
    };

    std::int64_t contribution(const RankedList &ranked, std::uint32_t at) const noexcept {
        return postings::contribution(ranked.weight,
                                      ranking_.norms.of(parts_.lengths[ranked.cursor.ordinal(at)]),
                                      ranked.cursor.frequency(at));
    }
    void touch(RankedList *ranked, Window *window) const;
    void add_to_touched(RankedList *ranked, std::int64_t remaining, std::int64_t needed,
                        Window *window) const;
    void rank_window(std::vector<RankedList *> &lists, Window *window, Best *best) const;
    bool reach(std::vector<RankedList> &lists, std::uint32_t ordinal, std::int64_t *most) const;
    static void keep_common(std::vector<RankedList> &lists, std::size_t number, Candidates *candidates);

    const TextParts &parts_;
    const TextRanking &ranking_;
    const Stream &stream_;
};

// ---- Any of the lists ----------------------------------------------------------------------------

void Search::touch(RankedList *ranked, Window *window) const {
    visit_between(&ranked->cursor, window->first, window->end, [&](std::uint32_t at) {
        const std::uint32_t slot = ranked->cursor.ordinal(at) - window->first;
        if (window->scores[slot] == 0) {
            window->touched[window->touched_count++] = static_cast<std::uint16_t>(slot);
        }
        window->scores[slot] += contribution(*ranked, at);
    });
}

// Looks the list up only for documents that can still be among the best.
void Search::add_to_touched(RankedList *ranked, std::int64_t remaining, std::int64_t needed,
                            Window *window) const {
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < window->touched_count; ++i) {
        const std::uint32_t slot = window->touched[i];
        if (window->scores[slot] + remaining < needed) {
            window->scores[slot] = 0;
            continue;
        }
        window->touched[kept++] = static_cast<std::uint16_t>(slot);
        const std::uint32_t ordinal = window->first + slot;
        if (ranked->cursor.seek(ordinal) && ranked->cursor.ordinal() == ordinal) {
            window->scores[slot] += contribution(*ranked, ranked->cursor.at());
        }
    }
    window->touched_count = kept;
}

void Search::rank_window(std::vector<RankedList *> &lists, Window *window, Best *best) const {
    const std::int64_t needed = best->threshold();
    std::int64_t remaining = 0;
    for (RankedList *list : lists) {
        list->most =
            list->cursor.max_between(window->first, window->end, &list->block, list->weight, ranking_.shrink);
        remaining += list->most;
    }
    if (remaining == 0 || remaining < needed) {
        return;
    }
    std::sort(lists.begin(), lists.end(),
              [](const RankedList *a, const RankedList *b) { return a->most > b->most; });
    bool sorted = true;
    for (std::size_t i = 0; i < lists.size() && lists[i]->most > 0; ++i) {
        // A document that none of the lists so far has can't reach the needed score by the remaining lists
        // alone.
        if (remaining >= needed) {
            touch(lists[i], window);
            sorted = i == 0;
        } else {
            if (!sorted) {
                std::sort(window->touched, window->touched + window->touched_count);
            }
            sorted = true;
            add_to_touched(lists[i], remaining, needed, window);
        }
        remaining -= lists[i]->most;
    }
    for (std::uint32_t i = 0; i < window->touched_count; ++i) {
        const std::uint32_t slot = window->touched[i];
        best->offer(window->first + slot, window->scores[slot]);
        window->scores[slot] = 0;
    }
    window->touched_count = 0;
}

void Search::any(std::vector<RankedList> &lists, std::uint32_t first, std::uint32_t end, Best *best) const {
    std::vector<RankedList *> order;
    for (RankedList &list : lists) {
        order.push_back(&list);
    }
    const auto window = std::make_unique<Window>();
    constexpr std::uint32_t windows_between_points = 16;
    std::uint32_t number = 0;
    for (std::uint64_t at = first; at < end; at = window->end) {
        if (number++ % windows_between_points == 0) {
            check_cancelled(stream_);
        }
        window->first = static_cast<std::uint32_t>(at);
        window->end = static_cast<std::uint32_t>(std::min<std::uint64_t>(at + window_documents, end));
        rank_window(order, window.get(), best);
    }
}

// ---- All of the lists ----------------------------------------------------------------------------

// Moves to the blocks that can hold the ordinal. Returns false when a list has none.
bool Search::reach(std::vector<RankedList> &lists, std::uint32_t ordinal, std::int64_t *most) const {
    *most = 0;
    for (RankedList &ranked : lists) {
        const List &list = ranked.cursor.list();
        const std::uint32_t block = list.find_block(ranked.block, ordinal);
        if (block == list.blocks()) {
            return false;
        }
        if (block != ranked.block || ranked.most == 0) {
            ranked.block = block;
            ranked.most = list.most(block, ranked.weight, ranking_.shrink);
        }
        *most += ranked.most;
    }
    return true;
}

// Keeps the candidates that the list has too, and notes their places there.
void Search::keep_common(std::vector<RankedList> &lists, std::size_t number, Candidates *candidates) {
    RankedList &ranked = lists[number];
    ranked.cursor.load(ranked.block);
    std::uint32_t kept = 0;
    std::uint32_t place = 0;
    for (std::uint32_t i = 0; i < candidates->count; ++i) {
        const std::uint32_t ordinal = candidates->ordinals[i];
        place = ranked.cursor.find(place, ordinal);
        if (place == ranked.cursor.count()) {
            break;
        }
        if (ranked.cursor.ordinal(place) != ordinal) {
            continue;
        }
        for (std::size_t before = 0; before < number; ++before) {
            lists[before].places[kept] = lists[before].places[i];
        }
        ranked.places[kept] = static_cast<std::uint8_t>(place);
        candidates->ordinals[kept++] = ordinal;
    }
    candidates->count = kept;
}

void Search::all(std::vector<RankedList> &lists, std::uint32_t first, std::uint32_t end, Best *best) const {
    std::sort(lists.begin(), lists.end(), [](const RankedList &a, const RankedList &b) {
        return a.cursor.list().documents() < b.cursor.list().documents();
    });
    Candidates candidates;
    std::int64_t most;
    for (std::uint64_t ordinal = first; ordinal < end;) {
        check_cancelled(stream_);
        if (!reach(lists, static_cast<std::uint32_t>(ordinal), &most)) {
            return;
        }
        std::uint32_t last = end - 1;
        for (const RankedList &ranked : lists) {
            last = std::min(last, ranked.cursor.list().last(ranked.block));
        }
        if (most < best->threshold()) {
            ordinal = std::uint64_t(last) + 1;
            continue;
        }
        RankedList &shortest = lists[0];
        shortest.cursor.load(shortest.block);
        std::uint32_t place = shortest.cursor.find(0, static_cast<std::uint32_t>(ordinal));
        candidates.count = 0;
        for (; place < shortest.cursor.count() && shortest.cursor.ordinal(place) <= last; ++place) {
            shortest.places[candidates.count] = static_cast<std::uint8_t>(place);
            candidates.ordinals[candidates.count++] = shortest.cursor.ordinal(place);
        }
        ordinal = place < shortest.cursor.count() ? std::uint64_t(shortest.cursor.ordinal(place))
                                                  : std::uint64_t(last) + 1;
        for (std::size_t i = 1; i < lists.size() && candidates.count > 0; ++i) {
            keep_common(lists, i, &candidates);
        }
        for (std::uint32_t i = 0; i < candidates.count; ++i) {
            std::int64_t score = 0;
            for (const RankedList &ranked : lists) {
                score += contribution(ranked, ranked.places[i]);
            }
            best->offer(candidates.ordinals[i], score);
        }
    }
}

void Search::lists(const TextQuery &query, const TextTerm *terms, std::uint32_t first, std::uint32_t end,
                   Best *best) const {
    std::vector<List> opened;
    for (std::uint32_t term = 0; term < query.terms; ++term) {
        opened.emplace_back(parts_, terms[term].list);
    }
    std::vector<RankedList> ranked;
    for (std::uint32_t term = 0; term < query.terms; ++term) {
        ranked.emplace_back(opened[term], terms[term].weight);
    }
    if (query.mode == TextMode::all) {
        all(ranked, first, end, best);
    } else {
        any(ranked, first, end, best);
    }
}

// A part of a query's documents, with the query's number.
struct Piece {
    std::uint32_t query;
    std::uint32_t first;
    std::uint32_t end;
};

}  // namespace

Status HostTextIndex::search(Stream &stream, const TextRanking &ranking, const TextBatch &batch,
                             TextHit *hits, std::uint32_t *counts) const noexcept {
    return guarded([&] {
        const std::vector<TextTerm> own_terms(batch.terms, batch.terms + batch.term_count);
        const std::vector<TextQuery> own(batch.queries, batch.queries + batch.query_count);
        const std::vector<TextStep> steps(batch.steps, batch.steps + batch.step_count);
        const std::uint32_t query_count = batch.query_count;
        require_ok(check_text_search(
            parts_.shape, ranking,
            {own.data(), query_count, own_terms.data(), batch.term_count, steps.data(), batch.step_count}));
        const Workers workers = engine_.workers(stream);
        const auto dead = this->dead();
        const std::uint32_t threads = workers.threads;
        const std::uint32_t documents = parts_.shape.documents;
        std::uint32_t max_hits = 1;
        for (const TextQuery &query : own) {
            max_hits = std::max(max_hits, query.k);
        }
        const std::uint32_t pieces_a_query =
            query_count >= threads * queries_a_thread || threads == 1
                ? 1
                : std::clamp(std::min(documents / least_piece, max_piece_hits / max_hits), 1U,
                             threads * pieces_a_thread);
        std::vector<Piece> pieces;
        std::vector<std::uint64_t> first_hits;
        std::uint64_t hit_count = 0;
        for (std::uint32_t i = 0; i < query_count; ++i) {
            first_hits.push_back(hit_count);
            hit_count += own[i].k;
            const std::uint32_t size = documents / pieces_a_query;
            for (std::uint32_t part = 0; part < pieces_a_query; ++part) {
                pieces.push_back(
                    {i, part * size, part + 1 == pieces_a_query ? documents : (part + 1) * size});
            }
        }
        std::vector<Shared> shared(query_count);
        std::vector<std::unique_ptr<Best>> results(pieces_a_query > 1 ? pieces.size() : 0);
        const Search search(parts_, ranking, stream);
        workers.for_pieces(pieces.size(), 1, [&](std::uint64_t from, std::uint64_t to) {
            for (std::uint64_t i = from; i < to; ++i) {
                const Piece &piece = pieces[i];
                const TextQuery &query = own[piece.query];
                auto best =
                    std::make_unique<Best>(engine_.memory(), query, parts_, dead.get(), shared[piece.query]);
                const TextTerm *terms = own_terms.data() + query.first_term;
                if (query.mode == TextMode::steps) {
                    rank_by_steps({parts_, ranking, stream, engine_.memory()}, query, terms,
                                  steps.data() + query.first_step, piece.first, piece.end, best.get());
                } else if (query.terms > 0) {
                    search.lists(query, terms, piece.first, piece.end, best.get());
                }
                best->sort();
                if (pieces_a_query == 1) {
                    std::copy_n(best->hits(), best->count(), hits + first_hits[piece.query]);
                    counts[piece.query] = best->count();
                } else {
                    results[i] = std::move(best);
                }
            }
        });
        for (std::uint32_t i = 0; pieces_a_query > 1 && i < query_count; ++i) {
            std::vector<TextHit> merged;
            for (std::uint32_t part = 0; part < pieces_a_query; ++part) {
                const Best &best = *results[std::uint64_t(i) * pieces_a_query + part];
                merged.insert(merged.end(), best.hits(), best.hits() + best.count());
            }
            // Hits that were written aren't read again, since they may lie in a session's memory.
            const std::uint32_t wanted = std::min(static_cast<std::uint32_t>(merged.size()), own[i].k);
            std::partial_sort(merged.begin(), merged.begin() + wanted, merged.end(), ranks_before);
            std::copy_n(merged.begin(), wanted, hits + first_hits[i]);
            counts[i] = wanted;
        }
        return Status{};
    });
}

}  // namespace gpu_engine::host
