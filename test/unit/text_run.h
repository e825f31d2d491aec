// Runs of gpu_text for tests: lists page images, and every request
// answered by looking at all postings.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "bench/text/encoder.h"
#include "gpu_engine/text.h"

namespace text_test {

namespace postings = gpu_engine::postings;
using gpu_engine::TextHit;
using gpu_engine::TextList;
using gpu_engine::TextPages;
using gpu_engine::Tid;

using Posting = gpu_engine::TextPosting;
using Postings = std::vector<Posting>;

inline constexpr std::uint32_t page_bytes = 8192;
inline constexpr std::uint32_t first_byte = 24;
inline constexpr std::uint32_t content_bytes = 8152;

inline Tid tid_of(std::uint64_t number) {
    return Tid{static_cast<std::uint16_t>(number >> 32), static_cast<std::uint16_t>(number >> 16),
               static_cast<std::uint16_t>(number)};
}

// Says whether a document matches of which has(term) says what it has.
template <typename Has>
bool match_steps(const gpu_engine::TextStep *steps, std::uint32_t count, Has has) {
    using gpu_engine::TextStepKind;
    std::vector<bool> stack;
    for (std::uint32_t i = 0; i < count; ++i) {
        switch (steps[i].kind) {
            case TextStepKind::has:
                stack.push_back(has(steps[i].term));
                break;
            case TextStepKind::lacks:
                stack.push_back(!has(steps[i].term));
                break;
            case TextStepKind::every:
                stack.push_back(true);
                break;
            default: {
                const bool last = stack.back();
                stack.pop_back();
                stack.back() =
                    steps[i].kind == TextStepKind::both ? stack.back() && last : stack.back() || last;
            }
        }
    }
    return stack.back();
}

// Steps over `terms` terms at least once each; sometimes one that there isn't.
template <typename Random>
void add_random_steps(Random &random, std::uint32_t terms, std::vector<gpu_engine::TextStep> *steps) {
    using gpu_engine::TextStepKind;
    std::uint32_t depth = 0;
    const auto join = [&] {
        steps->push_back({random() % 2 == 0 ? TextStepKind::both : TextStepKind::either, 0});
        --depth;
    };
    const auto count = static_cast<std::uint32_t>(terms + random() % 4);
    for (std::uint32_t i = 0; i < count; ++i) {
        const auto term = i < terms ? i : static_cast<std::uint32_t>(random() % (terms + 1));
        const auto choice = random() % 12;
        steps->push_back({choice == 0  ? TextStepKind::every
                          : choice < 4 ? TextStepKind::lacks
                                       : TextStepKind::has,
                          term});
        ++depth;
        while (depth > 1 && random() % 2 == 0) {
            join();
        }
    }
    while (depth > 1) {
        join();
    }
}

class TextRun {
  public:
    explicit TextRun(postings::Codec codec, std::uint32_t documents) : codec_(codec) {
        for (std::uint32_t i = 0; i < documents; ++i) {
            lengths.push_back(1 + i % 97);
            tids.push_back(tid_of(std::uint64_t(i) * 3 + 65536));
        }
    }

    std::vector<std::uint32_t> lengths;
    std::vector<Tid> tids;
    std::vector<bool> dead;  // empty: none
    // Bounds are written for these norms.
    postings::Norms norms = {0.3, 0.02};

    std::uint32_t documents() const { return static_cast<std::uint32_t>(lengths.size()); }
    gpu_engine::TextShape shape() const { return {bytes_.size(), documents(), codec_}; }
    std::vector<std::uint8_t> &bytes() { return bytes_; }
    const Postings &postings_of(std::size_t list) const { return lists_[list]; }
    const TextList &list(std::size_t number) const { return named_[number]; }
    std::size_t lists() const { return lists_.size(); }
    bool is_dead(std::uint32_t ordinal) const { return !dead.empty() && dead[ordinal]; }

    // Lengths must be final. Returns its number.
    std::size_t add(const Postings &list) {
        named_.push_back(gpu_engine::append_text_list(
            codec_, list.data(), static_cast<std::uint32_t>(list.size()), norms, lengths.data(), &bytes_));
        lists_.push_back(list);
        return lists_.size() - 1;
    }

    std::vector<std::uint64_t> dead_bitmap() const {
        std::vector<std::uint64_t> words((documents() + 63) / 64);
        for (std::uint32_t i = 0; i < documents(); ++i) {
            words[i / 64] |= std::uint64_t(is_dead(i)) << (i % 64);
        }
        return words;
    }

    std::vector<char> posting_pages() const {
        std::vector<char> pages;
        for (std::size_t first = 0; first < bytes_.size(); first += content_bytes) {
            const std::size_t take = std::min<std::size_t>(content_bytes, bytes_.size() - first);
            std::memcpy(add_page(&pages), bytes_.data() + first, take);
        }
        return pages;
    }
    std::vector<char> document_pages() const {
        constexpr std::size_t a_page = content_bytes / 9;
        std::vector<char> pages;
        for (std::size_t first = 0; first < tids.size(); first += a_page) {
            const std::size_t count = std::min(a_page, tids.size() - first);
            char *content = add_page(&pages);
            std::memcpy(content, tids.data() + first, count * sizeof(Tid));
            content += count * sizeof(Tid);
            for (std::size_t i = first; i < first + count; ++i, content += 3) {
                std::memcpy(content, &lengths[i], 3);
            }
        }
        return pages;
    }

