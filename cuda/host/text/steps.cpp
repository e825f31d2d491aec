// Queries with steps go through windows of documents, as disjunctions do. Terms are looked for one after the
// other, those with few documents first, and each only where the terms before have left documents that can
// match.
#include "host/text/steps.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "host/text/list.h"

namespace gpu_engine::host {
namespace {

constexpr std::uint32_t window_words = window_documents / 64;
// A bit for each of a window's documents.
using Bits = std::array<std::uint64_t, window_words>;

void set_bit(Bits *bits, std::uint32_t slot) noexcept {
    (*bits)[slot / 64] |= std::uint64_t(1) << (slot % 64);
}

bool has_bit(const Bits &bits, std::uint32_t slot) noexcept {
    return (bits[slot / 64] >> (slot % 64) & 1) != 0;
}

std::uint32_t count_bits(const Bits &bits) noexcept {
    std::uint32_t count = 0;
    for (const std::uint64_t word : bits) {
        count += static_cast<std::uint32_t>(std::popcount(word));
    }
    return count;
}

template <typename Visit>
void visit_bits(const Bits &bits, Visit visit) {
    for (std::uint32_t i = 0; i < window_words; ++i) {
        for (std::uint64_t word = bits[i]; word != 0; word &= word - 1) {
            visit(i * 64 + static_cast<std::uint32_t>(std::countr_zero(word)));
        }
    }
}

struct Frequency {
    std::uint32_t ordinal;
    std::uint32_t frequency;
};

// The postings of several lists, those of the same document added up.
class JoinedLists {
  public:
    JoinedLists(const SearchedText &text, const TextTerm *terms, std::uint32_t count, std::uint32_t first,
                std::uint32_t end) {
        std::uint64_t most = 0;
        std::vector<List> lists;
        for (std::uint32_t i = 0; i < count; ++i) {
            const List &list = lists.emplace_back(text.parts, terms[i].list);
            const std::uint64_t from = list.find_block(0, first);
            const std::uint64_t to = std::min<std::uint64_t>(
                std::uint64_t(list.find_block(static_cast<std::uint32_t>(from), end - 1)) + 1, list.blocks());
            most += std::min<std::uint64_t>((to - from) * postings::kBlockPostings, list.documents());
        }
        postings_ = Buffer<Frequency>(text.memory, most);
        Frequency *out = postings_.data();
        for (const List &list : lists) {
            check_cancelled(text.stream);
            Cursor cursor(list);
            visit_between(&cursor, first, end, [&](std::uint32_t at) {
                out[count_++] = {cursor.ordinal(at), cursor.frequency(at)};
            });
        }
        std::sort(out, out + count_,
                  [](const Frequency &a, const Frequency &b) { return a.ordinal < b.ordinal; });
        std::uint64_t kept = 0;
        for (std::uint64_t i = 0; i < count_; ++i) {
            if (kept > 0 && out[kept - 1].ordinal == out[i].ordinal) {
                out[kept - 1].frequency += out[i].frequency;
            } else {
                out[kept++] = out[i];
            }
        }
        count_ = kept;
        check_cancelled(text.stream);
    }

    // Goes forward to the first document that isn't below, and says whether it is below `end`.
    bool seek(std::uint32_t first, std::uint32_t end) noexcept {
        const Frequency *all = postings_.data();
        at_ = static_cast<std::uint64_t>(
            std::lower_bound(all + at_, all + count_, first,
                             [](const Frequency &a, std::uint32_t wanted) { return a.ordinal < wanted; }) -
            all);
        return at_ < count_ && all[at_].ordinal < end;
    }
    template <typename Visit>
    void visit(std::uint32_t first, std::uint32_t end, Visit visit) {
        const Frequency *all = postings_.data();
        for (bool more = seek(first, end); more; more = at_ < count_ && all[at_].ordinal < end) {
            visit(all[at_].ordinal, all[at_].frequency);
            ++at_;
        }
    }

