// Where lists' blocks lie in windows of documents, and the scores of a window's documents.
#include <cub/block/block_scan.cuh>

#include "device/text/decode.cuh"
#include "device/text/search.h"
#include "device/text/select.cuh"

#include "gpu_engine/boundary.h"

namespace gpu_engine::device {
namespace {

__global__ void find_windows_kernel(SearchBatch batch) {
    const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::uint32_t places = batch.windows + 1;
    if (i >= std::uint64_t(batch.term_count) * places) {
        return;
    }
    const ListView &list = batch.terms[i / places].list;
    const auto window = static_cast<std::uint32_t>(i % places);
    // A list of one block is looked at in all windows.
    std::uint32_t block = 0;
    if (window == batch.windows) {
        block = list.blocks - 1;
    } else if (list.blocks > 1) {
        block = min(find_block(batch.text, list, window * window_documents, 0, list.blocks), list.blocks);
    }
    batch.starts[i] = block;
}

template <std::uint32_t Threads>
struct WindowShared {
    static constexpr std::uint32_t warps = Threads / 32;

    alignas(16) std::uint32_t scores[window_documents];
    // Documents that the first list has, where all must.
    std::uint32_t members[window_documents / 32];
    union {
        alignas(16) WarpScratch scratch[warps];
        typename ThresholdSelect<Threads>::Storage select;
    };
    std::uint32_t threshold;
    std::uint32_t found;
};

// Is any document from `first` to `last` of the window a member?
__device__ __forceinline__ bool any_member(const std::uint32_t *members, std::uint32_t first,
                                           std::uint32_t last, std::uint32_t lane) {
    bool found = false;
    for (std::uint32_t word = first / 32 + lane; word <= last / 32; word += 32) {
        std::uint32_t bits = members[word];
        bits &= word == first / 32 ? all_lanes << (first % 32) : all_lanes;
        bits &= word == last / 32 ? all_lanes >> (31 - last % 32) : all_lanes;
        found = found || bits != 0;
    }
    return __any_sync(all_lanes, found);
}

// A block takes a window of a query.
template <postings::Codec Codec, std::uint32_t Threads, int BlocksAtOnce>
__global__ void __launch_bounds__(Threads, BlocksAtOnce)
    accumulate_kernel(const __grid_constant__ SearchBatch batch) {
    extern __shared__ uint4 dynamic_shared[];
    auto &shared = *reinterpret_cast<WindowShared<Threads> *>(dynamic_shared);
    constexpr std::uint32_t warps = Threads / 32;
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint32_t warp = threadIdx.x / 32;
    // All queries' first windows come first, so that thresholds are known soon.
    const std::uint32_t number = blockIdx.x % batch.query_count;
    const std::uint32_t window = blockIdx.x / batch.query_count;
    const RankedQuery &query = batch.queries[number];
    const TextView &text = batch.text;
    const std::uint32_t first = window * window_documents;
    const std::uint32_t size = min(text.documents - first, window_documents);
    const bool all = query.all != 0;

    for (std::uint32_t i = threadIdx.x; i < window_documents / 4; i += Threads) {
        reinterpret_cast<uint4 *>(shared.scores)[i] = uint4{};
    }
    if (all) {
        for (std::uint32_t i = threadIdx.x; i < window_documents / 32; i += Threads) {
            shared.members[i] = 0;
        }
    }
    if (threadIdx.x == 0) {
        shared.found = 0;
    }
    __syncthreads();

    const auto base = static_cast<float>(batch.norms.base);
    const auto slope = static_cast<float>(batch.norms.slope);
    const std::uint32_t one = all ? 1U << all_score_bits : 0;
    std::uint32_t work = 0;
    for (std::uint32_t t = 0; t < query.accumulated; ++t) {
        const RankedTerm &term = batch.terms[query.first_term + t];
        const ListView list = term.list;
        const float weight = term.scaled;
        const std::uint32_t *starts =
            batch.starts + std::uint64_t(query.first_term + t) * (batch.windows + 1) + window;
        const std::uint32_t begin = starts[0];
        const std::uint32_t end = min(starts[1], list.blocks - 1);
        const bool filters = all && t > 0;
        // Each list's first block goes to the warp behind the one that has the last of the list before.
        for (std::uint32_t i = begin + (warp + warps - work) % warps; i <= end; i += warps) {
            if (filters && list.blocks > 1) {
                const std::uint32_t low = i > begin ? last_of_block(text, list, i - 1) + 1 : first;
                const std::uint32_t high = last_of_block(text, list, i);
                if (low > high || low < first || low >= first + size ||
                    !any_member(shared.members, low - first, min(high - first, size - 1), lane)) {
                    continue;
                }
            }
            Block block;
            if (!decode_block<Codec>(text, list, i, lane, shared.scratch[warp], &block)) {
                if (lane == 0) {
                    *batch.damaged = 1;
                }
                continue;
            }
            std::uint32_t frequencies[a_lane];
            decode_frequencies(list, block, lane, frequencies);
#pragma unroll
            for (std::uint32_t j = 0; j < a_lane; ++j) {
                const std::uint32_t slot = block.ordinals[j] - first;
                if (lane * a_lane + j >= block.count || slot >= size ||
                    (filters && (shared.members[slot / 32] >> (slot % 32) & 1) == 0)) {
                    continue;
                }
                const auto tf = static_cast<float>(frequencies[j]);
                const float norm = base + slope * static_cast<float>(text.lengths[block.ordinals[j]]);
                const auto part = static_cast<std::uint32_t>(__fdividef(weight * tf, tf + norm));
                atomicAdd(&shared.scores[slot], max(part, 1U) + one);
                if (all && t == 0) {
                    atomicOr(&shared.members[slot / 32], 1U << (slot % 32));
                    shared.found = 1;
                }
            }
        }
        work = (work + (begin <= end ? end - begin + 1 : 0)) % warps;
        if (all && t == 0) {
            __syncthreads();
            if (shared.found == 0) {
                return;
            }
        }
    }
    if (threadIdx.x == 0) {
        shared.threshold = *reinterpret_cast<volatile std::uint32_t *>(&batch.thresholds[number]);
    }
    __syncthreads();

    // A slot's score, 0 where it can't be a hit.
    const std::uint32_t mask = (1U << query.score_bits) - 1;
    const std::uint32_t required = query.accumulated * one;
    const std::uint32_t highest = query.highest;
    const auto score_at = [&](std::uint32_t value) {
        const std::uint32_t score = value & mask;
        return (value & ~mask) == required && score <= highest ? score : 0;
    };
    const auto lives = [&](std::uint32_t slot) {
        return text.dead.words == nullptr ||
               (text.dead.words[(first + slot) / 64] >> ((first + slot) % 64) & 1) == 0;
    };
    const auto for_each = [&](std::uint32_t floor, auto visit) {
        for (std::uint32_t i = threadIdx.x; i < window_documents / 4; i += Threads) {
            const uint4 four = reinterpret_cast<const uint4 *>(shared.scores)[i];
            const std::uint32_t scores[4] = {score_at(four.x), score_at(four.y), score_at(four.z),
                                             score_at(four.w)};
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                if (scores[j] >= floor && lives(i * 4 + j)) {
                    visit(i * 4 + j, scores[j]);
                }
            }
        }
    };
    const auto floor_of = [&](std::uint32_t threshold) {
        return threshold > query.margin ? threshold - query.margin : 1;
    };
    std::uint32_t threshold = shared.threshold;
    const std::uint32_t better =
        ThresholdSelect<Threads>::run(shared.select, query.score_bits, query.k, threshold, [&](auto visit) {
            for_each(max(threshold, 1U), [&](std::uint32_t, std::uint32_t score) {
                if (score <= query.sure) {
                    visit(score);
                }
            });
        });
    if (better > threshold) {
        threshold = better;
        if (threadIdx.x == 0) {
            atomicMax(&batch.thresholds[number], better);
        }
    }
    for_each(floor_of(threshold), [&](std::uint32_t slot, std::uint32_t score) {
        const std::uint32_t place = atomicAdd(&batch.counts[number], 1);
        if (place < query.capacity) {
            batch.candidates[query.first_candidate + place] = {first + slot, score};
        }
    });
}

template <postings::Codec Codec>
void launch_accumulate(const Call &call, const SearchBatch &batch) {
    constexpr std::uint32_t threads = 512;
    constexpr int blocks_at_once = 2;
    const auto kernel = accumulate_kernel<Codec, threads, blocks_at_once>;
    constexpr std::size_t bytes = sizeof(WindowShared<threads>);
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "cudaFuncSetAttribute");
    kernel<<<batch.windows * batch.query_count, threads, bytes, call.stream()>>>(batch);
    check_launch("accumulate_kernel");
}

}  // namespace

void find_windows(const Call &call, const SearchBatch &batch) {
    constexpr unsigned threads = 256;
    const std::uint64_t places = std::uint64_t(batch.term_count) * (batch.windows + 1);
    find_windows_kernel<<<static_cast<unsigned>((places + threads - 1) / threads), threads, 0,
                          call.stream()>>>(batch);
    check_launch("find_windows_kernel");
}

void accumulate(const Call &call, const SearchBatch &batch) {
    with_codec(batch.text.codec, [&](auto codec) { launch_accumulate<codec>(call, batch); });
}

}  // namespace gpu_engine::device
