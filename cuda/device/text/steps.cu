#include "device/text/steps.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "common/text/steps.h"
#include "device/cub_calls.cuh"
#include "device/text/decode.cuh"
#include "device/text/sort.cuh"
#include "device/warp.cuh"

namespace gpu_engine::device {
namespace {

// A list among those that a kernel goes through together, a warp a block of postings.
struct PlacedList {
    ListView list;
    double weight;
    std::uint64_t blocks_end;  // blocks of the lists up to this one
};

// ---- Lists ---------------------------------------------------------------------------------------

// Decodes the warp's block of postings and calls visit(list, ordinal, frequency) for those of the lane.
// Frequencies are 0 unless `Frequencies`.
template <postings::Codec Codec, bool Frequencies, typename Visit>
__device__ __forceinline__ void visit_own_block(const TextView &text, const PlacedList *lists,
                                                std::uint32_t count, std::uint32_t *damaged, Visit visit) {
    __shared__ alignas(16) WarpScratch scratch[warps_a_block];
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t number = std::uint64_t(blockIdx.x) * warps_a_block + threadIdx.x / 32;
    if (number >= lists[count - 1].blocks_end) {
        return;
    }
    std::uint32_t low = 0;
    std::uint32_t high = count - 1;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (lists[middle].blocks_end <= number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const PlacedList &own = lists[low];
    const auto in_list =
        static_cast<std::uint32_t>(number - (low > 0 ? lists[low - 1].blocks_end : std::uint64_t(0)));
    Block block;
    if (!decode_block<Codec>(text, own.list, in_list, lane, scratch[threadIdx.x / 32], &block)) {
        if (lane == 0) {
            *damaged = 1;
        }
        return;
    }
    std::uint32_t frequencies[a_lane] = {};
    if constexpr (Frequencies) {
        decode_frequencies(own.list, block, lane, frequencies);
    }
#pragma unroll
    for (std::uint32_t j = 0; j < a_lane; ++j) {
        if (lane * a_lane + j < block.count) {
            visit(own, block.ordinals[j], frequencies[j]);
        }
    }
}

template <postings::Codec Codec>
__global__ void __launch_bounds__(threads_a_block, 4)
    mark_kernel(TextView text, const PlacedList *lists, std::uint32_t count, std::uint32_t *words,
                std::uint32_t *damaged) {
    visit_own_block<Codec, false>(text, lists, count, damaged,
                                  [&](const PlacedList &, std::uint32_t ordinal, std::uint32_t) {
                                      atomicOr(&words[ordinal / 32], 1U << ordinal % 32);
                                  });
}

// Documents that match, numbered in their order.
struct Matches {
    const std::uint32_t *words;
    const std::uint32_t *before;  // for each word, the number of matches in the words before

    static constexpr std::uint32_t none = UINT32_MAX;

    __device__ __forceinline__ std::uint32_t place(std::uint32_t ordinal) const {
        const std::uint32_t word = words[ordinal / 32];
        const std::uint32_t bit = 1U << ordinal % 32;
        return (word & bit) == 0 ? none : before[ordinal / 32] + __popc(word & (bit - 1));
    }
};

template <postings::Codec Codec>
__global__ void __launch_bounds__(threads_a_block, 4)
    add_scores_kernel(TextView text, postings::Norms norms, const PlacedList *lists, std::uint32_t count,
                      Matches matches, unsigned long long *scores, std::uint32_t *damaged) {
    visit_own_block<Codec, true>(text, lists, count, damaged,
                                 [&](const PlacedList &own, std::uint32_t ordinal, std::uint32_t frequency) {
                                     const std::uint32_t place = matches.place(ordinal);
                                     if (place != Matches::none) {
                                         const std::int64_t part = contribution(
                                             own.weight, norms, text.lengths[ordinal], frequency);
                                         atomicAdd(&scores[place], static_cast<unsigned long long>(part));
                                     }
                                 });
}

template <postings::Codec Codec>
__global__ void __launch_bounds__(threads_a_block, 4)
    add_frequencies_kernel(TextView text, const PlacedList *lists, std::uint32_t count, Matches matches,
                           std::uint32_t *frequencies, std::uint32_t *damaged) {
    visit_own_block<Codec, true>(text, lists, count, damaged,
                                 [&](const PlacedList &, std::uint32_t ordinal, std::uint32_t frequency) {
                                     const std::uint32_t place = matches.place(ordinal);
                                     if (place != Matches::none) {
                                         atomicAdd(&frequencies[place], frequency);
                                     }
                                 });
}

// ---- Words ---------------------------------------------------------------------------------------

__global__ void invert_kernel(std::uint32_t *words, std::uint32_t count) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        words[i] = ~words[i];
    }
}

__global__ void combine_kernel(std::uint32_t *words, const std::uint32_t *others, std::uint32_t count,
                               bool both) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        words[i] = both ? words[i] & others[i] : words[i] | others[i];
    }
}

