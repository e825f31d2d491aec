// The best of a query's candidates, scored exactly.
#include <cub/block/block_merge_sort.cuh>

#include "device/text/approximate.cuh"
#include "device/text/search.h"
#include "device/text/select.cuh"
#include "device/text/sort.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {
namespace {

constexpr std::uint32_t finish_threads = 512;
constexpr std::uint32_t finish_warps = finish_threads / 32;
constexpr std::uint32_t sorted_a_thread = 4;
constexpr std::uint32_t max_sorted = finish_threads * sorted_a_thread;

constexpr std::int64_t no_hit = -1;

// Returns a document's exact score, or no_hit where it can't be one. All lanes get it. Lanes look for the
// blocks of 32 terms at once; then the warp decodes one after the other.
template <postings::Codec Codec>
__device__ std::int64_t score_exactly(const SearchBatch &batch, const RankedQuery &query,
                                      std::uint32_t ordinal, std::uint32_t lane, std::uint32_t *scratch) {
    const TextView &text = batch.text;
    const std::uint32_t window = ordinal / batch.window_documents;
    const std::uint32_t length = text.lengths[ordinal];
    std::int64_t score = 0;
    std::uint32_t found = 0;
    for (std::uint32_t first = 0; first < query.terms; first += 32) {
        std::uint32_t block_of_lane = 0;
        if (first + lane < query.terms) {
            const std::uint32_t term = query.first_term + first + lane;
            const ListView &list = batch.terms[term].list;
            if (list.blocks > 1) {
                const std::uint32_t *starts =
                    batch.starts + std::uint64_t(term) * (batch.windows + 1) + window;
                const std::uint32_t high = min(starts[1], list.blocks - 1);
                block_of_lane = find_block(text, list, ordinal, min(starts[0], high), high);
            }
        }
        const std::uint32_t size = min(query.terms - first, 32U);
        for (std::uint32_t i = 0; i < size; ++i) {
            const RankedTerm &term = batch.terms[query.first_term + first + i];
            Block block;
            if (!decode_block<Codec>(text, term.list, __shfl_sync(all_lanes, block_of_lane, i), lane, scratch,
                                     &block)) {
                if (lane == 0) {
                    *batch.damaged = 1;
                }
                continue;
            }
            std::uint32_t frequencies[a_lane];
            decode_frequencies(term.list, block, lane, frequencies);
            std::uint32_t frequency = 0;
#pragma unroll
            for (std::uint32_t j = 0; j < a_lane; ++j) {
                if (lane * a_lane + j < block.count && block.ordinals[j] == ordinal) {
                    frequency = frequencies[j];
                }
            }
            frequency = max_of_warp(frequency);
            if (frequency > 0) {
                score += contribution(term.weight, batch.norms, length, frequency);
                ++found;
            }
        }
    }
    const bool matches = query.all != 0 ? found == query.terms : found > 0;
    const bool behind = score < query.resume_score ||
                        (score == query.resume_score && tid_number(text.tids[ordinal]) > query.resume_tid);
    return matches && behind ? score : no_hit;
}

__device__ TextHit make_hit(const TextView &text, std::int64_t score, std::uint32_t ordinal) {
    return TextHit{score, ordinal, text.tids[ordinal], {}};
}

struct Scored {
    std::int64_t score;
    std::uint32_t ordinal;
};

struct RanksBefore {
    __device__ bool operator()(const Scored &a, const Scored &b) const {
        return a.score != b.score ? a.score > b.score : a.ordinal < b.ordinal;
    }
};

using FinishSort = cub::BlockMergeSort<Scored, finish_threads, sorted_a_thread>;

struct FinishShared {
    union {
        typename ThresholdSelect<finish_threads>::Storage select;
        alignas(16) WarpScratch scratch[finish_warps];
        typename FinishSort::TempStorage sort;
    };
    std::uint32_t ordinals[max_sorted];
    std::int64_t scores[max_sorted];
    std::uint32_t count;
    std::uint32_t hits;
};

// A block takes a query.
template <postings::Codec Codec>
__global__ void __launch_bounds__(finish_threads)
    finish_kernel(const __grid_constant__ SearchBatch batch, TextHit *hits, std::uint32_t *hit_counts) {
    extern __shared__ uint4 dynamic_shared[];
    auto &shared = *reinterpret_cast<FinishShared *>(dynamic_shared);
    const RankedQuery &query = batch.queries[blockIdx.x];
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t count = batch.counts[blockIdx.x];
    if (count > query.capacity || query.k > max_finished_together) {
        if (threadIdx.x == 0) {
            hit_counts[blockIdx.x] = unfinished;
        }
        return;
    }
    if (threadIdx.x == 0) {
        shared.count = 0;
        shared.hits = 0;
    }
    const Candidate *candidates = batch.candidates + query.first_candidate;
    const std::uint32_t least = batch.thresholds[blockIdx.x];
    const std::uint32_t found = ThresholdSelect<finish_threads>::run(
        shared.select, query.score_bits, query.k, least, [&](auto visit) {
            for (std::uint32_t i = threadIdx.x; i < count; i += finish_threads) {
                const std::uint32_t score = candidates[i].score;
                if (score <= query.sure && score >= least) {
                    visit(score);
                }
            }
        });
    const std::uint32_t threshold = max(found, least);
    const std::uint32_t floor = floor_of(query, threshold);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += finish_threads) {
        if (candidates[i].score >= floor) {
            const std::uint32_t place = atomicAdd(&shared.count, 1);
            if (place < max_sorted) {
                shared.ordinals[place] = candidates[i].ordinal;
            }
        }
    }
    __syncthreads();
    const std::uint32_t kept = shared.count;
    if (kept > max_sorted) {
        if (threadIdx.x == 0) {
            hit_counts[blockIdx.x] = unfinished;
        }
        return;
    }
    for (std::uint32_t i = warp; i < kept; i += finish_warps) {
        const std::int64_t score =
            score_exactly<Codec>(batch, query, shared.ordinals[i], lane, shared.scratch[warp]);
        if (lane == 0) {
            shared.scores[i] = score;
            if (score != no_hit) {
                atomicAdd(&shared.hits, 1);
            }
        }
    }
    __syncthreads();
    Scored scored[sorted_a_thread];
#pragma unroll
    for (std::uint32_t j = 0; j < sorted_a_thread; ++j) {
        const std::uint32_t i = threadIdx.x * sorted_a_thread + j;
        scored[j] = i < kept ? Scored{shared.scores[i], shared.ordinals[i]} : Scored{no_hit, UINT32_MAX};
    }
    FinishSort(shared.sort).Sort(scored, RanksBefore());
    const std::uint32_t wanted = min(shared.hits, query.k);
#pragma unroll
    for (std::uint32_t j = 0; j < sorted_a_thread; ++j) {
        const std::uint32_t i = threadIdx.x * sorted_a_thread + j;
        if (i < wanted) {
            hits[query.first_hit + i] = make_hit(batch.text, scored[j].score, scored[j].ordinal);
        }
    }
    if (threadIdx.x == 0) {
        hit_counts[blockIdx.x] = wanted;
    }
}

