// Disjunctions ranked posting by posting, in the windows that aren't summed up. A document is found in the
// first of its lists, which come shortest first; what the later ones can add to it is known by window. Only
// where that reaches the floor are they looked into for the document, block by block. So a long list, which
// can't lift a document to the best by itself, is read in a few places.
#include "device/launch_bounds.cuh"
#include "device/text/approximate.cuh"
#include "device/text/search.h"
#include "device/text/select.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {
namespace {

constexpr std::uint32_t a_chunk = probed_blocks_a_chunk;
constexpr std::uint32_t probe_warps = 4;
constexpr std::uint32_t probe_threads = probe_warps * 32;
constexpr int probe_blocks_at_once = 8;

// Thresholds are raised between rounds, each of which takes `width` of sixteen chunks from number `first` on.
// Most chunks are left to the last one, when the thresholds are high. More rounds than two would look into
// fewer blocks, but at the end of each all warps wait for the one with the most to look up.
struct Round {
    std::uint32_t first;
    std::uint32_t width;
};
constexpr std::uint32_t rounds_of = 16;
constexpr Round rounds[] = {{0, 4}, {4, 12}};

// This stands in place of what later lists add at most, where a window's documents have been ranked.
constexpr std::uint32_t window_is_done = UINT32_MAX;

// A block that reaches over more windows is gone through whatever the bounds in these are.
constexpr std::uint32_t max_windows_a_block = 16;

__global__ void sum_rests_kernel(SearchBatch batch) {
    const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::uint32_t places = batch.windows + 1;
    if (i >= std::uint64_t(batch.query_count) * places) {
        return;
    }
    const RankedQuery &query = batch.queries[i / places];
    const auto window = static_cast<std::uint32_t>(i % places);
    const bool is_done = window % batch.window_stride == 0;
    std::uint32_t rest = 0;
    for (std::uint32_t t = query.terms; t-- > 0;) {
        const std::uint64_t place = std::uint64_t(query.first_term + t) * places + window;
        batch.rests[place] = is_done ? window_is_done : rest;
        rest += batch.mosts[place];
    }
}

// A block takes a term.
__global__ void name_chunks_kernel(SearchBatch batch) {
    const RankedTerm &term = batch.terms[blockIdx.x];
    const std::uint32_t chunks = chunks_of(term.list);
    for (std::uint32_t i = threadIdx.x; i < chunks; i += blockDim.x) {
        batch.chunk_terms[term.first_chunk + i] = blockIdx.x;
    }
}

// Raises thresholds to the k-th of the candidates so far. A block takes a query.
constexpr std::uint32_t raise_threads = 256;

__global__ void __launch_bounds__(raise_threads) raise_thresholds_kernel(SearchBatch batch) {
    __shared__ typename ThresholdSelect<raise_threads>::Storage storage;
    const RankedQuery &query = batch.queries[blockIdx.x];
    const std::uint32_t count = min(batch.counts[blockIdx.x], query.capacity);
    const std::uint32_t least = batch.thresholds[blockIdx.x];
    const Candidate *candidates = batch.candidates + query.first_candidate;
    const std::uint32_t found =
        ThresholdSelect<raise_threads>::run(storage, query.score_bits, query.k, least, [&](auto visit) {
            for (std::uint32_t i = threadIdx.x; i < count; i += raise_threads) {
                const std::uint32_t score = candidates[i].score;
                if (score <= query.sure && score >= least) {
                    visit(score);
                }
            }
        });
    if (threadIdx.x == 0 && found > least) {
        batch.thresholds[blockIdx.x] = found;
    }
}

__device__ __forceinline__ std::uint32_t min_of_warp(std::uint32_t value) {
    return ~max_of_warp(~value);
}

// A lane's postings of the block that a warp goes through.
struct Members {
    std::uint32_t ordinals[a_lane];
    std::uint32_t scores[a_lane];
    bool are[a_lane];  // can still be hits
};

// A chunk of a list's blocks. A warp selects those that can have hits, each lane one; each of them is then
// gone through by a warp, wherever it has been selected.
template <postings::Codec Codec>
class Probe {
  public:
    __device__ Probe(const SearchBatch &batch, std::uint32_t chunk, std::uint32_t *scratch)
        : batch_(batch),
          scratch_(scratch),
          lane_(threadIdx.x % 32),
          number_(batch.chunk_terms[chunk]),
          term_(batch.terms[number_]),
          query_(batch.queries[term_.query]),
          first_block_((chunk - term_.first_chunk) * a_chunk),
          floor_(floor_of(query_, batch.thresholds[term_.query])) {}