// Leaves live documents, and counts them by word; behind the last word there is one more number, 0. Entries
// that are no documents are looked for where a step matches what no list has.
__global__ void keep_documents_kernel(TextView text, bool looks_for_nulls, std::uint32_t *words,
                                      std::uint32_t count, std::uint32_t *counts) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > count) {
        return;
    }
    std::uint32_t word = i < count ? words[i] : 0;
    if (i + 1 == count && text.documents % 32 != 0) {
        word &= low_mask(text.documents % 32);
    }
    if (word != 0 && text.dead.words != nullptr) {
        word &= ~static_cast<std::uint32_t>(text.dead.words[i / 2] >> (i % 2 * 32));
    }
    if (looks_for_nulls) {
        for (std::uint32_t bits = word; bits != 0; bits &= bits - 1) {
            const std::uint32_t bit = __ffs(static_cast<int>(bits)) - 1;
            if (text.lengths[i * 32 + bit] == null_text_length) {
                word &= ~(1U << bit);
            }
        }
    }
    if (i < count) {
        words[i] = word;
    }
    counts[i] = __popc(word);
}

__global__ void list_matches_kernel(Matches matches, std::uint32_t count, std::uint32_t *ordinals) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    std::uint32_t place = matches.before[i];
    for (std::uint32_t bits = matches.words[i]; bits != 0; bits &= bits - 1) {
        ordinals[place++] = i * 32 + __ffs(static_cast<int>(bits)) - 1;
    }
}

// ---- Matches -------------------------------------------------------------------------------------

// Adds what a term of several lists contributes, and clears its frequencies.
__global__ void weigh_kernel(TextView text, postings::Norms norms, double weight,
                             const std::uint32_t *ordinals, std::uint32_t count, std::uint32_t *frequencies,
                             unsigned long long *scores) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count && frequencies[i] > 0) {
        scores[i] += static_cast<unsigned long long>(
            contribution(weight, norms, text.lengths[ordinals[i]], frequencies[i]));
        frequencies[i] = 0;
    }
}

// Scores become keys: one more, so that what doesn't come behind the place to resume can be 0.
__global__ void make_keys_kernel(TextView text, std::int64_t resume_score, std::uint64_t resume_tid,
                                 const std::uint32_t *ordinals, std::uint32_t count, unsigned long long *keys,
                                 std::uint32_t *hits) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    bool is_hit = false;
    if (i < count) {
        const auto score = static_cast<std::int64_t>(keys[i]);
        is_hit = score < resume_score ||
                 (score == resume_score && tid_number(text.tids[ordinals[i]]) > resume_tid);
        keys[i] = is_hit ? keys[i] + 1 : 0;
    }
    const std::uint32_t of_warp = __popc(__ballot_sync(all_lanes, is_hit));
    if (threadIdx.x % 32 == 0 && of_warp > 0) {
        atomicAdd(hits, of_warp);
    }
}

__global__ void write_best_kernel(TextView text, const unsigned long long *keys,
                                  const std::uint32_t *ordinals, std::uint32_t count, TextHit *hits) {
    const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) {
        hits[i] = TextHit{static_cast<std::int64_t>(keys[i] - 1), ordinals[i], text.tids[ordinals[i]], {}};
    }
}

// ---- One query -----------------------------------------------------------------------------------

class StepSearch {
  public:
    StepSearch(const Call &call, const TextView &text, const postings::Norms &norms,
               const StepQuery &requested, const Damage &damage)
        : call_(call),
          text_(text),
          norms_(norms),
          requested_(requested),
          damage_(damage),
          terms_(terms_with_lists(requested.terms, requested.query.terms)),
          words_(text.documents / 32 + (text.documents % 32 != 0 ? 1 : 0)) {
        std::vector<PlacedList> single;
        for (const TextTermLists &term : terms_) {
            first_.push_back(placed_.size());
            std::uint64_t blocks = 0;
            for (std::uint32_t i = term.first; i < term.first + term.count; ++i) {
                blocks += requested.lists[i].blocks;
                placed_.push_back({requested.lists[i], term.weight, blocks});
            }
            blocks_.push_back(blocks);
            if (term.scored && term.count == 1) {
                single_blocks_ += blocks;
                single.push_back({requested.lists[term.first], term.weight, single_blocks_});
            }
        }
        single_count_ = static_cast<std::uint32_t>(single.size());
        first_single_ = placed_.size();
        placed_.insert(placed_.end(), single.begin(), single.end());
        lists_ = call.buffer<PlacedList>(placed_.size());
        call.copy(lists_.data(), placed_.data(), placed_.size());
    }

