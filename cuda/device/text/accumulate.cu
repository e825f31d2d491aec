// Finds lists' blocks in windows of documents, and adds up the scores of a window's documents.
#include <algorithm>

#include "device/text/approximate.cuh"
#include "device/text/search.h"
#include "device/text/select.cuh"
#include "device/warp.cuh"

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
    // A list of one block has no heads to look at, so it is looked into in all windows.
    std::uint32_t block = 0;
    if (window == batch.windows) {
        block = list.blocks - 1;
    } else if (list.blocks > 1) {
        block = find_block(batch.text, list, window * batch.window_documents, 0, list.blocks);
    }
    batch.starts[i] = block;
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
            term.list.documents > 1 ? begin <= end : term.list.ordinal / batch.window_documents == window;
        most = is_here ? max_in_blocks(batch, term, begin, end) : 0;
    }
    batch.mosts[i] = most;
}

// Windows as wide as the shared memory of a block on compute capability 8.0, 9.0 and 10.0 allows, two of them
// in the multiprocessors of the latter; and narrow ones, for devices that give a block 64 or 99 KiB.
struct WideWindows {
    static constexpr std::uint32_t documents = 16384;
    static constexpr int blocks_at_once = 2;
};
struct NarrowWindows {
    static constexpr std::uint32_t documents = 8192;
    static constexpr int blocks_at_once = 1;
};

// Terms whose lists and places are in shared memory at the same time.
constexpr std::uint32_t terms_at_once = 32;

// A list as far as it lies in a window.
struct PlacedTerm {
    ListView list;
    float scaled;
    std::uint32_t begin;
    std::uint32_t most;
    std::uint32_t items_end;  // blocks of the terms up to this one
};

template <typename Windows>
struct WindowShared {
    // A thread has one word of `members` and one of `reached`.
    static constexpr std::uint32_t threads = Windows::documents / 32;
    static constexpr std::uint32_t warps = threads / 32;

    alignas(16) std::uint32_t scores[Windows::documents];
    alignas(16) std::uint16_t lengths[Windows::documents];
    // Documents that later lists are looked into for.
    std::uint32_t members[threads];
    // Documents whose score has reached the floor.
    std::uint32_t reached[threads];
    union {
        alignas(16) WarpScratch scratch[warps];
        typename ThresholdSelect<threads>::Storage select;
        Candidate found[threads];
    };
    PlacedTerm terms[terms_at_once];
    float2 norms;  // base, slope
    std::uint32_t threshold;
    std::uint32_t most;        // the most that all terms together contribute
    std::uint32_t has_member;  // one of `members` at least is set
    std::uint32_t found_count;
    std::uint32_t better;
};

// The effect of a list that is added on a document's score, whose upper bits may count lists.
struct Phase {
    std::uint32_t one;     // added beside each contribution
    std::uint32_t hit;     // from here on the document can be a hit
    std::uint32_t member;  // from here on later lists are looked into for it
    bool filters;          // only members get contributions
};

// A window of documents, in which a block of threads goes through queries.
template <typename Windows>
class Window {
  public:
    using Shared = WindowShared<Windows>;

    __device__ Window(const SearchBatch &batch, Shared &shared, std::uint32_t number)
        : batch_(batch),
          shared_(shared),
          number_(number),
          first_(number * Windows::documents),
          size_(min(batch.text.documents - first_, Windows::documents)) {
        clear(threadIdx.x, threads);
        if (threadIdx.x == 0) {
            shared.norms = batch.approximate_norms;
        }
    }

    // The first two warps fetch what the window needs of a query; the others clear what the query before
    // left. The caller puts barriers before and behind.
    __device__ void prepare(std::uint32_t number, bool is_one) {
        if (threadIdx.x >= 64) {
            if (is_dirty_) {
                clear(threadIdx.x - 64, threads - 64);
            }
        } else if (is_one) {
            const RankedQuery &query = batch_.queries[number];
            if (threadIdx.x < 32) {
                open(query, number);
            } else {
                place_terms(query, 0);
            }
        }
        is_dirty_ = false;
    }

    template <postings::Codec Codec>
    __device__ void rank(std::uint32_t number) {
        const std::uint32_t threshold = shared_.threshold;
        const RankedQuery &query = batch_.queries[number];
        const std::uint32_t floor = floor_of(query, threshold);
        if (shared_.most < floor) {
            return;
        }
        is_dirty_ = true;
        load_lengths();
        if (add_lists<Codec>(query, floor)) {
            choose(query, number, threshold, floor);
        }
    }

