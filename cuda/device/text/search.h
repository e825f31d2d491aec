// Ranked search on the device, in three steps, each over all queries of a batch:
//
//   1. where each list's blocks begin in each window of documents, and what they contribute there at most
//      (find_windows)
//   2. scores of a window's documents, summed up in shared memory as integers of 31 bits, whose error is
//      known; those that can be among the best go to the query's candidates (accumulate). Lists come in the
//      order of their weights; those that can't lift a document to the best by themselves are looked into
//      for documents that others have, and windows in which all together can't are passed over.
//      Where a batch has many disjunctions of few words for few hits, that is done in some windows only, for
//      thresholds. The lists' postings in the others are then gone through one by one, as far as they can be
//      of a hit, and longer lists are looked into for them (probe).
//   3. the candidates that can still be are scored exactly, and sorted (finish)
#pragma once

#include <algorithm>
#include <cstdint>

#include "device/text/damage.h"
#include "device/text/index.h"

namespace gpu_engine::device {

struct RankedTerm {
    ListView list;
    double weight;
    float scaled;               // weight, in a query's units of accumulated scores
    std::uint32_t query;        // number in the batch
    std::uint32_t first_chunk;  // first of the list's chunks; those of the terms before come first
};

// Lists are probed in chunks of so many blocks.
inline constexpr std::uint32_t probed_blocks_a_chunk = 32;
__host__ __device__ inline std::uint32_t chunks_of(const ListView &list) {
    return (list.blocks + probed_blocks_a_chunk - 1) / probed_blocks_a_chunk;
}

// Accumulated scores have so many bits; with `all`, those above count the lists that have the document.
inline constexpr std::uint32_t any_score_bits = 31;
inline constexpr std::uint32_t all_score_bits = 27;
// More lists aren't counted: of these queries every document with the first so many is a candidate.
inline constexpr std::uint32_t max_counted = 31;

struct RankedQuery {
    std::uint32_t first_term;  // that of the shortest list; the others follow by length
    std::uint32_t terms;
    std::uint32_t accumulated;  // number of its terms that are accumulated; the others only filter
    std::uint32_t all;          // 1: documents must have all terms
    std::uint32_t k;
    std::uint32_t score_bits;
    // An accumulated score is within half of this of the exact one.
    std::uint32_t margin;
    // Accumulated scores that are higher come before the point at which the hits resume, those that are no
    // higher than `sure` behind it.
    std::uint32_t highest;
    std::uint32_t sure;
    std::uint32_t capacity;
    std::uint64_t first_candidate;
    std::uint64_t first_hit;
    // Hits come behind this score and TID (tid_number).
    std::int64_t resume_score;
    std::uint64_t resume_tid;
};

struct Candidate {
    std::uint32_t ordinal;
    std::uint32_t score;  // accumulated
};

// Queries with more hits are finished by device-wide sorts.
inline constexpr std::uint32_t max_finished_together = 1024;

struct SearchBatch {
    TextView text;
    postings::Norms norms;
    float2 approximate_norms;  // base, slope
    double shrink;             // TextRanking::shrink
    const RankedTerm *terms;
    const RankedQuery *queries;
    std::uint32_t term_count;
    std::uint32_t query_count;
    std::uint32_t windows;
    std::uint32_t window_documents;  // in each of them but the last, a power of two
    std::uint32_t window_shift;      // its logarithm
    std::uint32_t window_stride;     // so many windows further is the next one that scores are summed up in
    std::uint32_t chunk_count;       // number of chunks of all terms' lists; only for probing
    std::uint32_t *starts;           // for each term, windows + 1 places
    // The most that a posting of the term's can contribute in the window, in the same places.
    std::uint32_t *mosts;
    std::uint32_t *rests;  // what later terms can contribute together, in the same places; only for probing
    std::uint32_t *chunk_terms;  // term of each chunk; only for probing
    std::uint32_t *work;         // blocks to be probed; only for probing
    std::uint32_t *work_counts;  // theirs, and of those that were taken; only for probing
    std::uint32_t *thresholds;   // for each query, a lower bound of its k-th accumulated score
    // For each query, the number of its candidates, more than the capacity when it was too small.
    std::uint32_t *counts;
    Candidate *candidates;
    std::uint32_t *damaged;
};

// Returns for how many documents a block's shared memory holds the scores and lengths of a window.
std::uint32_t documents_a_window(const DeviceEngine &engine);

inline std::uint32_t window_count(const DeviceEngine &engine, std::uint32_t documents) {
    const std::uint32_t size = documents_a_window(engine);
    return documents / size + (documents % size != 0 ? 1 : 0);
}

// A batch that is probed has scores summed up in so many windows, or up to twice as many.
inline constexpr std::uint32_t summed_windows = 24;

// Returns the distance between those windows.
inline std::uint32_t probing_stride(std::uint32_t windows) {
    return std::max(windows / summed_windows, 1U);
}

// Too few windows are left to be probed if there are fewer documents.
inline constexpr std::uint32_t min_probed_windows = 2 * summed_windows;
// Fewer queries are answered in windows: probing's rounds take most of a millisecond whatever there is to do.
// For so many queries probing takes three fifths of the time with 10 hits, and five sixths with 100
// (bench/results/text/2026-11-28-text-or-probed-h100.txt).
inline constexpr std::uint32_t min_probed_queries = 160;
// Probing saves more than half of a large call's time with 10 hits, and four tenths with 100.
inline constexpr std::uint32_t max_probed_hits = 128;
// A list may have to be looked into for the postings of every other one, so the cost can grow with the square
// of their number: with 8 lists next to nothing is left of what it saves.
inline constexpr std::uint32_t max_probed_terms = 5;

// Is the query one that is probed where its batch has enough of these?
inline bool suits_probing(const TextQuery &query, std::uint32_t windows) {
    return query.mode == TextMode::any && query.k <= max_probed_hits && query.terms <= max_probed_terms &&
           windows >= min_probed_windows;
}

void find_windows(const Call &call, const SearchBatch &batch);
void accumulate(const Call &call, const SearchBatch &batch);
// Finds candidates in the windows that accumulate has left out.
void probe(const Call &call, const SearchBatch &batch);
// Writes each query's hits and their number, or `unfinished` where candidates overflowed or are too many to
// be sorted together.
inline constexpr std::uint32_t unfinished = UINT32_MAX;
void finish(const Call &call, const SearchBatch &batch, TextHit *hits, std::uint32_t *hit_counts);
// Does the same for one query of any size, the batch's first, whose candidates haven't overflowed. Waits for
// the device.
void finish_alone(const Call &call, const SearchBatch &batch, const RankedQuery &query, TextHit *hits,
                  std::uint32_t *hit_count);

}  // namespace gpu_engine::device
