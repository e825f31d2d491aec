// The first rows: rows are counted by the highest bits of their keys that aren't known of the last wanted
// row's key yet, until the rows that may be among the first are few; these are listed. Mostly one count is
// enough. Where few are wanted of many, a sample is counted: as many rows as are wanted that come before some
// key in the sample come before it among all, so that rows are gone over once. Should far more of them be
// listed than the sample let expect, all rows are counted.
#include "device/column/aggregate/top_rows.h"

#include <algorithm>
#include <vector>

#include "device/column/aggregate/output.h"
#include "device/column/aggregate/part.h"
#include "gpu_engine/top_rows.h"

namespace gpu_engine::device {
namespace {

using Word = unsigned long long;

constexpr unsigned max_threads = 256;
constexpr std::uint32_t bin_bits = 12;
constexpr std::uint32_t bins = 1 << bin_bits;
// The number of rows beyond those wanted that may be listed without looking at more bits.
constexpr std::uint64_t spare_rows = 4096;
// A sample has one of so many rows, where there are so many at all.
constexpr std::uint32_t max_sample_step = 16;
constexpr std::uint32_t least_sample_step = 4;
constexpr std::uint64_t least_sampled_rows = 1 << 16;

// The known part of the last wanted row's key: the words in front of `word`, and of that one the `bits`
// highest bits.
struct KeyPrefix {
    std::uint64_t before[max_aggregate_keys];
    std::uint64_t prefix;
    std::uint32_t word;
    std::uint32_t bits;
    // All rows are listed: they are no more than are wanted.
    bool is_open;
};

// The decisions about rows: wanted, like the last one, or unresolved.
struct TopFlags {
    Word listed;
    Word equal;  // rows that were found to be like the last one
    Word failed;
};

struct TopView {
    KeyPrefix known;
    std::uint32_t next_bits;  // counting: of the key, behind those that are known
    std::uint32_t step;       // counting: each so many lots of words; 1: all
    Word *counts;             // by these bits
    Word *records;            // listing
    std::uint64_t capacity;
    std::uint32_t stride;
    std::uint64_t equal_wanted;  // number of rows wanted of those whose whole key is the known one
    TopFlags *flags;
};

// A thread's rows, a bit each: those that come before the last wanted one, and those of which that isn't
// known, whose next word is in `keys`.
struct Compared {
    std::uint32_t before;
    std::uint32_t equal;
    std::uint64_t keys[rows_a_thread];
};

__device__ std::uint64_t highest_bits(std::uint64_t word, std::uint32_t bits) {
    return bits == 0 ? 0 : word >> (64 - bits);
}

// Compares rows with the known part, and computes the `next_bits` bits behind it, too.
__device__ Compared compare_rows(const RowComputer &rows, const ProgramView &program, const KeyPrefix &known,
                                 std::uint32_t next_bits) {
    Compared compared = {0, rows.active(), {}};
    for (std::uint32_t word = 0; word < known.word; ++word) {
        rows.order_word(word, 0, compared.keys);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            const std::uint32_t bit = compared.equal & 1U << i;
            compared.before |= compared.keys[i] < known.before[word] ? bit : 0;
            compared.equal &= compared.keys[i] == known.before[word] ? UINT32_MAX : ~bit;
        }
    }
    if (known.word == program.key_words) {
        return compared;
    }
    rows.order_word(known.word, 64 - known.bits - next_bits, compared.keys);
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        const std::uint32_t bit = compared.equal & 1U << i;
        const std::uint64_t highest = highest_bits(compared.keys[i], known.bits);
        compared.before |= highest < known.prefix ? bit : 0;
        compared.equal &= highest == known.prefix ? UINT32_MAX : ~bit;
    }
    return compared;
}

__device__ void count_rows(const Compared &compared, const TopView &view, std::uint32_t *counts) {
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        if ((compared.equal >> i & 1) != 0) {
            atomicAdd(counts + (compared.keys[i] << view.known.bits >> (64 - view.next_bits)), 1U);
        }
    }
}