__global__ void split_candidates_kernel(const Candidate *candidates, std::uint32_t count,
                                        std::uint32_t *scores, std::uint32_t *ordinals) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        scores[i] = candidates[i].score;
        ordinals[i] = candidates[i].ordinal;
    }
}

// Returns how many of the scores, which descend, are no lower than `least`.
__device__ std::uint32_t count_down_to(const std::uint32_t *scores, std::uint32_t count,
                                       std::uint32_t least) {
    std::uint32_t low = 0;
    std::uint32_t high = count;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (scores[middle] >= least) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// Finds out how many of the candidates, in order of their scores, can still be hits.
__global__ void cut_candidates_kernel(const std::uint32_t *scores, std::uint32_t count, RankedQuery query,
                                      std::uint32_t *kept) {
    const std::uint32_t unsure = query.sure == UINT32_MAX ? 0 : count_down_to(scores, count, query.sure + 1);
    std::uint32_t floor = 0;
    if (query.k <= count - unsure) {
        const std::uint32_t threshold = scores[unsure + query.k - 1];
        floor = threshold > query.margin ? threshold - query.margin : 0;
    }
    *kept = count_down_to(scores, count, floor);
}

template <postings::Codec Codec>
__global__ void __launch_bounds__(256)
    score_kernel(const __grid_constant__ SearchBatch batch, const std::uint32_t *ordinals,
                 std::uint32_t count, std::int64_t *scores, std::uint32_t *hits) {
    __shared__ alignas(16) WarpScratch scratch[256 / 32];
    const std::uint32_t warp = threadIdx.x / 32;
    const std::uint32_t i = blockIdx.x * (256 / 32) + warp;
    const std::uint32_t lane = threadIdx.x % 32;
    if (i >= count) {
        return;
    }
    const std::int64_t score =
        score_exactly<Codec>(batch, batch.queries[0], ordinals[i], lane, scratch[warp]);
    if (lane == 0) {
        scores[i] = score;
        if (score != no_hit) {
            atomicAdd(hits, 1);
        }
    }
}

__global__ void write_hits_kernel(TextView text, const std::int64_t *scores, const std::uint32_t *ordinals,
                                  std::uint32_t count, TextHit *hits) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        hits[i] = make_hit(text, scores[i], ordinals[i]);
    }
}

