// Where lists' blocks lie in windows of documents, and the scores of a window's documents.
#include <algorithm>

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
    // A list of one block is looked into in all windows.
    std::uint32_t block = 0;
    if (window == batch.windows) {
        block = list.blocks - 1;
    } else if (list.blocks > 1) {
        block = find_block(batch.text, list, window * window_documents, 0, list.blocks);
    }
    batch.starts[i] = block;
}

// The most that a posting of the list's blocks from `begin` to `end` contributes, in units of accumulated
// scores.
__device__ std::uint32_t most_in_blocks(const SearchBatch &batch, const RankedTerm &term, std::uint32_t begin,
                                        std::uint32_t end) {
    // By more than float arithmetic is wrong, and by what postings::bound_contribution adds.
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

__global__ void bound_windows_kernel(SearchBatch batch) {
    const std::uint64_t i = std::uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const std::uint32_t places = batch.windows + 1;
    if (i >= std::uint64_t(batch.term_count) * places) {
        return;
    }
    const auto window = static_cast<std::uint32_t>(i % places);
    const RankedTerm &term = batch.terms[i / places];
    std::uint32_t most = 0;
    if (window < batch.windows) {
        const std::uint32_t begin = batch.starts[i];
        const std::uint32_t end = min(batch.starts[i + 1], term.list.blocks - 1);
        const bool is_here =
            term.list.documents > 1 ? begin <= end : term.list.ordinal / window_documents == window;
        most = is_here ? most_in_blocks(batch, term, begin, end) : 0;
    }
    batch.mosts[i] = most;
}

constexpr std::uint32_t threads = 512;
constexpr std::uint32_t warps = threads / 32;
constexpr int blocks_at_once = 2;
// Terms whose lists and places are in shared memory at the same time.
constexpr std::uint32_t terms_at_once = 32;
static_assert(window_documents % (threads * 8) == 0 && window_documents / 32 == threads);

// A list in a window.
struct PlacedTerm {
    ListView list;
    float scaled;
    std::uint32_t begin;
    std::uint32_t end;  // the last block
    std::uint32_t most;
};

struct WindowShared {
    alignas(16) std::uint32_t scores[window_documents];
    alignas(16) std::uint16_t lengths[window_documents];
    // Documents that later lists are looked into for.
    std::uint32_t members[window_documents / 32];
    union {
        alignas(16) WarpScratch scratch[warps];
        typename ThresholdSelect<threads>::Storage select;
        Candidate found[threads];
    };
    PlacedTerm terms[terms_at_once];
    std::uint32_t threshold;
    std::uint32_t most;  // of all terms together
    std::uint32_t found_count;
    std::uint32_t better;
};

// A window of documents, in which a block of threads goes through queries.
class Window {
  public:
    __device__ Window(const SearchBatch &batch, WindowShared &shared, std::uint32_t number)
        : batch_(batch),
          shared_(shared),
          number_(number),
          first_(number * window_documents),
          size_(min(batch.text.documents - first_, window_documents)) {
        clear();
    }

    template <postings::Codec Codec>
    __device__ void rank(std::uint32_t number) {
        const RankedQuery &query = batch_.queries[number];
        __syncthreads();
        open(query, number);
        place_terms(query, 0);
        __syncthreads();
        const std::uint32_t threshold = shared_.threshold;
        const std::uint32_t floor = floor_of(query, threshold);
        if (shared_.most < floor) {
            return;
        }
        load_lengths();
        if (add_lists<Codec>(query, floor)) {
            choose(query, number, threshold, floor);
        }
        __syncthreads();
        clear();
    }

  private:
    static __device__ std::uint32_t floor_of(const RankedQuery &query, std::uint32_t threshold) {
        return threshold > query.margin ? threshold - query.margin : 1;
    }

    __device__ void clear() {
        for (std::uint32_t i = threadIdx.x; i < window_documents / 4; i += threads) {
            reinterpret_cast<uint4 *>(shared_.scores)[i] = uint4{};
        }
    }

    __device__ std::uint64_t place_of(const RankedQuery &query, std::uint32_t term) const {
        return std::uint64_t(query.first_term + term) * (batch_.windows + 1) + number_;
    }

    // By the first warp.
    __device__ void open(const RankedQuery &query, std::uint32_t number) {
        if (threadIdx.x >= 32) {
            return;
        }
        std::uint32_t most = 0;
        for (std::uint32_t t = threadIdx.x; t < query.accumulated; t += 32) {
            most += batch_.mosts[place_of(query, t)];
        }
        most = __reduce_add_sync(all_lanes, most);
        if (threadIdx.x == 0) {
            shared_.most = most;
            shared_.threshold = *const_cast<volatile std::uint32_t *>(&batch_.thresholds[number]);
            shared_.found_count = 0;
            shared_.better = 0;
        }
    }

    // By the second one.
    __device__ void place_terms(const RankedQuery &query, std::uint32_t first) {
        const std::uint32_t t = first + threadIdx.x - 32;
        if (threadIdx.x < 32 || threadIdx.x >= 32 + terms_at_once || t >= query.accumulated) {
            return;
        }
        const RankedTerm &term = batch_.terms[query.first_term + t];
        const std::uint64_t place = place_of(query, t);
        shared_.terms[threadIdx.x - 32] = {term.list, term.scaled, batch_.starts[place],
                                           min(batch_.starts[place + 1], term.list.blocks - 1),
                                           batch_.mosts[place]};
    }

    // Once, by all threads; a barrier follows before they are read.
    __device__ void load_lengths() {
        if (has_lengths_) {
            return;
        }
        has_lengths_ = true;
        const auto *from = reinterpret_cast<const uint4 *>(batch_.text.short_lengths + first_);
        for (std::uint32_t i = threadIdx.x; i < (size_ + 7) / 8; i += threads) {
            reinterpret_cast<uint4 *>(shared_.lengths)[i] = from[i];
        }
        __syncthreads();
    }

    // Adds up the lists' contributions. False when no document of the window can be a hit.
    template <postings::Codec Codec>
    __device__ bool add_lists(const RankedQuery &query, std::uint32_t floor) {
        const bool all = query.all != 0;
        bool filters = false;
        std::uint32_t remaining = shared_.most;
        std::uint32_t work = 0;
        for (std::uint32_t t = 0; t < query.accumulated; ++t) {
            if (t > 0 && t % terms_at_once == 0) {
                __syncthreads();
                place_terms(query, t);
                __syncthreads();
            }
            const PlacedTerm &term = shared_.terms[t % terms_at_once];
            if (!filters && t > 0 && (all || remaining < floor)) {
                if (!find_members(query, remaining, floor)) {
                    return false;
                }
                filters = true;
            }
            work = add_list<Codec>(term, all ? 1U << all_score_bits : 0, filters, work);
            remaining -= term.most;
        }
        __syncthreads();
        return true;
    }

    // Documents that the lists so far have, and that can still reach the floor. False when there are none.
    __device__ bool find_members(const RankedQuery &query, std::uint32_t remaining, std::uint32_t floor) {
        const std::uint32_t mask = (1U << query.score_bits) - 1;
        shared_.members[threadIdx.x] = 0;
        __syncthreads();
        bool found = false;
        for (std::uint32_t i = threadIdx.x; i < window_documents / 4; i += threads) {
            const uint4 four = reinterpret_cast<const uint4 *>(shared_.scores)[i];
            if ((four.x | four.y | four.z | four.w) == 0) {
                continue;
            }
            const auto reaches = [&](std::uint32_t value) {
                return value != 0 && (value & mask) + remaining >= floor ? 1U : 0U;
            };
            const std::uint32_t bits =
                reaches(four.x) | reaches(four.y) << 1 | reaches(four.z) << 2 | reaches(four.w) << 3;
            if (bits != 0) {
                atomicOr(&shared_.members[i / 8], bits << (i % 8 * 4));
                found = true;
            }
        }
        return __syncthreads_or(found ? 1 : 0) != 0;
    }

    // Can the block have a member? Those that reach far aren't worth the look.
    __device__ bool may_have_member(const PlacedTerm &term, std::uint32_t block) const {
        constexpr std::uint32_t most_words = 64;
        const ListView &list = term.list;
        if (list.blocks == 1) {
            return true;
        }
        const std::uint32_t low =
            block > term.begin ? last_of_block(batch_.text, list, block - 1) + 1 : first_;
        const std::uint32_t high = last_of_block(batch_.text, list, block);
        if (low < first_ || low > high || low - first_ >= size_) {
            return low < first_;
        }
        const std::uint32_t from = low - first_;
        const std::uint32_t to = min(high - first_, size_ - 1);
        if (to / 32 - from / 32 > most_words) {
            return true;
        }
        std::uint32_t bits = 0;
        for (std::uint32_t word = from / 32; word <= to / 32; ++word) {
            std::uint32_t here = shared_.members[word];
            here &= word == from / 32 ? all_lanes << (from % 32) : all_lanes;
            here &= word == to / 32 ? all_lanes >> (31 - to % 32) : all_lanes;
            bits |= here;
        }
        return bits != 0;
    }

    // Warps take the list's blocks in turn, the first of them behind the one that has number `work`; returns
    // the next number.
    template <postings::Codec Codec>
    __device__ std::uint32_t add_list(const PlacedTerm &term, std::uint32_t one, bool filters,
                                      std::uint32_t work) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t warp = threadIdx.x / 32;
        for (std::uint32_t first = term.begin; first <= term.end; first += 32) {
            const std::uint32_t block = first + lane;
            const bool wanted = block <= term.end && (!filters || may_have_member(term, block));
            const std::uint32_t wanted_by_all = __ballot_sync(all_lanes, wanted);
            const std::uint32_t rank = __popc(wanted_by_all & ((1U << lane) - 1));
            std::uint32_t mine = __ballot_sync(all_lanes, wanted && (rank + work) % warps == warp);
            for (; mine != 0; mine &= mine - 1) {
                add_block<Codec>(term, first + __ffs(static_cast<int>(mine)) - 1, one, filters);
            }
            work += __popc(wanted_by_all);
        }
        return work;
    }

    template <postings::Codec Codec>
    __device__ __forceinline__ void add_block(const PlacedTerm &term, std::uint32_t number, std::uint32_t one,
                                              bool filters) {
        const std::uint32_t lane = threadIdx.x % 32;
        Block block;
        if (!decode_block<Codec>(batch_.text, term.list, number, lane, shared_.scratch[threadIdx.x / 32],
                                 &block)) {
            if (lane == 0) {
                *batch_.damaged = 1;
            }
            return;
        }
        std::uint32_t frequencies[a_lane];
        decode_frequencies(term.list, block, lane, frequencies);
        const auto base = static_cast<float>(batch_.norms.base);
        const auto slope = static_cast<float>(batch_.norms.slope);
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            const std::uint32_t slot = block.ordinals[j] - first_;
            if (lane * a_lane + j >= block.count || slot >= size_ ||
                (filters && (shared_.members[slot / 32] >> (slot % 32) & 1) == 0)) {
                continue;
            }
            std::uint32_t length = shared_.lengths[slot];
            if (length == highest_short_length) {
                length = batch_.text.lengths[block.ordinals[j]];
            }
            const auto tf = static_cast<float>(frequencies[j]);
            const float norm = base + slope * static_cast<float>(length);
            const auto part = static_cast<std::uint32_t>(__fdividef(term.scaled * tf, tf + norm));
            atomicAdd(&shared_.scores[slot], max(part, 1U) + one);
        }
    }

    __device__ bool lives(std::uint32_t slot) const {
        const std::uint64_t *dead = batch_.text.dead.words;
        return dead == nullptr || (dead[(first_ + slot) / 64] >> ((first_ + slot) % 64) & 1) == 0;
    }

    // Calls visit(slot, score) for the thread's documents that can be hits and are no lower than the floor.
    template <typename Visit>
    __device__ void for_each(const RankedQuery &query, std::uint32_t floor, Visit visit) const {
        const std::uint32_t required = query.all != 0 ? query.accumulated << all_score_bits : 0;
        const std::uint32_t highest = query.highest;
        for (std::uint32_t i = threadIdx.x; i < window_documents / 4; i += threads) {
            const uint4 four = reinterpret_cast<const uint4 *>(shared_.scores)[i];
            // No value has a higher count than is required.
            if (max(max(four.x, four.y), max(four.z, four.w)) < required + floor) {
                continue;
            }
            const std::uint32_t values[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
            for (std::uint32_t j = 0; j < 4; ++j) {
                if (values[j] >= required + floor && values[j] - required <= highest && lives(i * 4 + j)) {
                    visit(i * 4 + j, values[j] - required);
                }
            }
        }
    }

    __device__ void add_candidate(const RankedQuery &query, std::uint32_t number, std::uint32_t slot,
                                  std::uint32_t score) const {
        const std::uint32_t place = atomicAdd(&batch_.counts[number], 1);
        if (place < query.capacity) {
            batch_.candidates[query.first_candidate + place] = {first_ + slot, score};
        }
    }

    // What can be among the best goes to the candidates; the threshold rises to the window's k-th score.
    __device__ void choose(const RankedQuery &query, std::uint32_t number, std::uint32_t threshold,
                           std::uint32_t floor) {
        for_each(query, floor, [&](std::uint32_t slot, std::uint32_t score) {
            const std::uint32_t place = atomicAdd(&shared_.found_count, 1);
            if (place < threads) {
                shared_.found[place] = {slot, score};
            }
        });
        __syncthreads();
        const std::uint32_t count = shared_.found_count;
        if (count > threads) {
            const std::uint32_t better = ThresholdSelect<threads>::run(
                shared_.select, query.score_bits, query.k, threshold, [&](auto visit) {
                    for_each(query, max(threshold, 1U), [&](std::uint32_t, std::uint32_t score) {
                        if (score <= query.sure) {
                            visit(score);
                        }
                    });
                });
            threshold = raise(number, threshold, better);
            for_each(query, floor_of(query, threshold), [&](std::uint32_t slot, std::uint32_t score) {
                add_candidate(query, number, slot, score);
            });
            return;
        }
        const bool is_one = threadIdx.x < count;
        const Candidate own = is_one ? shared_.found[threadIdx.x] : Candidate{};
        if (count >= query.k) {
            std::uint32_t above = 0;
            std::uint32_t same = 0;
            for (std::uint32_t i = 0; i < count; ++i) {
                const std::uint32_t score = shared_.found[i].score;
                above += score > own.score && score <= query.sure ? 1 : 0;
                same += score == own.score ? 1 : 0;
            }
            if (is_one && own.score <= query.sure && above < query.k && above + same >= query.k) {
                shared_.better = own.score;
            }
            __syncthreads();
            threshold = raise(number, threshold, shared_.better);
        }
        if (is_one && own.score >= floor_of(query, threshold)) {
            add_candidate(query, number, own.ordinal, own.score);
        }
    }

    __device__ std::uint32_t raise(std::uint32_t number, std::uint32_t threshold,
                                   std::uint32_t better) const {
        if (better > threshold && threadIdx.x == 0) {
            atomicMax(&batch_.thresholds[number], better);
        }
        return max(threshold, better);
    }

    const SearchBatch &batch_;
    WindowShared &shared_;
    const std::uint32_t number_;
    const std::uint32_t first_;
    const std::uint32_t size_;
    bool has_lengths_ = false;
};

