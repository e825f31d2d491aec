// Both implementations of text indexes share this: the layout of pages, and what calls are refused.
#pragma once

#include <cstdint>

#include "common/text/steps.h"
#include "gpu_engine/text.h"

namespace gpu_engine {

inline constexpr std::uint32_t text_length_bytes = 3;
inline constexpr std::uint32_t text_document_bytes = sizeof(Tid) + text_length_bytes;
// A list of one block begins with its parameter and its frequencies' width, a byte each; then comes the
// block.
inline constexpr std::uint32_t short_list_head = 2;

inline std::uint32_t text_blocks(std::uint32_t documents) noexcept {
    constexpr std::uint32_t a_block = postings::kBlockPostings;
    return documents / a_block + (documents % a_block != 0 ? 1 : 0);
}

inline Status contradicted_by_list() noexcept {
    return make_status(StatusCode::invalid_argument, "an inverted list contradicts itself");
}

inline Status check_text_shape(const TextShape &shape) noexcept {
    constexpr std::uint64_t max_posting_bytes = std::uint64_t(1) << 44;
    if (static_cast<int>(shape.codec) >= postings::kCodecs) {
        return make_status(StatusCode::invalid_argument, "there is no such codec");
    }
    if (shape.posting_bytes > max_posting_bytes) {
        return make_status(StatusCode::invalid_argument, "no run has so many bytes of postings");
    }
    return {};
}

// Checks pages of parts, `a_page` of them on each, which must be the next of `all`; `loaded` have come
// before. *count becomes the number of parts on these pages.
inline Status check_text_pages(const TextPages &pages, std::uint64_t a_page, std::uint64_t all,
                               std::uint64_t loaded, std::uint64_t *count) noexcept {
    constexpr std::uint32_t max_page_bytes = 65536;
    *count = 0;
    if (pages.page_bytes == 0 || pages.page_bytes > max_page_bytes || pages.first_byte > pages.page_bytes ||
        pages.content_bytes > pages.page_bytes - pages.first_byte || a_page == 0) {
        return make_status(StatusCode::invalid_argument, "no page has this layout");
    }
    const std::uint64_t missing = all - loaded;
    if (loaded % a_page != 0 || pages.pages > (missing + a_page - 1) / a_page) {
        return make_status(StatusCode::invalid_argument, "the run has no more such pages");
    }
    const std::uint64_t room = pages.pages * a_page;
    *count = room < missing ? room : missing;
    return {};
}

inline Status tids_descend() noexcept {
    return make_status(StatusCode::invalid_argument, "the documents aren't in the order of their TIDs");
}

inline bool is_within(const TextShape &shape, const TextList &list) noexcept {
    if (list.documents == 0 || list.documents > shape.documents) {
        return false;
    }
    if (list.documents == 1) {
        return list.ordinal < shape.documents && list.frequency > 0;
    }
    return list.offset <= shape.posting_bytes && list.bytes <= shape.posting_bytes - list.offset;
}

inline Status check_text_list(const TextShape &shape, const TextList &list) noexcept {
    return is_within(shape, list) ? Status{} : contradicted_by_list();
}

inline Status check_text_query(const TextBatch &batch, const TextQuery &query) noexcept {
    const bool has_steps = query.mode == TextMode::steps;
    if (query.mode != TextMode::any && query.mode != TextMode::all && !has_steps) {
        return make_status(StatusCode::invalid_argument, "a query has no such mode");
    }
    if (query.first_term > batch.term_count || query.terms > batch.term_count - query.first_term ||
        query.terms > (has_steps ? max_text_lists : max_text_terms)) {
        return make_status(StatusCode::invalid_argument, "a query's terms are out of range");
    }
    if (query.k == 0 || query.k > max_text_hits) {
        return make_status(StatusCode::invalid_argument, "a query takes 1 to 10000 hits");
    }
    return has_steps ? check_text_steps(batch, query) : Status{};
}

// The batch must be a private copy, since what is checked here is used afterwards.
inline Status check_text_search(const TextShape &shape, const TextRanking &ranking,
                                const TextBatch &batch) noexcept {
    constexpr double max_factor = 0x1p60;
    const auto is_factor = [](double value) { return value >= 0 && value <= max_factor; };
    if (!is_factor(ranking.norms.base) || !is_factor(ranking.norms.slope) || !(ranking.shrink <= 1)) {
        return make_status(StatusCode::invalid_argument, "the ranking's factors are out of range");
    }
    for (std::uint32_t i = 0; i < batch.term_count; ++i) {
        if (!(batch.terms[i].weight >= 0 && batch.terms[i].weight <= max_text_weight)) {
            return make_status(StatusCode::invalid_argument, "a term's weight is out of range");
        }
        if (!is_within(shape, batch.terms[i].list)) {
            return contradicted_by_list();
        }
    }
    for (std::uint32_t i = 0; i < batch.query_count; ++i) {
        const Status status = check_text_query(batch, batch.queries[i]);
        if (!status.ok()) {
            return status;
        }
    }
    return {};
}

// Does `a` come before `b`?
inline bool ranks_before(const TextHit &a, const TextHit &b) noexcept {
    return a.score != b.score ? a.score > b.score : a.ordinal < b.ordinal;
}

}  // namespace gpu_engine