    std::uint32_t rank(TextHit *hits) {
        const Buffer<std::uint32_t> matching = match();
        const Buffer<std::uint32_t> before = call_.buffer<std::uint32_t>(words_ + 1);
        const bool looks_for_nulls = std::any_of(
            requested_.steps, requested_.steps + requested_.query.steps, [](const TextStep &step) {
                return step.kind == TextStepKind::lacks || step.kind == TextStepKind::every;
            });
        keep_documents_kernel<<<blocks_for(words_ + 1), threads_a_block, 0, call_.stream()>>>(
            text_, looks_for_nulls, matching.data(), words_, before.data());
        check_launch("keep_documents_kernel");
        exclusive_sums(call_, static_cast<const std::uint32_t *>(before.data()), before.data(), words_ + 1);
        const std::uint32_t count =
            read_element(call_, static_cast<const std::uint32_t *>(before.data()) + words_);
        if (count == 0) {
            return 0;
        }
        const Matches matches = {matching.data(), before.data()};
        const Buffer<std::uint32_t> ordinals = call_.buffer<std::uint32_t>(count);
        list_matches_kernel<<<blocks_for(words_), threads_a_block, 0, call_.stream()>>>(matches, words_,
                                                                                        ordinals.data());
        check_launch("list_matches_kernel");
        const Buffer<unsigned long long> scores = call_.buffer<unsigned long long>(count);
        call_.fill(scores.data(), 0, count * sizeof(unsigned long long));
        add_single_lists(matches, scores.data());
        add_joined_lists(matches, ordinals.data(), count, scores.data());
        return choose(ordinals.data(), count, scores.data(), hits);
    }

  private:
    // Returns the documents that the steps match, a bit each.
    Buffer<std::uint32_t> match() const {
        std::vector<Buffer<std::uint32_t>> stack;
        for (std::uint32_t i = 0; i < requested_.query.steps; ++i) {
            const TextStep &step = requested_.steps[i];
            if (step.kind == TextStepKind::both || step.kind == TextStepKind::either) {
                const Buffer<std::uint32_t> last = std::move(stack.back());
                stack.pop_back();
                combine_kernel<<<blocks_for(words_), threads_a_block, 0, call_.stream()>>>(
                    stack.back().data(), last.data(), words_, step.kind == TextStepKind::both);
                check_launch("combine_kernel");
                continue;
            }
            const Buffer<std::uint32_t> &words = stack.emplace_back(call_.buffer<std::uint32_t>(words_));
            call_.fill(words.data(), step.kind == TextStepKind::every ? 0xff : 0,
                       std::uint64_t(words_) * sizeof(std::uint32_t));
            if (step.kind == TextStepKind::every) {
                continue;
            }
            mark(step.term, words.data());
            if (step.kind == TextStepKind::lacks) {
                invert_kernel<<<blocks_for(words_), threads_a_block, 0, call_.stream()>>>(words.data(),
                                                                                          words_);
                check_launch("invert_kernel");
            }
        }
        return std::move(stack.back());
    }

    void mark(std::uint32_t number, std::uint32_t *words) const {
        const auto found = std::find_if(terms_.begin(), terms_.end(), [number](const TextTermLists &term) {
            return term.number == number;
        });
        if (found == terms_.end()) {
            return;
        }
        const auto term = static_cast<std::size_t>(found - terms_.begin());
        with_codec(text_.codec, [&](auto codec) {
            const auto kernel = mark_kernel<codec>;
            kernel<<<blocks_for(blocks_[term], warps_a_block), threads_a_block, 0, call_.stream()>>>(
                text_, lists_.data() + first_[term], found->count, words, damage_.flag());
        });
        check_launch("mark_kernel");
    }

