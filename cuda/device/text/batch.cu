#include "device/text/batch.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gpu_engine::device {
namespace {

// An accumulated score's error by float arithmetic, of the highest there can be: six roundings of 2^-23 at
// most, and some room.
constexpr double relative_error = 0x1p-19;
// A term's error comes from the cut to an integer, from the least contribution of one unit there and here,
// and from the exact one's rounding.
constexpr double error_a_term = 4;

std::uint32_t clamped(double value) {
    return value <= 0 ? 0 : value >= UINT32_MAX ? UINT32_MAX : static_cast<std::uint32_t>(value);
}

// Returns the chunks of all terms' lists together.
std::uint32_t chunk_count(const std::vector<RankedTerm> &terms) {
    return terms.empty() ? 0 : terms.back().first_chunk + chunks_of(terms.back().list);
}

}  // namespace

TextQueries::TextQueries(const TextShape &shape, const TextRanking &ranking, const TextBatch &batch)
    : terms_(batch.terms, batch.terms + batch.term_count),
      queries_(batch.queries, batch.queries + batch.query_count),
      steps_(batch.steps, batch.steps + batch.step_count),
      documents_(shape.documents) {
    require_ok(check_text_search(shape, ranking,
                                 {queries_.data(), batch.query_count, terms_.data(), batch.term_count,
                                  steps_.data(), batch.step_count}));
    for (const TextTerm &term : terms_) {
        views_.push_back(view_of(shape, term.list));
    }
}

void TextQueries::rank(std::uint32_t number, std::uint64_t capacity, std::vector<RankedQuery> *queries,
                       std::vector<RankedTerm> *terms) const {
    const TextQuery &requested = queries_[number];
    RankedQuery query = {};
    query.first_term = static_cast<std::uint32_t>(terms->size());
    query.terms = requested.terms;
    query.all = requested.mode == TextMode::all ? 1 : 0;
    query.k = requested.k;
    query.accumulated = query.all != 0 ? std::min(requested.terms, max_counted) : requested.terms;
    query.score_bits = query.all != 0 ? all_score_bits : any_score_bits;
    std::uint32_t chunks = chunk_count(*terms);
    for (std::uint32_t i = 0; i < requested.terms; ++i) {
        terms->push_back({views_[requested.first_term + i], terms_[requested.first_term + i].weight, 0,
                          static_cast<std::uint32_t>(queries->size()), 0});
    }
    RankedTerm *own = terms->data() + query.first_term;
    std::sort(own, own + query.terms,
              [](const RankedTerm &a, const RankedTerm &b) { return a.list.documents < b.list.documents; });
    for (std::uint32_t i = 0; i < query.terms; ++i) {
        own[i].first_chunk = chunks;
        chunks += chunks_of(own[i].list);
    }
    double weights = 0;
    std::uint64_t most = 0;
    for (std::uint32_t i = 0; i < query.accumulated; ++i) {
        weights += own[i].weight;
        most += own[i].list.documents;
    }
    if (query.all != 0) {
        most = own[0].list.documents;
    }
    // Some room for errors.
    const double highest = std::ldexp(1.0, static_cast<int>(query.score_bits)) * (1 - 0x1p-10);
    const double scale = weights > highest ? highest / weights : 1;
    for (std::uint32_t i = 0; i < query.accumulated; ++i) {
        own[i].scaled = static_cast<float>(own[i].weight * scale);
    }
    const double error = weights * scale * relative_error + error_a_term * query.terms + error_a_term;
    query.margin = clamped(std::ceil(2 * error));
    query.highest = UINT32_MAX;
    query.sure = UINT32_MAX;
    query.resume_score = INT64_MAX;
    if (requested.resumes != 0) {
        const double resume = static_cast<double>(requested.score) * scale;
        query.highest = clamped(std::ceil(resume + error));
        query.sure = clamped(std::floor(resume - error) - 1);
        query.resume_score = requested.score;
        query.resume_tid = tid_number(requested.tid);
    }
    if (query.accumulated < query.terms) {
        // The others' contributions are missing, and whether they have the document.
        query.highest = UINT32_MAX;
        query.sure = 0;
    }
    query.capacity = static_cast<std::uint32_t>(std::min({capacity, most, std::uint64_t(documents_)}));
    queries->push_back(query);
}

std::uint64_t TextQueries::chunks(std::uint32_t number) const {
    const TextQuery &requested = queries_[number];
    std::uint64_t chunks = 0;
    for (std::uint32_t i = 0; i < requested.terms; ++i) {
        chunks += chunks_of(views_[requested.first_term + i]);
    }
    return chunks;
}

std::uint64_t usual_capacity(std::uint32_t k, std::uint32_t windows) {
    constexpr std::uint64_t least = 1 << 14;
    constexpr std::uint64_t windows_at_once = 512;
    return least + std::min<std::uint64_t>(windows, windows_at_once) * k * 5 / 4;
}

DeviceBatch::DeviceBatch(const Call &call, const TextView &text, const TextRanking &ranking,
                         const std::vector<RankedTerm> &terms, const std::vector<RankedQuery> &queries,
                         std::uint64_t candidates, const Damage &damage, bool probed)
    : terms_(call.buffer<RankedTerm>(terms.size())),
      queries_(call.buffer<RankedQuery>(queries.size())),
      starts_(call.buffer<std::uint32_t>(terms.size() *
                                         (std::uint64_t(window_count(call.engine(), text.documents)) + 1))),
      mosts_(call.buffer<std::uint32_t>(starts_.size())),
      rests_(call.buffer<std::uint32_t>(probed ? starts_.size() : 0)),
      chunk_terms_(call.buffer<std::uint32_t>(probed ? chunk_count(terms) : 0)),
      work_(call.buffer<std::uint32_t>(chunk_terms_.size() * probed_blocks_a_chunk)),
      work_counts_(call.buffer<std::uint32_t>(probed ? 2 : 0)),
      numbers_(call.buffer<std::uint32_t>(queries.size() * 2)),
      candidates_(call.buffer<Candidate>(candidates)) {
    call.copy(terms_.data(), terms.data(), terms.size());
    call.copy(queries_.data(), queries.data(), queries.size());
    batch_ = {text,
              ranking.norms,
              {static_cast<float>(ranking.norms.base), static_cast<float>(ranking.norms.slope)},
              ranking.shrink,
              terms_.data(),
              queries_.data(),
              static_cast<std::uint32_t>(terms.size()),
              static_cast<std::uint32_t>(queries.size()),
              window_count(call.engine(), text.documents),
              documents_a_window(call.engine()),
              static_cast<std::uint32_t>(std::countr_zero(documents_a_window(call.engine()))),
              probed ? probing_stride(window_count(call.engine(), text.documents)) : 1,
              static_cast<std::uint32_t>(chunk_terms_.size()),
              starts_.data(),
              mosts_.data(),
              rests_.data(),
              chunk_terms_.data(),
              work_.data(),
              work_counts_.data(),
              numbers_.data(),
              numbers_.data() + queries.size(),
              candidates_.data(),
              damage.flag()};
    reset(call);
}

void DeviceBatch::reset(const Call &call) const {
    call.fill(numbers_.data(), 0, numbers_.size() * sizeof(std::uint32_t));
}

}  // namespace gpu_engine::device