  private:
    Buffer<Frequency> postings_;
    std::uint64_t count_ = 0;
    std::uint64_t at_ = 0;
};

// A term's documents.
class Term {
  public:
    Term(const SearchedText &text, const TextTermLists &lists, const TextTerm *terms, std::uint32_t first,
         std::uint32_t end)
        : weight_(lists.weight), scored_(lists.scored), number_(lists.number) {
        if (lists.count == 1) {
            list_ = std::make_unique<List>(text.parts, terms[lists.first].list);
            cursor_ = std::make_unique<Cursor>(*list_);
        } else {
            joined_ = std::make_unique<JoinedLists>(text, terms + lists.first, lists.count, first, end);
        }
    }

    std::uint32_t number() const noexcept { return number_; }
    double weight() const noexcept { return weight_; }
    bool scored() const noexcept { return scored_; }

    // Does what Cursor::max_between does.
    std::int64_t max_between(std::uint32_t first, std::uint32_t end, double shrink) {
        if (cursor_) {
            return cursor_->max_between(first, end, &near_, weight_, shrink);
        }
        return joined_->seek(first, end) ? static_cast<std::int64_t>(weight_) + 2 : 0;
    }
    // Calls visit(ordinal, frequency) for the term's documents from `first` to below `end`.
    template <typename Visit>
    void visit(std::uint32_t first, std::uint32_t end, Visit visit) {
        if (joined_) {
            joined_->visit(first, end, visit);
            return;
        }
        visit_between(cursor_.get(), first, end,
                      [&](std::uint32_t at) { visit(cursor_->ordinal(at), cursor_->frequency(at)); });
    }
    // Does the same for one document.
    template <typename Visit>
    void visit_one(std::uint32_t ordinal, Visit visit) {
        if (joined_) {
            joined_->visit(ordinal, ordinal + 1, visit);
        } else if (cursor_->seek(ordinal) && cursor_->ordinal() == ordinal) {
            visit(ordinal, cursor_->frequency(cursor_->at()));
        }
    }

  private:
    double weight_;
    bool scored_;
    std::uint32_t number_;
    std::uint32_t near_ = 0;
    std::unique_ptr<List> list_;
    std::unique_ptr<Cursor> cursor_;
    std::unique_ptr<JoinedLists> joined_;
};

class StepSearch {
  public:
    StepSearch(const SearchedText &text, const TextQuery &query, const TextTerm *terms, const TextStep *steps,
               std::uint32_t first, std::uint32_t end)
        : text_(text), steps_(steps), step_count_(query.steps) {
        for (const TextTermLists &lists : terms_with_lists(terms, query.terms)) {
            terms_.emplace_back(text, lists, terms, first, end);
        }
        std::vector<std::uint32_t> places(max_text_terms, static_cast<std::uint32_t>(terms_.size()));
        for (std::uint32_t term = 0; term < terms_.size(); ++term) {
            places[terms_[term].number()] = term;
        }
        for (std::uint32_t i = 0; i < step_count_; ++i) {
            const bool has_term = steps[i].kind == TextStepKind::has || steps[i].kind == TextStepKind::lacks;
            places_.push_back(has_term ? places[steps[i].term] : 0);
        }
        most_.resize(terms_.size());
        bits_.resize(terms_.size());
        stack_.resize(max_text_depth);
    }

    void rank(std::uint32_t first, std::uint32_t end, Best *best) {
        constexpr std::uint32_t windows_between_points = 16;
        std::uint32_t number = 0;
        for (std::uint64_t at = first; at < end; at += window_documents) {
            if (number++ % windows_between_points == 0) {
                check_cancelled(text_.stream);
            }
            first_ = static_cast<std::uint32_t>(at);
            end_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(at + window_documents, end));
            rank_window(best);
        }
    }

  private:
    // The documents that have the term, or lack it; as long as that isn't known, all.
    void put_term(std::uint32_t term, std::uint32_t known, bool has, Bits *bits) const {
        if (term == terms_.size() || most_[term] == 0) {
            bits->fill(has ? 0 : UINT64_MAX);
        } else if (term >= known) {
            bits->fill(UINT64_MAX);
        } else {
            for (std::uint32_t word = 0; word < window_words; ++word) {
                (*bits)[word] = has ? bits_[term][word] : ~bits_[term][word];
            }
        }
    }