// All lanes of a warp call it. Rows that find no room are counted all the same.
__device__ void list_rows(const RowComputer &rows, const ProgramView &program, const Compared &compared,
                          const TopView &view) {
    std::uint32_t wanted = compared.before | compared.equal;
    if (view.known.word == program.key_words && view.equal_wanted < UINT64_MAX) {
        // Once there are enough of them, rows only look.
        const volatile Word *equal = &view.flags->equal;
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if ((compared.equal >> i & 1) != 0 &&
                (*equal >= view.equal_wanted ||
                 atomicAdd(&view.flags->equal, Word(1)) >= view.equal_wanted)) {
                wanted &= ~(1U << i);
            }
        }
    }
    wanted = view.known.is_open ? rows.active() : wanted;
    if (__ballot_sync(UINT32_MAX, wanted != 0) == 0) {
        return;
    }
    Word *records[rows_a_thread];
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        records[i] = nullptr;
        if ((wanted >> i & 1) != 0) {
            const Word place = atomicAdd(&view.flags->listed, Word(1));
            records[i] = place < view.capacity ? view.records + place * view.stride : nullptr;
        }
    }
    for (std::uint32_t word = 0; word < program.key_words; ++word) {
        std::uint64_t keys[rows_a_thread];
        rows.order_word(word, 0, keys);
#pragma unroll
        for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
            if (records[i] != nullptr) {
                records[i][word] = keys[i];
            }
        }
    }
    // An unresolved row's record has the place twice.
#pragma unroll
    for (std::uint32_t i = 0; i < rows_a_thread; ++i) {
        for (std::uint32_t word = program.key_words; records[i] != nullptr && word < view.stride; ++word) {
            records[i][word] = rows.place(i);
        }
    }
}

enum class Pass { count, list };

template <Pass pass>
__global__ void __launch_bounds__(max_threads)
    top_rows_kernel(const __grid_constant__ ProgramView program, const __grid_constant__ SpansView places,
                    const std::uint64_t *selected, std::uint64_t words,
                    const __grid_constant__ TopView view) {
    extern __shared__ long long shared[];
    // The counts lie in front of the slots.
    auto *counts = reinterpret_cast<std::uint32_t *>(shared);
    RowComputer rows(program, places, shared + (pass == Pass::count ? bins / 2 : 0));
    const std::uint32_t lane = threadIdx.x % 32;
    if constexpr (pass == Pass::count) {
        for (std::uint32_t bin = threadIdx.x; bin < bins; bin += blockDim.x) {
            counts[bin] = 0;
        }
        __syncthreads();
    }
    const auto take = [&](std::uint64_t first, const std::uint32_t *bits) {
        rows.take(first + lane, rows_of_lane(bits));
        rows.compute();
        const Compared compared =
            compare_rows(rows, program, view.known, pass == Pass::count ? view.next_bits : 0);
        if constexpr (pass == Pass::count) {
            count_rows(compared, view, counts);
        } else {
            list_rows(rows, program, compared, view);
        }
    };
    for_words(selected, words, take, pass == Pass::count ? view.step : 1);
    if (rows.has_failed()) {
        view.flags->failed = 1;
    }
    if constexpr (pass == Pass::count) {
        __syncthreads();
        for (std::uint32_t bin = threadIdx.x; bin < bins; bin += blockDim.x) {
            if (counts[bin] != 0) {
                atomicAdd(view.counts + bin, Word(counts[bin]));
            }
        }
    }
}

class TopRowsFinder {
  public:
    TopRowsFinder(const Call &call, const AggregateRequest &request)
        : call_(call),
          request_(request),
          plan_(plan_aggregate(request)),
          counts_(call.buffer<std::uint64_t>(bins)),
          flags_(call.buffer<TopFlags>(1)) {}