  private:
    static constexpr std::uint32_t threads = Shared::threads;
    static constexpr std::uint32_t warps = Shared::warps;

    __device__ void clear(std::uint32_t thread, std::uint32_t step) {
        for (std::uint32_t i = thread; i < Windows::documents / 4; i += step) {
            reinterpret_cast<uint4 *>(shared_.scores)[i] = uint4{};
        }
        for (std::uint32_t i = thread; i < threads; i += step) {
            shared_.members[i] = 0;
            shared_.reached[i] = 0;
        }
    }

    __device__ std::uint64_t place_of(const RankedQuery &query, std::uint32_t term) const {
        return std::uint64_t(query.first_term + term) * (batch_.windows + 1) + number_;
    }

    // The first warp calls it.
    __device__ void open(const RankedQuery &query, std::uint32_t number) {
        const std::uint32_t threshold = *const_cast<volatile std::uint32_t *>(&batch_.thresholds[number]);
        std::uint32_t most = 0;
        for (std::uint32_t t = threadIdx.x; t < query.accumulated; t += 32) {
            most += batch_.mosts[place_of(query, t)];
        }
        most = sum_of_warp(most);
        if (threadIdx.x == 0) {
            shared_.most = most;
            shared_.threshold = threshold;
            shared_.has_member = 0;
            shared_.found_count = 0;
            shared_.better = 0;
        }
    }

