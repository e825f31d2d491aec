// Accumulated scores, which are integers of a query's own unit: what a posting adds to them, and bounds of
// it.
#pragma once

#include "device/text/decode.cuh"
#include "device/text/search.h"

namespace gpu_engine::device {

// Returns the most that a posting of the list's blocks from `begin` to `end` contributes, in units of
// accumulated scores.
__device__ inline std::uint32_t max_in_blocks(const SearchBatch &batch, const RankedTerm &term,
                                              std::uint32_t begin, std::uint32_t end) {
    // Rounds upwards, by more than the error of float arithmetic and by what postings::bound_contribution
    // adds.
    constexpr float upwards = 1 + 0x1p-18f;
    constexpr std::uint32_t more = 3;
    float least = 0;
    if (batch.shrink > 0 && term.list.blocks > 1) {
        least = INFINITY;
        for (std::uint32_t block = begin; block <= end; ++block) {
            const std::uint64_t byte = term.list.offset + term.list.data_bytes +
                                       std::uint64_t(block) * sizeof(postings::BlockHead) +
                                       offsetof(postings::BlockHead, bound);
            const Source source = {batch.text.postings + byte / 4};
            const float ratio = __uint_as_float(source.bits(byte % 4 * 8) << 16);
            least = ratio >= 0 ? fminf(least, ratio) : 0;
        }
        least *= static_cast<float>(batch.shrink);
    }
    return static_cast<std::uint32_t>(term.scaled * upwards / (1 + least)) + more;
}

// Returns the score that a document must have to be a candidate.
__device__ __forceinline__ std::uint32_t floor_of(const RankedQuery &query, std::uint32_t threshold) {
    return threshold > query.margin ? threshold - query.margin : 1;
}

__device__ __forceinline__ std::uint32_t approximate_contribution(float scaled, float2 norms,
                                                                  std::uint32_t length,
                                                                  std::uint32_t frequency) {
    const auto tf = static_cast<float>(frequency);
    const float norm = norms.x + norms.y * static_cast<float>(length);
    const auto part = static_cast<std::uint32_t>(__fdividef(scaled * tf, tf + norm));
    return max(part, 1U);
}

__device__ __forceinline__ bool lives(const TextView &text, std::uint32_t ordinal) {
    const std::uint64_t *dead = text.dead.words;
    return dead == nullptr || (dead[ordinal / 64] >> (ordinal % 64) & 1) == 0;
}

__device__ __forceinline__ void add_candidate(const SearchBatch &batch, const RankedQuery &query,
                                              std::uint32_t number, const Candidate &candidate) {
    const std::uint32_t place = atomicAdd(&batch.counts[number], 1);
    if (place < query.capacity) {
        batch.candidates[query.first_candidate + place] = candidate;
    }
}

}  // namespace gpu_engine::device