    void add_single_lists(const Matches &matches, unsigned long long *scores) const {
        if (single_count_ == 0) {
            return;
        }
        with_codec(text_.codec, [&](auto codec) {
            const auto kernel = add_scores_kernel<codec>;
            kernel<<<blocks_for(single_blocks_, warps_a_block), threads_a_block, 0, call_.stream()>>>(
                text_, norms_, lists_.data() + first_single_, single_count_, matches, scores, damage_.flag());
        });
        check_launch("add_scores_kernel");
    }

    // A document's frequencies in the lists of a term are added up before they are weighed.
    void add_joined_lists(const Matches &matches, const std::uint32_t *ordinals, std::uint32_t count,
                          unsigned long long *scores) const {
        Buffer<std::uint32_t> frequencies;
        for (std::size_t term = 0; term < terms_.size(); ++term) {
            if (!terms_[term].scored || terms_[term].count == 1) {
                continue;
            }
            if (frequencies.size() == 0) {
                frequencies = call_.buffer<std::uint32_t>(count);
                call_.fill(frequencies.data(), 0, std::uint64_t(count) * sizeof(std::uint32_t));
            }
            with_codec(text_.codec, [&](auto codec) {
                const auto kernel = add_frequencies_kernel<codec>;
                kernel<<<blocks_for(blocks_[term], warps_a_block), threads_a_block, 0, call_.stream()>>>(
                    text_, lists_.data() + first_[term], terms_[term].count, matches, frequencies.data(),
                    damage_.flag());
            });
            check_launch("add_frequencies_kernel");
            weigh_kernel<<<blocks_for(count), threads_a_block, 0, call_.stream()>>>(
                text_, norms_, terms_[term].weight, ordinals, count, frequencies.data(), scores);
            check_launch("weigh_kernel");
        }
    }

    // Returns the most bits that keys have.
    int key_bits() const {
        double most = 2;
        for (const TextTermLists &term : terms_) {
            most += term.scored ? term.weight + 2 : 0;
        }
        return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most)));
    }

    // Chooses the best of the matches, whose scores become keys.
    std::uint32_t choose(const std::uint32_t *ordinals, std::uint32_t count, unsigned long long *scores,
                         TextHit *hits) const {
        const TextQuery &query = requested_.query;
        const Buffer<std::uint32_t> found = call_.buffer<std::uint32_t>(1);
        call_.fill(found.data(), 0, sizeof(std::uint32_t));
        make_keys_kernel<<<blocks_for(count), threads_a_block, 0, call_.stream()>>>(
            text_, query.resumes != 0 ? query.score : INT64_MAX,
            query.resumes != 0 ? tid_number(query.tid) : 0, ordinals, count, scores, found.data());
        check_launch("make_keys_kernel");
        const Buffer<unsigned long long> sorted = call_.buffer<unsigned long long>(count);
        const Buffer<std::uint32_t> sorted_ordinals = call_.buffer<std::uint32_t>(count);
        sort_pairs<true>(call_, static_cast<const unsigned long long *>(scores), sorted.data(), ordinals,
                         sorted_ordinals.data(), count, key_bits());
        const std::uint32_t wanted =
            std::min(read_element(call_, static_cast<const std::uint32_t *>(found.data())), query.k);
        if (wanted > 0) {
            write_best_kernel<<<blocks_for(wanted), threads_a_block, 0, call_.stream()>>>(
                text_, sorted.data(), sorted_ordinals.data(), wanted, hits);
            check_launch("write_best_kernel");
        }
        return wanted;
    }

    const Call &call_;
    const TextView &text_;
    const postings::Norms norms_;
    const StepQuery &requested_;
    const Damage &damage_;
    const std::vector<TextTermLists> terms_;
    const std::uint32_t words_;
    // The lists of each term, and those that are terms by themselves once more.
    std::vector<PlacedList> placed_;
    Buffer<PlacedList> lists_;
    // The first list of each term, and how many blocks its lists have.
    std::vector<std::uint64_t> first_;
    std::vector<std::uint64_t> blocks_;
    std::uint64_t first_single_ = 0;
    std::uint32_t single_count_ = 0;
    std::uint64_t single_blocks_ = 0;
};

}  // namespace

std::uint32_t rank_by_steps(const Call &call, const TextView &text, const postings::Norms &norms,
                            const StepQuery &requested, const Damage &damage, TextHit *hits) {
    if (text.documents == 0) {
        return 0;
    }
    return StepSearch(call, text, norms, requested, damage).rank(hits);
}

}  // namespace gpu_engine::device