    // Puts those of the chunk's blocks that can have hits among the round's work, which has a place for every
    // block there is.
    __device__ void select(std::uint32_t chunk) const {
        const std::uint32_t block = first_block_ + lane_;
        const bool is_wanted = block < term_.list.blocks && can_have_hits(head_of(block));
        const std::uint32_t wanted = __ballot_sync(all_lanes, is_wanted);
        std::uint32_t place = 0;
        if (lane_ == 0 && wanted != 0) {
            place = atomicAdd(batch_.work_counts, __popc(wanted));
        }
        place = __shfl_sync(all_lanes, place, 0);
        if (is_wanted) {
            batch_.work[place + __popc(wanted & ((1U << lane_) - 1))] = chunk * a_chunk + lane_;
        }
    }

    __device__ void probe(std::uint32_t block) const { probe_block(head_of(first_block_ + block)); }

  private:
    __device__ Head head_of(std::uint32_t block) const {
        return term_.list.documents > 1 ? read_own_head(batch_.text, term_.list, block)
                                        : Head{term_.list.ordinal, term_.list.ordinal, 0, 0, 0};
    }

    __device__ __forceinline__ std::uint64_t place_of(std::uint32_t term, std::uint32_t ordinal) const {
        return std::uint64_t(term) * (batch_.windows + 1) + (ordinal >> batch_.window_shift);
    }

    // Decides by the bound of the lane's block, and by those of the later lists where the block reaches.
    __device__ bool can_have_hits(const Head &head) const {
        if (head.first > head.last || head.last >= batch_.text.documents) {
            // It is damaged, which is reported when it is gone through.
            return true;
        }
        const std::uint64_t place = place_of(number_, head.first);
        const std::uint64_t end = place_of(number_, head.last) + 1;
        if (end - place > max_windows_a_block) {
            return true;
        }
        const std::uint32_t block = first_block_ + lane_;
        const std::uint32_t most = max_in_blocks(batch_, term_, block, block);
        for (std::uint64_t i = place; i < end; ++i) {
            const std::uint32_t rest = batch_.rests[i];
            if (rest != window_is_done && most + rest >= floor_) {
                return true;
            }
        }
        return false;
    }

    __device__ __forceinline__ std::uint32_t length_of(std::uint32_t ordinal) const {
        const std::uint32_t length = batch_.text.short_lengths[ordinal];
        return length == highest_short_length ? batch_.text.lengths[ordinal] : length;
    }

    __device__ void report_damage() const {
        if (lane_ == 0) {
            *batch_.damaged = 1;
        }
    }