    std::unique_ptr<AggregateOutput> output() {
        auto output = std::make_unique<DeviceAggregateOutput>(call_.engine(), plan_.record_words());
        call_.fill(flags_.data(), 0, sizeof(TopFlags));
        std::uint64_t max_unresolved = 0;
        for (std::uint32_t i = 0; i < request_.part_count; ++i) {
            parts_.push_back(open_part(call_, request_, plan_, i, no_rows_word));
            max_unresolved += parts_.back().unresolved_count;
        }
        view_.flags = flags_.data();
        view_.counts = reinterpret_cast<Word *>(counts_.data());
        Buffer<std::uint64_t> sure;
        Buffer<std::uint64_t> unresolved;
        std::uint64_t found = 0;
        if (!list_by_sample(&sure, &found)) {
            begin_key(1);
            find_last_key(std::max(2 * request_.top.count, request_.top.count + spare_rows));
            found = list(false, before_ + std::min(equal_, equal_wanted()), &sure);
        }
        // An unresolved row is not left out because others are like it: it may be the only one that is
        // visible.
        const std::uint64_t unsure = max_unresolved == 0 ? 0 : list(true, max_unresolved, &unresolved);
        if (has_failed_) {
            output->set_outcome(AggregateOutcome::failed);
        } else if (found > request_.max_groups || unsure > request_.max_groups - found) {
            output->set_outcome(AggregateOutcome::too_many_groups);
        } else {
            output->take(std::move(sure), found, std::move(unresolved), unsure);
        }
        return output;
    }

  private:
    // Returns how many of a word's highest bits have keys.
    std::uint32_t used_bits(std::uint32_t word) const {
        std::uint32_t used = 0;
        for (std::uint32_t i = 0; i < plan_.program.key_count; ++i) {
            const AggregateKey &key = plan_.program.key[i];
            used = key.word == word && key.bits > 0 ? std::max(used, 64U - key.shift) : used;
        }
        return used;
    }

    bool is_whole_key() const { return view_.known.word == plan_.program.key_words; }
    // Returns how many rows are wanted among those whose keys equal the last wanted one's.
    std::uint64_t equal_wanted() const {
        const bool all = !is_whole_key() || (request_.top.of_rows & top_with_ties) != 0;
        return all ? UINT64_MAX : request_.top.count - before_;
    }

    // Goes on behind words all of whose bits are known.
    void pass_known_words() {
        KeyPrefix &known = view_.known;
        while (!is_whole_key() && known.bits == used_bits(known.word)) {
            known.before[known.word++] = known.bits == 0 ? 0 : known.prefix << (64 - known.bits);
            known.prefix = 0;
            known.bits = 0;
        }
    }

    void begin_key(std::uint32_t step) {
        view_.known = {};
        view_.step = step;
        before_ = 0;
        equal_ = UINT64_MAX;
    }

    // Lists rows by a key that a sample tells. Returns false when that isn't worth while, or there are too
    // many of them.
    bool list_by_sample(Buffer<std::uint64_t> *records, std::uint64_t *found) {
        const std::uint64_t wanted = request_.top.count;
        if (plan_.rows < least_sampled_rows || wanted > spare_rows / (2 * least_sample_step)) {
            return false;
        }
        const std::uint64_t step = std::min<std::uint64_t>(max_sample_step, spare_rows / (2 * wanted));
        begin_key(static_cast<std::uint32_t>(step));
        find_last_key(2 * wanted);
        if (view_.known.is_open) {
            return false;
        }
        *found = list(false, wanted + 2 * spare_rows, records);
        return *found <= view_.capacity;
    }

    // Goes on until no more than `few` rows may be among the first.
    void find_last_key(std::uint64_t few) {
        KeyPrefix &known = view_.known;
        const std::uint64_t wanted = request_.top.count;
        // Rows like the last one that are too many are left out once the whole key is known.
        for (pass_known_words(); !is_whole_key() && before_ + equal_ > few; pass_known_words()) {
            view_.next_bits = std::min(bin_bits, used_bits(known.word) - known.bits);
            const std::vector<std::uint64_t> counts = count();
            std::uint32_t bin = 0;
            std::uint64_t rows = before_ + counts[0];
            while (bin + 1 < bins && rows < wanted) {
                rows += counts[++bin];
            }
            if (has_failed_ || rows < wanted) {
                // There are no more rows.
                known.is_open = true;
                before_ = rows;
                equal_ = 0;
                return;
            }
            equal_ = counts[bin];
            before_ = rows - equal_;
            known.prefix = known.prefix << view_.next_bits | bin;
            known.bits += view_.next_bits;
        }
    }

