// Queries as the kernels of a search see them.
#pragma once

#include <cstdint>
#include <vector>

#include "device/text/search.h"
#include "device/text/steps.h"

namespace gpu_engine::device {

// A caller's queries, copied and checked. Throws Failure when they can't be asked.
class TextQueries {
  public:
    TextQueries(const TextShape &shape, const TextRanking &ranking, const TextBatch &batch);

    const TextQuery &query(std::uint32_t i) const { return queries_[i]; }
    StepQuery with_steps(std::uint32_t i) const {
        const TextQuery &query = queries_[i];
        return {query, terms_.data() + query.first_term, views_.data() + query.first_term,
                steps_.data() + query.first_step};
    }

    // Returns the chunks of the query's lists, if it is probed.
    std::uint64_t chunks(std::uint32_t number) const;

    // Appends a query without steps and its terms. Its candidates have `capacity` places, or as many as there
    // can be of them where that is less.
    void rank(std::uint32_t number, std::uint64_t capacity, std::vector<RankedQuery> *queries,
              std::vector<RankedTerm> *terms) const;

  private:
    std::vector<TextTerm> terms_;
    std::vector<TextQuery> queries_;
    std::vector<TextStep> steps_;
    std::vector<ListView> views_;
    std::uint32_t documents_;
};

// Room for the candidates that windows at work at the same time may find before any knows the others'
// thresholds.
std::uint64_t usual_capacity(std::uint32_t k, std::uint32_t windows);

// A batch on the device, with its scratch memory.
class DeviceBatch {
  public:
    DeviceBatch(const Call &call, const TextView &text, const TextRanking &ranking,
                const std::vector<RankedTerm> &terms, const std::vector<RankedQuery> &queries,
                std::uint64_t candidates, const Damage &damage, bool probed);

    const SearchBatch &view() const { return batch_; }
    // Makes the batch ready for another search of the same queries.
    void reset(const Call &call) const;

  private:
    Buffer<RankedTerm> terms_;
    Buffer<RankedQuery> queries_;
    Buffer<std::uint32_t> starts_;
    Buffer<std::uint32_t> mosts_;
    Buffer<std::uint32_t> rests_;
    Buffer<std::uint32_t> chunk_terms_;
    Buffer<std::uint32_t> work_;
    Buffer<std::uint32_t> work_counts_;
    Buffer<std::uint32_t> numbers_;  // thresholds, then counts
    Buffer<Candidate> candidates_;
    SearchBatch batch_;
};

}  // namespace gpu_engine::device
