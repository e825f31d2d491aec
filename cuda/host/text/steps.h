// Ranked search of queries with steps.
#pragma once

#include <cstdint>

#include "gpu_engine/memory.h"
#include "host/text/best.h"

namespace gpu_engine::host {

// The lists and documents that a call searches.
struct SearchedText {
    const TextParts &parts;
    const TextRanking &ranking;
    const Stream &stream;
    MemoryBudget &memory;
};

// Ranks the documents from `first` to below `end` that the steps match. `terms` and `steps` are the query's.
void rank_by_steps(const SearchedText &text, const TextQuery &query, const TextTerm *terms,
                   const TextStep *steps, std::uint32_t first, std::uint32_t end, Best *best);

}  // namespace gpu_engine::host