    __device__ void probe_block(const Head &head) const {
        // Windows, lengths and marks of the dead are looked up by the ordinals between these.
        if (head.first > head.last || head.last >= batch_.text.documents) {
            report_damage();
            return;
        }
        Block block;
        if (term_.list.documents == 1) {
            block.count = 1;
            block.ordinals[0] = term_.list.ordinal;
        } else if (!decode_block<Codec>(batch_.text, term_.list, head, lane_, scratch_, &block)) {
            report_damage();
            return;
        }
        std::uint32_t frequencies[a_lane];
        decode_frequencies(term_.list, block, lane_, frequencies);
        Members members;
        bool is_any = false;
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            members.are[j] = false;
            members.scores[j] = 0;
            members.ordinals[j] = block.ordinals[j];
            if (lane_ * a_lane + j < block.count) {
                const std::uint32_t rest = batch_.rests[place_of(number_, block.ordinals[j])];
                members.scores[j] = approximate_contribution(term_.scaled, batch_.approximate_norms,
                                                             length_of(block.ordinals[j]), frequencies[j]);
                members.are[j] = rest != window_is_done && members.scores[j] + rest >= floor_;
                is_any = is_any || members.are[j];
            }
        }
        const std::uint32_t end = query_.first_term + query_.terms;
        for (std::uint32_t later = number_ + 1; later < end && __any_sync(all_lanes, is_any); ++later) {
            add_list(later, &members);
            is_any = false;
#pragma unroll
            for (std::uint32_t j = 0; j < a_lane; ++j) {
                is_any = is_any || members.are[j];
            }
        }
        is_any = false;
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            members.are[j] = members.are[j] && members.scores[j] >= floor_ &&
                             members.scores[j] <= query_.highest && lives(batch_.text, members.ordinals[j]);
            is_any = is_any || members.are[j];
        }
        // A document that an earlier list has is found there, or has too low a score.
        for (std::uint32_t earlier = query_.first_term; earlier < number_ && __any_sync(all_lanes, is_any);
             ++earlier) {
            drop_list(earlier, &members);
        }
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            if (members.are[j]) {
                add_candidate(batch_, query_, term_.query, {members.ordinals[j], members.scores[j]});
            }
        }
    }

    // Adds what a later list contributes to the members, and drops those that it doesn't leave over the
    // floor.
    __device__ void add_list(std::uint32_t number, Members *members) const {
        const RankedTerm &term = batch_.terms[number];
        std::uint32_t blocks[a_lane];
        std::uint32_t rests[a_lane];
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            blocks[j] = UINT32_MAX;
            rests[j] = 0;
            if (members->are[j]) {
                rests[j] = batch_.rests[place_of(number, members->ordinals[j])];
                blocks[j] = find_block_of(number, term.list, members->ordinals[j]);
                const std::uint32_t most =
                    blocks[j] != UINT32_MAX ? max_in_blocks(batch_, term, blocks[j], blocks[j]) : 0;
                if (members->scores[j] + most + rests[j] < floor_) {
                    members->are[j] = false;
                    blocks[j] = UINT32_MAX;
                }
            }
        }
        look_up(term.list, members->ordinals, blocks, [&](std::uint32_t j, std::uint32_t frequency) {
            members->scores[j] += approximate_contribution(term.scaled, batch_.approximate_norms,
                                                           length_of(members->ordinals[j]), frequency);
        });
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            members->are[j] = members->are[j] && members->scores[j] + rests[j] >= floor_;
        }
    }

    __device__ void drop_list(std::uint32_t number, Members *members) const {
        const ListView &list = batch_.terms[number].list;
        std::uint32_t blocks[a_lane];
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            blocks[j] = members->are[j] ? find_block_of(number, list, members->ordinals[j]) : UINT32_MAX;
        }
        look_up(list, members->ordinals, blocks,
                [&](std::uint32_t j, std::uint32_t) { members->are[j] = false; });
    }

    // Returns the list's first block that reaches the ordinal, UINT32_MAX where the ordinal's window has
    // none. Lanes look for different ordinals at the same time.
    __device__ std::uint32_t find_block_of(std::uint32_t number, const ListView &list,
                                           std::uint32_t ordinal) const {
        const std::uint64_t place = place_of(number, ordinal);
        if (batch_.mosts[place] == 0) {
            return UINT32_MAX;
        }
        if (list.blocks == 1) {
            return 0;
        }
        std::uint32_t low = batch_.starts[place];
        const std::uint32_t end = min(batch_.starts[place + 1], list.blocks - 1) + 1;
        std::uint32_t high = end;
        while (low < high) {
            const std::uint32_t middle = (low + high) / 2;
            if (last_of_block(batch_.text, list, middle) < ordinal) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low < end ? low : UINT32_MAX;
    }

    // Looks for each of a lane's ordinals in the block that is named for it, UINT32_MAX for none, and calls
    // `found(j, frequency)` for those that are there. All lanes call it together.
    template <typename Found>
    __device__ __forceinline__ void look_up(const ListView &list, const std::uint32_t (&ordinals)[a_lane],
                                            std::uint32_t (&blocks)[a_lane], Found found) const {
        if (list.documents == 1) {
#pragma unroll
            for (std::uint32_t j = 0; j < a_lane; ++j) {
                if (blocks[j] == 0 && ordinals[j] == list.ordinal) {
                    found(j, list.frequency);
                }
            }
            return;
        }
        for (;;) {
            const std::uint32_t next = min_of_warp(min(min(blocks[0], blocks[1]), min(blocks[2], blocks[3])));
            if (next == UINT32_MAX) {
                return;
            }
            look_up_in_block(list, next, ordinals, blocks, found);
        }
    }

    template <typename Found>
    __device__ __forceinline__ void look_up_in_block(const ListView &list, std::uint32_t number,
                                                     const std::uint32_t (&ordinals)[a_lane],
                                                     std::uint32_t (&blocks)[a_lane], Found found) const {
        Block block;
        const bool is_valid = decode_block<Codec>(
            batch_.text, list, read_head(batch_.text, list, number, lane_), lane_, scratch_, &block);
        if (!is_valid) {
            report_damage();
            block.count = 0;
        }
        __syncwarp();
        *reinterpret_cast<uint4 *>(scratch_ + lane_ * a_lane) =
            uint4{block.ordinals[0], block.ordinals[1], block.ordinals[2], block.ordinals[3]};
        __syncwarp();
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            if (blocks[j] != number) {
                continue;
            }
            blocks[j] = UINT32_MAX;
            std::uint32_t low = 0;
            std::uint32_t high = block.count;
            while (low < high) {
                const std::uint32_t middle = (low + high) / 2;
                if (scratch_[middle] < ordinals[j]) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if (low < block.count && scratch_[low] == ordinals[j]) {
                found(j, (block.source.bits(block.frequency_at * 8 + low * block.frequency_bits) &
                          low_mask(block.frequency_bits)) +
                             1);
            }
        }
        __syncwarp();
    }

    const SearchBatch &batch_;
    std::uint32_t *const scratch_;  // null where blocks are only selected
    const std::uint32_t lane_;
    const std::uint32_t number_;
    const RankedTerm &term_;
    const RankedQuery &query_;
    const std::uint32_t first_block_;
    const std::uint32_t floor_;
};

