#include "server/text_parts.h"

#include <algorithm>

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

OwnLists::OwnLists(MemoryBudget &memory, const PartLists &part, const TextList *asked, std::uint32_t count)
    : asked_(count), lists_(memory, count), places_(memory, count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const TextList list = asked[i];
        if (part.lists->find(part.part, list, &lists_.data()[count_])) {
            places_.data()[count_] = i;
            ++count_;
        }
    }
}

OwnBatch::OwnBatch(MemoryBudget &memory, const PartLists &part, const TextBatch &asked)
    : asked_(asked), queries_(memory, asked.query_count), terms_(memory, asked.term_count) {
    // How many of the terms before each one are kept.
    const Scratch<std::uint32_t> before(memory, std::uint64_t(asked.term_count) + 1);
    for (std::uint32_t i = 0; i < asked.term_count; ++i) {
        before.data()[i] = terms_kept_;
        TextTerm term = asked.terms[i];
        TextList own;
        if (part.lists->find(part.part, term.list, &own)) {
            term.list = own;
            terms_.data()[terms_kept_] = term;
            ++terms_kept_;
        }
    }
    before.data()[asked.term_count] = terms_kept_;
    for (std::uint32_t i = 0; i < asked.query_count; ++i) {
        TextQuery query = asked.queries[i];
        if (query.first_term > asked.term_count || query.terms > asked.term_count - query.first_term) {
            refuse("a query's terms are out of range");
        }
        const std::uint32_t terms = query.terms;
        const std::uint32_t end = before.data()[query.first_term + terms];
        query.first_term = before.data()[query.first_term];
        query.terms = end - query.first_term;
        if (query.mode == TextMode::all && query.terms < terms) {
            query.terms = 0;
        }
        queries_.data()[i] = query;
    }
}

void put_hits_together(std::span<const HitsOfPart> parts, const TextQuery *queries, std::uint32_t count,
                       std::uint32_t *counts, TextHit *hits) {
    std::vector<TextHit> found;
    std::uint64_t at = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        found.clear();
        for (const HitsOfPart &part : parts) {
            const std::uint32_t here = std::min(part.counts[i], queries[i].k);
            for (std::uint32_t j = 0; j < here; ++j) {
                found.push_back(part.hits[at + j]);
                found.back().ordinal += part.first;
            }
        }
        const std::size_t best = std::min<std::size_t>(found.size(), queries[i].k);
        std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(best), found.end(),
                          [](const TextHit &a, const TextHit &b) {
                              return a.score != b.score ? a.score > b.score : a.ordinal < b.ordinal;
                          });
        std::copy_n(found.begin(), best, hits + at);
        counts[i] = static_cast<std::uint32_t>(best);
        at += queries[i].k;
    }
}

}  // namespace gpu_engine::server