    // The second warp calls it.
    __device__ void place_terms(const RankedQuery &query, std::uint32_t first) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t t = first + lane;
        const bool is_one = t < query.accumulated;
        PlacedTerm placed = {};
        std::uint32_t blocks = 0;
        if (is_one) {
            const RankedTerm &term = batch_.terms[query.first_term + t];
            const std::uint64_t place = place_of(query, t);
            const std::uint32_t begin = batch_.starts[place];
            const std::uint32_t end = min(batch_.starts[place + 1], term.list.blocks - 1);
            placed = {term.list, term.scaled, begin, batch_.mosts[place], 0};
            // A list that has nothing here isn't looked into.
            blocks = begin <= end && placed.most > 0 ? end - begin + 1 : 0;
        }
        placed.items_end = inclusive_sum(blocks, lane);
        if (is_one) {
            shared_.terms[lane] = placed;
        }
    }

    // All threads call it, once; a barrier follows before the lengths are read.
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

    // Adds up the lists' contributions. Returns false when no document of the window can be a hit.
    template <postings::Codec Codec>
    __device__ bool add_lists(const RankedQuery &query, std::uint32_t floor) {
        const bool all = query.all != 0;
        const std::uint32_t one = all ? 1U << all_score_bits : 0;
        Phase phase = {one, required(query) + floor, UINT32_MAX, false};
        std::uint32_t remaining = shared_.most;
        bool has_members = false;
        for (std::uint32_t first = 0; first < query.accumulated; first += terms_at_once) {
            if (first > 0) {
                __syncthreads();
                if (threadIdx.x / 32 == 1) {
                    place_terms(query, first);
                }
                __syncthreads();
            }
            const std::uint32_t size = min(query.accumulated - first, terms_at_once);
            for (std::uint32_t t = 0; t < size;) {
                if (has_members) {
                    __syncthreads();
                    if (shared_.has_member == 0) {
                        return false;
                    }
                    phase.filters = true;
                    phase.member = UINT32_MAX;
                    has_members = false;
                }
                // Takes lists up to the one behind which only some documents can still be hits. With `all`
                // that is the first one.
                std::uint32_t end = t;
                do {
                    remaining -= shared_.terms[end].most;
                    ++end;
                    has_members =
                        !phase.filters && first + end < query.accumulated && (all || remaining < floor);
                } while (end < size && !has_members);
                if (has_members) {
                    phase.member = one + (floor > remaining ? floor - remaining : 0);
                }
                add_terms<Codec>(phase, t, end);
                if (has_members && first > 0) {
                    mark_members(phase.member);
                }
                t = end;
            }
        }
        __syncthreads();
        return true;
    }

    // Lists that were added at an earlier time, when none was to be looked into for members only, have marked
    // none, and a document need not be in one that was added since.
    __device__ void mark_members(std::uint32_t member) {
        __syncthreads();
        for (std::uint32_t i = threadIdx.x; i < Windows::documents; i += threads) {
            const std::uint32_t bits = __ballot_sync(all_lanes, shared_.scores[i] >= member);
            if (threadIdx.x % 32 == 0 && bits != 0) {
                shared_.members[i / 32] = bits;
                shared_.has_member = 1;
            }
        }
    }

    // Can the block have a member? Blocks that reach far aren't worth the look.
    __device__ bool may_have_member(const Head &head, std::uint32_t lane) const {
        constexpr std::uint32_t max_words = 64;
        const std::uint32_t low = head.first > first_ ? static_cast<std::uint32_t>(head.first) - first_ : 0;
        if (head.last < first_ || low >= size_) {
            // The block is damaged, or the only one of its list.
            return true;
        }
        const std::uint32_t to = min(head.last - first_, size_ - 1);
        const std::uint32_t words = to / 32 - low / 32 + 1;
        if (low > to || words > max_words) {
            return true;
        }
        std::uint32_t bits = 0;
        for (std::uint32_t i = lane; i < words; i += 32) {
            std::uint32_t here = shared_.members[low / 32 + i];
            here &= i == 0 ? all_lanes << (low % 32) : all_lanes;
            here &= i == words - 1 ? all_lanes >> (31 - to % 32) : all_lanes;
            bits |= here;
        }
        return __any_sync(all_lanes, bits != 0);
    }

    // Warps take the lists' blocks in turn; each lane reads one head of its warp's blocks.
    template <postings::Codec Codec>
    __device__ void add_terms(const Phase &phase, std::uint32_t begin, std::uint32_t end) {
        const std::uint32_t lane = threadIdx.x % 32;
        const std::uint32_t warp = threadIdx.x / 32;
        const std::uint32_t items_begin = begin > 0 ? shared_.terms[begin - 1].items_end : 0;
        const std::uint32_t items_end = shared_.terms[end - 1].items_end;
        for (std::uint32_t first = items_begin + warp; first < items_end; first += 32 * warps) {
            const std::uint32_t item = first + lane * warps;
            Head head = {};
            std::uint32_t term = begin;
            if (item < items_end) {
                while (item >= shared_.terms[term].items_end) {
                    ++term;
                }
                const PlacedTerm &placed = shared_.terms[term];
                const std::uint32_t number =
                    placed.begin + item - (term > 0 ? shared_.terms[term - 1].items_end : 0);
                head = placed.list.documents > 1 ? read_own_head(batch_.text, placed.list, number)
                                                 : Head{placed.list.ordinal, placed.list.ordinal, 0, 0, 0};
            }
            const std::uint32_t size = min((items_end - first + warps - 1) / warps, 32U);
            for (std::uint32_t i = 0; i < size; ++i) {
                const Head of_block = head.of_lane(i);
                const PlacedTerm &placed = shared_.terms[__shfl_sync(all_lanes, term, i)];
                if (!phase.filters || may_have_member(of_block, lane)) {
                    add_block<Codec>(phase, placed, of_block, lane);
                }
            }
        }
    }

    template <postings::Codec Codec>
    __device__ __forceinline__ void add_block(const Phase &phase, const PlacedTerm &term, const Head &head,
                                              std::uint32_t lane) {
        Block block;
        if (term.list.documents == 1) {
            block.count = 1;
            block.ordinals[0] = term.list.ordinal;
        } else if (!decode_block<Codec>(batch_.text, term.list, head, lane, shared_.scratch[threadIdx.x / 32],
                                        &block)) {
            if (lane == 0) {
                *batch_.damaged = 1;
            }
            return;
        }
        std::uint32_t frequencies[a_lane];
        decode_frequencies(term.list, block, lane, frequencies);
        const float2 norms = shared_.norms;
#pragma unroll
        for (std::uint32_t j = 0; j < a_lane; ++j) {
            const std::uint32_t slot = block.ordinals[j] - first_;
            const std::uint32_t bit = 1U << slot % 32;
            if (lane * a_lane + j >= block.count || slot >= size_ ||
                (phase.filters && (shared_.members[slot / 32] & bit) == 0)) {
                continue;
            }
            std::uint32_t length = shared_.lengths[slot];
            if (length == highest_short_length) {
                length = batch_.text.lengths[block.ordinals[j]];
            }
            const std::uint32_t added =
                approximate_contribution(term.scaled, norms, length, frequencies[j]) + phase.one;
            const std::uint32_t score = atomicAdd(&shared_.scores[slot], added) + added;
            if (score >= phase.member) {
                atomicOr(&shared_.members[slot / 32], bit);
                shared_.has_member = 1;
            }
            if (score >= phase.hit) {
                atomicOr(&shared_.reached[slot / 32], bit);
            }
        }
    }

    static __device__ std::uint32_t required(const RankedQuery &query) {
        return query.all != 0 ? query.accumulated << all_score_bits : 0;
    }

    // Calls visit(slot, score) for the thread's documents that can be hits and are no lower than `least`,
    // which isn't below the floor.
    template <typename Visit>
    __device__ void for_each(const RankedQuery &query, std::uint32_t least, Visit visit) const {
        for (std::uint32_t bits = shared_.reached[threadIdx.x]; bits != 0; bits &= bits - 1) {
            const std::uint32_t slot = threadIdx.x * 32 + __ffs(static_cast<int>(bits)) - 1;
            // A score's upper bits count the document's lists where all are required. No document is in more
            // lists than those, so that the difference is too great for a hit if it is in fewer.
            const std::uint32_t score = shared_.scores[slot] - required(query);
            if (score >= least && score <= query.highest && lives(batch_.text, first_ + slot)) {
                visit(slot, score);
            }
        }
    }

    // Puts documents that can be among the best among the candidates, and raises the threshold to the
    // window's k-th score.
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
                add_candidate(batch_, query, number, {first_ + slot, score});
            });
            return;
        }
        const bool is_one = threadIdx.x < count;
        const Candidate own = is_one ? shared_.found[threadIdx.x] : Candidate{};
        if (count >= query.k) {
            std::uint32_t above = 0;
            std::uint32_t same = 0;
            for (std::uint32_t i = 0; is_one && i < count; ++i) {
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
            add_candidate(batch_, query, number, {first_ + own.ordinal, own.score});
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
    Shared &shared_;
    const std::uint32_t number_;
    const std::uint32_t first_;
    const std::uint32_t size_;
    bool has_lengths_ = false;
    bool is_dirty_ = false;
};

// A block takes one of the windows that are gone through and every `groups`-th query.
template <typename Windows, postings::Codec Codec>
__global__ void __launch_bounds__(Windows::documents / 32, Windows::blocks_at_once)
    accumulate_kernel(const __grid_constant__ SearchBatch batch, std::uint32_t groups) {
    extern __shared__ uint4 dynamic_shared[];
    const std::uint32_t group = blockIdx.x % groups;
    const std::uint32_t number = blockIdx.x / groups * batch.window_stride;
    Window<Windows> window(batch, *reinterpret_cast<WindowShared<Windows> *>(dynamic_shared), number);
    const std::uint32_t count = (batch.query_count - group + groups - 1) / groups;
    // Windows begin with different queries, so that each finds the thresholds that others have reached before
    // it.
    constexpr std::uint32_t golden = 0x9e3779b9;
    std::uint32_t at = __umulhi(number * golden, count);
    window.prepare(group + at * groups, true);
    for (std::uint32_t i = 0; i < count; ++i) {
        __syncthreads();
        window.template rank<Codec>(group + at * groups);
        at = at + 1 < count ? at + 1 : 0;
        __syncthreads();
        window.prepare(group + at * groups, i + 1 < count);
    }
}

template <typename Windows, postings::Codec Codec>
void launch_accumulate(const Call &call, const SearchBatch &batch) {
    using Shared = WindowShared<Windows>;
    constexpr std::uint32_t blocks_a_place = 16;
    const auto kernel = accumulate_kernel<Windows, Codec>;
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)),
          "cudaFuncSetAttribute");
    const std::uint32_t wanted = static_cast<std::uint32_t>(call.engine().multiprocessors()) *
                                 Windows::blocks_at_once * blocks_a_place;
    const std::uint32_t windows = (batch.windows + batch.window_stride - 1) / batch.window_stride;
    const std::uint32_t groups = std::clamp((wanted + windows - 1) / windows, 1U, batch.query_count);
    kernel<<<windows * groups, Shared::threads, sizeof(Shared), call.stream()>>>(batch, groups);
    check_launch("accumulate_kernel");
}

}  // namespace

std::uint32_t documents_a_window(const DeviceEngine &engine) {
    return sizeof(WindowShared<WideWindows>) <= engine.shared_bytes() ? WideWindows::documents
                                                                      : NarrowWindows::documents;
}

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
    with_codec(batch.text.codec, [&](auto codec) {
        if (batch.window_documents == WideWindows::documents) {
            launch_accumulate<WideWindows, codec>(call, batch);
        } else {
            launch_accumulate<NarrowWindows, codec>(call, batch);
        }
    });
}

}  // namespace gpu_engine::device