    std::vector<std::uint64_t> count() {
        call_.fill(counts_.data(), 0, bins * sizeof(std::uint64_t));
        for (const Part &part : parts_) {
            launch<Pass::count>(part, part.selection.words.data());
        }
        std::vector<std::uint64_t> counts(bins);
        call_.copy(counts.data(), static_cast<const std::uint64_t *>(counts_.data()), bins);
        has_failed_ = read_flags().failed != 0 || has_failed_;
        return counts;
    }

    // Lists the sure rows, or the unresolved ones; returns how many there are. Those that are more than the
    // caller has room for aren't there.
    std::uint64_t list(bool is_unresolved, std::uint64_t most, Buffer<std::uint64_t> *records) {
        view_.capacity = std::min({most, request_.max_groups, plan_.rows});
        view_.stride = plan_.record_words() + (is_unresolved ? 1 : 0);
        view_.equal_wanted = is_unresolved ? UINT64_MAX : equal_wanted();
        *records = call_.buffer<std::uint64_t>(std::max<std::uint64_t>(1, view_.capacity * view_.stride));
        view_.records = reinterpret_cast<Word *>(records->data());
        call_.fill(flags_.data(), 0, sizeof(TopFlags));
        for (const Part &part : parts_) {
            launch<Pass::list>(part, is_unresolved ? part.unresolved.data() : part.selection.words.data());
        }
        const TopFlags flags = read_flags();
        has_failed_ = flags.failed != 0 || has_failed_;
        return flags.listed;
    }

    template <Pass pass>
    void launch(const Part &part, const std::uint64_t *rows) {
        if (part.selection.count == 0) {
            return;
        }
        const ProgramView &program = part.program->view();
        const std::size_t thread_bytes = program.slots * RowComputer::slot_bytes;
        const unsigned block_threads = threads_with_room(call_, max_threads, thread_bytes);
        const std::size_t shared =
            thread_bytes * block_threads + (pass == Pass::count ? bins * sizeof(std::uint32_t) : 0);
        const unsigned blocks =
            blocks_over_rows(call_, top_rows_kernel<pass>, block_threads, shared, part.selection);
        top_rows_kernel<pass><<<blocks, block_threads, shared, call_.stream()>>>(
            program, part.places(), rows, part.selection.words.size(), view_);
        check_launch("top_rows_kernel");
    }

    TopFlags read_flags() {
        static_assert(sizeof(TopFlags) <= DeviceStream::result_words * sizeof(std::uint64_t));
        auto *pinned = const_cast<std::uint64_t *>(call_.result());
        call_.copy(reinterpret_cast<TopFlags *>(pinned), static_cast<const TopFlags *>(flags_.data()), 1);
        call_.wait();
        TopFlags flags;
        std::copy_n(reinterpret_cast<const TopFlags *>(pinned), 1, &flags);
        return flags;
    }

    const Call &call_;
    const AggregateRequest &request_;
    const AggregatePlan plan_;
    const Buffer<std::uint64_t> counts_;
    const Buffer<TopFlags> flags_;
    std::vector<Part> parts_;
    TopView view_{};
    std::uint64_t before_ = 0;          // rows that are known to come before the last wanted one
    std::uint64_t equal_ = UINT64_MAX;  // and those whose key begins as far as is known
    bool has_failed_ = false;
};

}  // namespace

std::unique_ptr<AggregateOutput> find_top_rows(const Call &call, const AggregateRequest &request) {
    return TopRowsFinder(call, request).output();
}

}  // namespace gpu_engine::device