template <postings::Codec Codec>
void launch_finish(const Call &call, const SearchBatch &batch, TextHit *hits, std::uint32_t *hit_counts) {
    const auto kernel = finish_kernel<Codec>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(FinishShared)),
          "cudaFuncSetAttribute");
    kernel<<<batch.query_count, finish_threads, sizeof(FinishShared), call.stream()>>>(batch, hits,
                                                                                       hit_counts);
    check_launch("finish_kernel");
}

}  // namespace

void finish(const Call &call, const SearchBatch &batch, TextHit *hits, std::uint32_t *hit_counts) {
    with_codec(batch.text.codec, [&](auto codec) { launch_finish<codec>(call, batch, hits, hit_counts); });
}

void finish_alone(const Call &call, const SearchBatch &batch, const RankedQuery &query, TextHit *hits,
                  std::uint32_t *hit_count) {
    std::uint32_t count = 0;
    call.read(&count, batch.counts, 1);
    *hit_count = 0;
    if (count == 0) {
        return;
    }
    const Buffer<std::uint32_t> scores = call.buffer<std::uint32_t>(count);
    const Buffer<std::uint32_t> ordinals = call.buffer<std::uint32_t>(count);
    const Buffer<std::uint32_t> sorted_scores = call.buffer<std::uint32_t>(count);
    const Buffer<std::uint32_t> sorted_ordinals = call.buffer<std::uint32_t>(count);
    const Buffer<std::uint32_t> numbers = call.buffer<std::uint32_t>(2);
    call.fill(numbers.data(), 0, numbers.size() * sizeof(std::uint32_t));
    split_candidates_kernel<<<blocks_for(count, 256), 256, 0, call.stream()>>>(
        batch.candidates, count, scores.data(), ordinals.data());
    check_launch("split_candidates_kernel");
    sort_pairs<true>(call, scores.data(), sorted_scores.data(), ordinals.data(), sorted_ordinals.data(),
                     count);
    cut_candidates_kernel<<<1, 1, 0, call.stream()>>>(sorted_scores.data(), count, query, numbers.data());
    check_launch("cut_candidates_kernel");
    std::uint32_t kept = 0;
    call.read(&kept, numbers.data(), 1);

    // Candidates are sorted by ordinal, and then by score, without changing the order of what is equal.
    sort_pairs<false>(call, sorted_ordinals.data(), ordinals.data(), sorted_scores.data(), scores.data(),
                      kept);
    const Buffer<std::int64_t> exact = call.buffer<std::int64_t>(kept);
    const Buffer<std::int64_t> sorted_exact = call.buffer<std::int64_t>(kept);
    with_codec(batch.text.codec, [&](auto codec) {
        const auto kernel = score_kernel<codec>;
        kernel<<<blocks_for(kept, 256 / 32), 256, 0, call.stream()>>>(batch, ordinals.data(), kept,
                                                                      exact.data(), numbers.data() + 1);
    });
    check_launch("score_kernel");
    sort_pairs<true>(call, exact.data(), sorted_exact.data(), ordinals.data(), sorted_ordinals.data(), kept);
    std::uint32_t found = 0;
    call.read(&found, numbers.data() + 1, 1);
    *hit_count = found < query.k ? found : query.k;
    if (*hit_count > 0) {
        write_hits_kernel<<<blocks_for(*hit_count, 256), 256, 0, call.stream()>>>(
            batch.text, sorted_exact.data(), sorted_ordinals.data(), *hit_count, hits);
        check_launch("write_hits_kernel");
    }
}

}  // namespace gpu_engine::device