// A block takes a window and each `groups`-th query.
template <postings::Codec Codec>
__global__ void __launch_bounds__(threads, blocks_at_once)
    accumulate_kernel(const __grid_constant__ SearchBatch batch, std::uint32_t groups) {
    extern __shared__ uint4 dynamic_shared[];
    const std::uint32_t group = blockIdx.x % groups;
    const std::uint32_t number = blockIdx.x / groups;
    Window window(batch, *reinterpret_cast<WindowShared *>(dynamic_shared), number);
    const std::uint32_t count = (batch.query_count - group + groups - 1) / groups;
    // Windows begin with different queries, so that each finds thresholds of those before it.
    constexpr std::uint32_t golden = 0x9e3779b9;
    std::uint32_t at = __umulhi(number * golden, count);
    for (std::uint32_t i = 0; i < count; ++i) {
        window.rank<Codec>(group + at * groups);
        at = at + 1 < count ? at + 1 : 0;
    }
}

template <postings::Codec Codec>
void launch_accumulate(const Call &call, const SearchBatch &batch) {
    constexpr std::uint32_t blocks_a_place = 4;
    const auto kernel = accumulate_kernel<Codec>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(WindowShared)),
          "cudaFuncSetAttribute");
    const std::uint32_t wanted =
        static_cast<std::uint32_t>(call.engine().multiprocessors()) * blocks_at_once * blocks_a_place;
    const std::uint32_t groups =
        std::clamp((wanted + batch.windows - 1) / batch.windows, 1U, batch.query_count);
    kernel<<<batch.windows * groups, threads, sizeof(WindowShared), call.stream()>>>(batch, groups);
    check_launch("accumulate_kernel");
}

}  // namespace

void find_windows(const Call &call, const SearchBatch &batch) {
    constexpr unsigned places_a_block = 256;
    const std::uint64_t places = std::uint64_t(batch.term_count) * (batch.windows + 1);
    const auto blocks = static_cast<unsigned>((places + places_a_block - 1) / places_a_block);
    find_windows_kernel<<<blocks, places_a_block, 0, call.stream()>>>(batch);
    check_launch("find_windows_kernel");
    bound_windows_kernel<<<blocks, places_a_block, 0, call.stream()>>>(batch);
    check_launch("bound_windows_kernel");
}

void accumulate(const Call &call, const SearchBatch &batch) {
    with_codec(batch.text.codec, [&](auto codec) { launch_accumulate<codec>(call, batch); });
}

}  // namespace gpu_engine::device