    // Returns the documents that the steps match, or may match as long as only so many terms are known.
    const Bits &match(std::uint32_t known) {
        std::uint32_t depth = 0;
        for (std::uint32_t i = 0; i < step_count_; ++i) {
            switch (steps_[i].kind) {
                case TextStepKind::has:
                case TextStepKind::lacks:
                    put_term(places_[i], known, steps_[i].kind == TextStepKind::has, &stack_[depth++]);
                    break;
                case TextStepKind::every:
                    stack_[depth++].fill(UINT64_MAX);
                    break;
                case TextStepKind::both:
                    --depth;
                    for (std::uint32_t word = 0; word < window_words; ++word) {
                        stack_[depth - 1][word] &= stack_[depth][word];
                    }
                    break;
                case TextStepKind::either:
                    --depth;
                    for (std::uint32_t word = 0; word < window_words; ++word) {
                        stack_[depth - 1][word] |= stack_[depth][word];
                    }
                    break;
            }
        }
        const std::uint32_t size = end_ - first_;
        for (std::uint32_t word = size / 64; word < window_words; ++word) {
            stack_[0][word] &= word == size / 64 ? (std::uint64_t(1) << (size % 64)) - 1 : 0;
        }
        return stack_[0];
    }

    // Finds which documents have the term, of those that can match, and adds what it contributes to them.
    void take_term(std::uint32_t number, const Bits &candidates, std::uint32_t count) {
        constexpr std::uint32_t few = 16;
        Term &term = terms_[number];
        Bits &bits = bits_[number];
        bits.fill(0);
        const auto visit = [&](std::uint32_t ordinal, std::uint32_t frequency) {
            const std::uint32_t slot = ordinal - first_;
            if (!has_bit(candidates, slot)) {
                return;
            }
            set_bit(&bits, slot);
            if (term.scored()) {
                scores_[slot] += postings::contribution(
                    term.weight(), text_.ranking.norms.of(text_.parts.lengths[ordinal]), frequency);
            }
        };
        if (count > few) {
            term.visit(first_, end_, visit);
        } else {
            visit_bits(candidates, [&](std::uint32_t slot) { term.visit_one(first_ + slot, visit); });
        }
    }

    void rank_window(Best *best) {
        std::int64_t most = 0;
        for (std::uint32_t term = 0; term < terms_.size(); ++term) {
            most_[term] = terms_[term].max_between(first_, end_, text_.ranking.shrink);
            most += terms_[term].scored() ? most_[term] : 0;
        }
        if (most < best->threshold()) {
            return;
        }
        Bits candidates = match(0);
        std::uint32_t count = count_bits(candidates);
        if (count == 0) {
            return;
        }
        scores_.fill(0);
        // Steps are gone through again after as many terms as they are worth.
        const std::uint32_t terms_between = 1 + step_count_ / window_words;
        for (std::uint32_t term = 0; term < terms_.size(); ++term) {
            if (most_[term] == 0) {
                continue;
            }
            take_term(term, candidates, count);
            if ((term + 1) % terms_between == 0 || term + 1 == terms_.size()) {
                candidates = match(term + 1);
                count = count_bits(candidates);
                if (count == 0) {
                    return;
                }
            }
        }
        candidates = match(static_cast<std::uint32_t>(terms_.size()));
        visit_bits(candidates, [&](std::uint32_t slot) {
            if (text_.parts.lengths[first_ + slot] != null_text_length) {
                best->offer(first_ + slot, scores_[slot]);
            }
        });
    }

    const SearchedText &text_;
    const TextStep *steps_;
    const std::uint32_t step_count_;
    std::vector<Term> terms_;
    // The place among the terms of the term that a step is about; their number where the step has no lists.
    std::vector<std::uint32_t> places_;
    // The most that each term contributes in the window, 0 where it has no document, and its documents.
    std::vector<std::int64_t> most_;
    std::vector<Bits> bits_;
    std::vector<Bits> stack_;
    std::array<std::int64_t, window_documents> scores_;
    std::uint32_t first_ = 0;
    std::uint32_t end_ = 0;
};

}  // namespace

void rank_by_steps(const SearchedText &text, const TextQuery &query, const TextTerm *terms,
                   const TextStep *steps, std::uint32_t first, std::uint32_t end, Best *best) {
    if (first == end) {
        return;
    }
    StepSearch(text, query, terms, steps, first, end).rank(first, end, best);
}

}  // namespace gpu_engine::host
