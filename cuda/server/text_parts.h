// Questions about inverted lists of runs that are in parts: what a part is asked, and what all parts found,
// put together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/run_set.h"
#include "server/scratch.h"

namespace gpu_engine::server {

// Lists as a part has them, without those that have no document there.
class OwnLists {
  public:
    // The session may change what is asked, so it is copied. Throws Failure for lists that the run hasn't.
    OwnLists(MemoryBudget &memory, const PartLists &part, const TextList *asked, std::uint32_t count);

    const TextList *data() const noexcept { return lists_.data(); }
    std::uint32_t count() const noexcept { return count_; }
    bool has_all() const noexcept { return count_ == asked_; }
    // Which of the lists that were asked for list i is.
    std::uint32_t place(std::uint32_t i) const noexcept { return places_.data()[i]; }

  private:
    const std::uint32_t asked_;
    std::uint32_t count_ = 0;
    Scratch<TextList> lists_;
    Scratch<std::uint32_t> places_;
};

// The same of queries: a term whose list has no document in the part is left out, and of a query that wants
// all terms all are, so that it finds nothing.
class OwnBatch {
  public:
    OwnBatch(MemoryBudget &memory, const PartLists &part, const TextBatch &asked);

    TextBatch batch() const noexcept {
        return {queries_.data(), asked_.query_count, terms_.data(),
                terms_kept_,     asked_.steps,       asked_.step_count};
    }

  private:
    const TextBatch asked_;
    std::uint32_t terms_kept_ = 0;
    Scratch<TextQuery> queries_;
    Scratch<TextTerm> terms_;
};

// What a part has found for the queries of a run: counts[i] hits of query i, behind as many as the queries
// before have k, together. Their ordinals are the part's.
struct HitsOfPart {
    const std::uint32_t *counts;
    const TextHit *hits;
    std::uint32_t first;  // document of the run
};

// Writes the best hits of all parts, with the run's ordinals.
void put_hits_together(std::span<const HitsOfPart> parts, const TextQuery *queries, std::uint32_t count,
                       std::uint32_t *counts, TextHit *hits);

}  // namespace gpu_engine::server