// A warp takes one of the round's chunks.
template <postings::Codec Codec>
__global__ void __launch_bounds__(probe_threads)
    select_kernel(const __grid_constant__ SearchBatch batch, std::uint32_t first, std::uint32_t width) {
    const std::uint32_t number = blockIdx.x * probe_warps + threadIdx.x / 32;
    const std::uint64_t chunk = std::uint64_t(number / width) * rounds_of + first + number % width;
    if (chunk < batch.chunk_count) {
        Probe<Codec>(batch, static_cast<std::uint32_t>(chunk), nullptr)
            .select(static_cast<std::uint32_t>(chunk));
    }
}

// Warps take one block of the round's work after the other.
template <postings::Codec Codec>
__global__ void __launch_bounds__(probe_threads, resident_blocks(probe_blocks_at_once, probe_threads))
    probe_kernel(const __grid_constant__ SearchBatch batch) {
    __shared__ alignas(16) WarpScratch scratch[probe_warps];
    const std::uint32_t count = batch.work_counts[0];
    for (;;) {
        std::uint32_t item = 0;
        if (threadIdx.x % 32 == 0) {
            item = atomicAdd(&batch.work_counts[1], 1);
        }
        item = __shfl_sync(all_lanes, item, 0);
        if (item >= count) {
            return;
        }
        const std::uint32_t block = batch.work[item];
        Probe<Codec>(batch, block / a_chunk, scratch[threadIdx.x / 32]).probe(block % a_chunk);
    }
}

void begin_probing(const Call &call, const SearchBatch &batch) {
    constexpr unsigned places_a_block = 256;
    const std::uint64_t places = std::uint64_t(batch.query_count) * (batch.windows + 1);
    sum_rests_kernel<<<blocks_for(places, places_a_block), places_a_block, 0, call.stream()>>>(batch);
    check_launch("sum_rests_kernel");
    name_chunks_kernel<<<batch.term_count, 128, 0, call.stream()>>>(batch);
    check_launch("name_chunks_kernel");
}

void raise_thresholds(const Call &call, const SearchBatch &batch) {
    raise_thresholds_kernel<<<batch.query_count, raise_threads, 0, call.stream()>>>(batch);
    check_launch("raise_thresholds_kernel");
}

}  // namespace

void probe(const Call &call, const SearchBatch &batch) {
    begin_probing(call, batch);
    for (const Round &round : rounds) {
        raise_thresholds(call, batch);
        call.fill(batch.work_counts, 0, 2 * sizeof(std::uint32_t));
        const std::uint64_t groups = (batch.chunk_count + rounds_of - 1) / rounds_of;
        const auto blocks =
            static_cast<std::uint32_t>((groups * round.width + probe_warps - 1) / probe_warps);
        const auto resident =
            static_cast<std::uint32_t>(call.engine().multiprocessors() * probe_blocks_at_once);
        with_codec(batch.text.codec, [&](auto codec) {
            const auto select = select_kernel<codec>;
            select<<<blocks, probe_threads, 0, call.stream()>>>(batch, round.first, round.width);
            check_launch("select_kernel");
            const auto kernel = probe_kernel<codec>;
            kernel<<<resident, probe_threads, 0, call.stream()>>>(batch);
        });
        check_launch("probe_kernel");
    }
}

}  // namespace gpu_engine::device