    // In pieces of so many pages.
    gpu_engine::Status load(gpu_engine::Engine &engine, gpu_engine::Stream &stream, std::uint32_t piece,
                            std::unique_ptr<gpu_engine::TextIndex> *index) const {
        std::unique_ptr<gpu_engine::TextLoader> loader;
        gpu_engine::Status status = engine.text().open_loader(stream, shape(), &loader);
        if (!status.ok()) {
            return status;
        }
        const std::vector<char> sections[2] = {posting_pages(), document_pages()};
        for (int section = 0; section < 2; ++section) {
            const std::vector<char> &pages = sections[section];
            for (std::size_t first = 0; first < pages.size(); first += std::size_t(piece) * page_bytes) {
                const std::size_t count = std::min<std::size_t>(piece, (pages.size() - first) / page_bytes);
                const TextPages images = {pages.data() + first, static_cast<std::uint32_t>(count), page_bytes,
                                          first_byte, content_bytes};
                status = section == 0 ? loader->append_postings(stream, images)
                                      : loader->append_documents(stream, images);
                if (!status.ok()) {
                    return status;
                }
            }
        }
        return loader->finish(stream, index);
    }

    // Returns the hits that a query of the terms must find.
    std::vector<TextHit> search(const postings::Norms &by, const gpu_engine::TextTerm *terms,
                                const gpu_engine::TextQuery &query, const gpu_engine::TextStep *steps) const {
        using gpu_engine::TextMode;
        // Each list is a term of its own, or several are one.
        std::map<std::uint32_t, std::vector<std::uint32_t>> frequencies;  // by term and document
        std::map<std::uint32_t, const gpu_engine::TextTerm *> named;
        for (std::uint32_t i = 0; i < query.terms; ++i) {
            const gpu_engine::TextTerm &term = terms[query.first_term + i];
            const std::uint32_t number = query.mode == TextMode::steps ? term.number : i;
            named[number] = &term;
            frequencies[number].resize(documents());
            for (const Posting &posting : lists_[find(term.list)]) {
                frequencies[number][posting.ordinal] += posting.frequency;
            }
        }
        std::vector<std::int64_t> scores(documents());
        std::vector<std::uint32_t> counts(documents());
        for (const auto &[number, of_term] : frequencies) {
            const gpu_engine::TextTerm &term = *named[number];
            for (std::uint32_t ordinal = 0; ordinal < documents(); ++ordinal) {
                if (of_term[ordinal] == 0) {
                    continue;
                }
                ++counts[ordinal];
                if (query.mode != TextMode::steps || term.scored != 0) {
                    scores[ordinal] +=
                        postings::contribution(term.weight, by.of(lengths[ordinal]), of_term[ordinal]);
                }
            }
        }
        std::vector<TextHit> hits;
        for (std::uint32_t ordinal = 0; ordinal < documents(); ++ordinal) {
            const std::int64_t score = scores[ordinal];
            const Tid tid = tids[ordinal];
            const bool behind =
                query.resumes == 0 || score < query.score || (score == query.score && query.tid < tid);
            const bool matches =
                query.mode == TextMode::steps
                    ? lengths[ordinal] != gpu_engine::null_text_length &&
                          match_steps(steps + query.first_step, query.steps,
                                      [&](std::uint32_t number) {
                                          const auto found = frequencies.find(number);
                                          return found != frequencies.end() && found->second[ordinal] > 0;
                                      })
                    : counts[ordinal] > 0 && (query.mode == TextMode::any || counts[ordinal] == query.terms);
            if (matches && behind && !is_dead(ordinal)) {
                hits.push_back({score, ordinal, tid, {}});
            }
        }
        std::sort(hits.begin(), hits.end(), [](const TextHit &a, const TextHit &b) {
            return a.score != b.score ? a.score > b.score : a.tid < b.tid;
        });
        if (hits.size() > query.k) {
            hits.resize(query.k);
        }
        return hits;
    }
    std::vector<std::uint32_t> intersect(const std::vector<TextList> &requested) const {
        std::map<std::uint32_t, std::size_t> counts;
        for (const TextList &list : requested) {
            for (const Posting &posting : lists_[find(list)]) {
                ++counts[posting.ordinal];
            }
        }
        std::vector<std::uint32_t> result;
        for (const auto &[ordinal, count] : counts) {
            if (count == requested.size() && !is_dead(ordinal)) {
                result.push_back(ordinal);
            }
        }
        return result;
    }

  private:
    static char *add_page(std::vector<char> *pages) {
        pages->resize(pages->size() + page_bytes, '\x5a');
        return pages->data() + pages->size() - page_bytes + first_byte;
    }
    std::size_t find(const TextList &list) const {
        for (std::size_t i = 0; i < named_.size(); ++i) {
            if (std::memcmp(&named_[i], &list, sizeof(list)) == 0) {
                return i;
            }
        }
        return named_.size();
    }
    postings::Codec codec_;
    std::vector<std::uint8_t> bytes_;
    std::vector<Postings> lists_;
    std::vector<TextList> named_;
};

}  // namespace text_test
