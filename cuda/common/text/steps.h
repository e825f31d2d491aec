// Both implementations of text indexes share this for queries with steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu_engine/text.h"

namespace gpu_engine {

// The query's terms are known to be within the batch.
inline Status check_text_steps(const TextBatch &batch, const TextQuery &query) noexcept {
    const auto refused = [](const char *message) {
        return make_status(StatusCode::invalid_argument, message);
    };
    const TextTerm *terms = batch.terms + query.first_term;
    for (std::uint32_t i = 0; i < query.terms; ++i) {
        if (terms[i].number >= max_text_terms || (i > 0 && terms[i].number < terms[i - 1].number)) {
            return refused("a query's terms are not in order");
        }
    }
    if (query.first_step > batch.step_count || query.steps > batch.step_count - query.first_step ||
        query.steps == 0 || query.steps > max_text_steps) {
        return refused("a query's steps are out of range");
    }
    std::uint32_t depth = 0;
    for (std::uint32_t i = 0; i < query.steps; ++i) {
        const TextStep &step = batch.steps[query.first_step + i];
        switch (step.kind) {
            case TextStepKind::has:
            case TextStepKind::lacks:
                if (step.term >= max_text_terms) {
                    return refused("a step has no such term");
                }
                [[fallthrough]];
            case TextStepKind::every:
                ++depth;
                break;
            case TextStepKind::both:
            case TextStepKind::either:
                if (depth < 2) {
                    return refused("a step lacks its operands");
                }
                --depth;
                break;
            default:
                return refused("there is no such step");
        }
        if (depth > max_text_depth) {
            return refused("a query's steps are too deep");
        }
    }
    return depth == 1 ? Status{} : refused("a query's steps don't leave one value");
}

// A term of a query with steps, and its lists, which are lists[first] to lists[first + count - 1] of the
// query's.
struct TextTermLists {
    std::uint32_t number;
    std::uint32_t first;
    std::uint32_t count;
    std::uint64_t documents;  // number of documents of all lists together
    double weight;
    bool scored;
};

// The terms that have lists, those with the fewest documents first.
inline std::vector<TextTermLists> terms_with_lists(const TextTerm *terms, std::uint32_t count) {
    std::vector<TextTermLists> found;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (found.empty() || found.back().number != terms[i].number) {
            found.push_back({terms[i].number, i, 0, 0, terms[i].weight, terms[i].scored != 0});
        }
        ++found.back().count;
        found.back().documents += terms[i].list.documents;
    }
    std::stable_sort(found.begin(), found.end(), [](const TextTermLists &a, const TextTermLists &b) {
        return a.documents < b.documents;
    });
    return found;
}

}  // namespace gpu_engine
