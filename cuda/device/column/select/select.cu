#include "device/column/select/select.h"

#include <algorithm>

#include "device/column/select/codes.cuh"
#include "device/warp.cuh"
#include "gpu_engine/guard.h"

namespace gpu_engine::device {
namespace {

// Ranges over codes of at most so many bits are looked up in a set.
constexpr std::uint32_t max_set_bits = 16;

__global__ void select_live_kernel(std::uint64_t *selected, std::uint64_t words, std::uint64_t rows,
                                   const std::uint64_t *dead) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= words) {
        return;
    }
    const std::uint64_t rest = rows > i * 64 ? rows - i * 64 : 0;
    const std::uint64_t live = rest < 64 ? (std::uint64_t(1) << rest) - 1 : UINT64_MAX;
    selected[i] = dead == nullptr || live == 0 ? live : live & ~dead[i];
}

__global__ void select_nulls_kernel(std::uint64_t *selected, std::uint64_t words, const std::uint64_t *nulls,
                                    std::uint64_t flip) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < words) {
        selected[i] &= nulls[i] ^ flip;
    }
}

// The codes from low to high. There are none when low is above high.
struct CodeRange {
    std::uint64_t low;
    std::uint64_t high;
};

struct InRange {
    CodeRange fixed;
    const CodeRange *computed;  // in its stead, where it isn't null

    struct Look {
        CodeRange range;
        __device__ bool operator()(std::uint64_t code) const {
            return code >= range.low && code <= range.high;
        }
    };
    __device__ Look look() const { return {computed != nullptr ? *computed : fixed}; }
};

struct InSet {
    const std::uint64_t *words;

    struct Look {
        const std::uint64_t *words;
        __device__ bool operator()(std::uint64_t code) const {
            return (words[code / 64] >> (code % 64) & 1) != 0;
        }
    };
    __device__ Look look() const { return {words}; }
};

__device__ bool is_in_ranges(const CodeRange *ranges, std::uint32_t count, std::uint64_t value) {
    std::uint32_t low = 0;
    std::uint32_t high = count;
    while (low < high) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (ranges[middle].high < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < count && ranges[low].low <= value;
}

struct InRanges {
    const CodeRange *ranges;
    std::uint32_t count;

    struct Look {
        const CodeRange *ranges;
        std::uint32_t count;
        __device__ bool operator()(std::uint64_t code) const { return is_in_ranges(ranges, count, code); }
    };
    __device__ Look look() const { return {ranges, count}; }
};

// Takes rows whose codes fail the test off the selection. No codes are read for a word of the selection that
// is empty.
template <typename Test>
__global__ void __launch_bounds__(row_threads)
    select_codes_kernel(std::uint64_t *selected, std::uint64_t words, CodesView view, Test test) {
    const auto look = test.look();
    const std::uint32_t lane = threadIdx.x % 32;
    for_words(selected, words, [&](std::uint64_t first, const std::uint32_t *bits) {
        const std::uint32_t wanted = rows_of_lane(bits);
        std::uint64_t codes[words_a_warp];
        view.read(first + lane, wanted, codes);
        std::uint32_t after[words_a_warp];
#pragma unroll
        for (std::uint32_t i = 0; i < words_a_warp; ++i) {
            after[i] = __ballot_sync(UINT32_MAX, (wanted >> i & 1) != 0 && look(codes[i]));
        }
        if (lane == 0) {
            reinterpret_cast<uint4 *>(selected)[first / rows_a_warp] =
                make_uint4(after[0], after[1], after[2], after[3]);
        }
    });
}

// Turns a range of values into one of a dictionary's codes.
__global__ void find_codes_kernel(const std::uint64_t *dictionary, StoredColumn column, ValueRange values,
                                  CodeRange *codes) {
    const std::uint64_t low = entries_below(dictionary, column, values.low);
    const std::uint64_t end =
        values.high == UINT64_MAX ? column.distinct : entries_below(dictionary, column, values.high + 1);
    *codes = low < end ? CodeRange{low, end - 1} : CodeRange{1, 0};
}

// Finds the codes whose values are in one of the ranges. Each warp makes a word of 32 codes.
__global__ void find_set_kernel(const std::uint64_t *dictionary, StoredColumn column, const CodeRange *values,
                                std::uint32_t count, std::uint32_t *set, std::uint64_t words) {
    const std::uint64_t word = (static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
    if (word >= words) {
        return;
    }
    const std::uint64_t code = word * 32 + threadIdx.x % 32;
    bool passes = false;
    if (column.encoding == ColumnEncoding::dictionary) {
        passes = code < column.distinct &&
                 is_in_ranges(values, count, column.base + packed_at(dictionary, code, column.entry_bits));
    } else {
        passes = code < std::uint64_t(1) << column.bits && is_in_ranges(values, count, column.base + code);
    }
    const std::uint32_t bits = __ballot_sync(UINT32_MAX, passes);
    if (threadIdx.x % 32 == 0) {
        set[word] = bits;
    }
}

// Adds bits [first, first + count) to words that other threads add to as well.
__device__ void add_shared(std::uint64_t *words, std::uint64_t first, std::uint32_t count,
                           std::uint64_t bits) {
    bits &= low_bits(count);
    if (bits == 0) {
        return;
    }
    auto *shared = reinterpret_cast<unsigned long long *>(words + first / 64);
    atomicOr(shared, bits << (first % 64));
    if (first % 64 + count > 64) {
        atomicOr(shared + 1, bits >> (64 - first % 64));
    }
}

// Adds rows [begin, end). A word that is all the thread's own is stored; to a word that it shares with others
// it adds.
__device__ void add_rows(std::uint64_t *words, std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t word = begin / 64; word * 64 < end; ++word) {
        std::uint64_t bits = UINT64_MAX;
        if (word == begin / 64) {
            bits <<= begin % 64;
        }
        if (end < word * 64 + 64) {
            bits &= low_bits(static_cast<std::uint32_t>(end % 64));
        }
        if (bits == UINT64_MAX) {
            words[word] = bits;
        } else {
            atomicOr(reinterpret_cast<unsigned long long *>(words + word), bits);
        }
    }
}

// Adds the visible rows of a span on a known block.
__device__ void add_visible_rows(const Span &span, std::uint32_t count, const std::uint64_t *bitmaps,
                                 const KnownBlocks &known, const std::uint64_t *rows,
                                 std::uint64_t *visible) {
    if (span.bitmap_words == 0) {
        for (std::uint32_t i = 0; i < count; i += 64) {
            add_shared(visible, span.row + std::uint64_t(i), min(count - i, 64U),
                       rows_from(known, rows, span.first - 1U + i));
        }
        return;
    }
    std::uint64_t row = span.row;
    for (std::uint32_t word = 0; word < span.bitmap_words; ++word) {
        const std::uint64_t places = bitmaps[span.bitmap + word];
        const std::uint32_t here = count_bits(places);
        add_shared(visible, row, here, gather_bits(word < known.row_words ? rows[word] : 0, places));
        row += here;
    }
}

// A thread takes one span.
__global__ void select_visible_kernel(const Span *spans, std::uint64_t count, std::uint64_t rows,
                                      const std::uint64_t *bitmaps, KnownBlocks known, std::uint64_t *visible,
                                      std::uint64_t *unknown) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) {
        return;
    }
    const Span span = spans[i];
    const std::uint64_t end = i + 1 < count ? spans[i + 1].row : rows;
    const BlockState state = state_of(known, span.block);
    if (state.rows == nullptr) {
        add_rows(state.all_visible ? visible : unknown, span.row, end);
    } else {
        add_visible_rows(span, static_cast<std::uint32_t>(end - span.row), bitmaps, known, state.rows,
                         visible);
    }
}

__device__ void add_bits(std::uint64_t bits, std::uint64_t *count) {
    std::uint32_t here = __popcll(bits);
    here = sum_of_warp(here);
    if (threadIdx.x % 32 == 0 && here != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(count), here);
    }
}

// Takes selected rows that aren't visible out of the selection. *unknown becomes those of which it isn't
// known.
__global__ void split_unresolved_kernel(std::uint64_t *selected, const std::uint64_t *visible,
                                        std::uint64_t *unknown, std::uint64_t words,
                                        const std::uint64_t *nulls, std::uint64_t *found) {
    const std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    std::uint64_t unresolved = 0;
    if (i < words) {
        const std::uint64_t before = selected[i];
        unresolved = before & unknown[i] & (nulls == nullptr ? UINT64_MAX : ~nulls[i]);
        selected[i] = before & visible[i];
        unknown[i] = unresolved;
    }
    add_bits(unresolved, found);
}

__global__ void count_selected_kernel(const std::uint64_t *selected, std::uint64_t words,
                                      std::uint64_t *count) {
    std::uint64_t rows = 0;
    for (std::uint64_t i = static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < words;
         i += static_cast<std::uint64_t>(gridDim.x) * blockDim.x) {
        rows += __popcll(selected[i]);
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        rows += __shfl_down_sync(UINT32_MAX, rows, distance);
    }
    if (threadIdx.x % 32 == 0 && rows != 0) {
        atomicAdd(reinterpret_cast<unsigned long long *>(count), rows);
    }
}

// Launches the kernels of a request.
class Selector {
  public:
    Selector(const Call &call, const StoreParts &parts, const Selection &selection, HeldBuffers *held)
        : call_(call), parts_(parts), selection_(selection), held_(held) {}

    // Returns false when no row passes.
    bool apply(const ColumnTest &test) {
        const StoredColumn &column = parts_.layout.column[test.column];
        const bool wants_null = test.kind == TestKind::is_null;
        if (wants_null && parts_.null_bits(test.column) == nullptr) {
            return false;
        }
        leave_nulls(test.column, wants_null);
        if (test.kind == TestKind::ranges) {
            return apply_ranges(test, column);
        }
        if (test.kind == TestKind::codes) {
            const std::uint64_t codes = std::uint64_t(1) << column.bits;
            std::uint64_t *set = hold((codes + 63) / 64);
            const std::uint64_t given = std::min(test.count, (codes + 63) / 64);
            call_.copy(set, test.codes, given);
            call_.fill(set + given, 0, ((codes + 63) / 64 - given) * sizeof(std::uint64_t));
            look(test.column, InSet{set});
        }
        return true;
    }

  private:
    // Leaves a column's NULLs, or all others.
    void leave_nulls(std::uint32_t column, bool wants_null) {
        const std::uint64_t *nulls = parts_.null_bits(column);
        if (nulls != nullptr) {
            select_nulls_kernel<<<blocks_for(selection_.count), threads_a_block, 0, call_.stream()>>>(
                selection_.words.data(), selection_.count, nulls, wants_null ? 0 : UINT64_MAX);
            check_launch("select_nulls_kernel");
        }
    }

    std::uint64_t *hold(std::uint64_t words) {
        held_->words.push_back(call_.buffer<std::uint64_t>(words));
        return held_->words.back().data();
    }

    template <typename Test>
    void look(std::uint32_t column, Test test) {
        select_codes_kernel<<<row_blocks(call_), row_threads, 0, call_.stream()>>>(
            selection_.words.data(), selection_.words.size(),
            CodesView{parts_.codes(column), parts_.layout.column[column].bits}, test);
        check_launch("select_codes_kernel");
    }

    bool apply_ranges(const ColumnTest &test, const StoredColumn &column) {
        static_assert(sizeof(CodeRange) == sizeof(ValueRange));
        // The ranges are read once, because the caller's memory may change.
        const std::vector<ValueRange> values = copy_ranges(test);
        if (values.empty()) {
            return false;
        }
        const bool is_dictionary = column.encoding == ColumnEncoding::dictionary;
        if (values.size() == 1 && is_dictionary) {
            auto *codes = reinterpret_cast<CodeRange *>(hold(2));
            find_codes_kernel<<<1, 1, 0, call_.stream()>>>(parts_.dictionary(test.column), column, values[0],
                                                           codes);
            check_launch("find_codes_kernel");
            look(test.column, InRange{{}, codes});
            return true;
        }
        if (values.size() == 1) {
            const std::uint64_t most = column.bits == 0 ? 0 : UINT64_MAX >> (64 - column.bits);
            const ValueRange &range = values[0];
            const std::uint64_t low = range.low > column.base ? range.low - column.base : 0;
            if (range.high < column.base || low > most) {
                return false;
            }
            const std::uint64_t high = std::min(range.high - column.base, most);
            if (low > 0 || high < most) {
                look(test.column, InRange{{low, high}, nullptr});
            }
            return true;
        }
        if (is_dictionary || column.bits <= max_set_bits) {
            auto *device_values = upload(values);
            const std::uint64_t words = ((std::uint64_t(1) << column.bits) + 63) / 64;
            std::uint64_t *set = hold(words);
            find_set_kernel<<<blocks_for(words * 64), threads_a_block, 0, call_.stream()>>>(
                parts_.dictionary(test.column), column, device_values,
                static_cast<std::uint32_t>(values.size()), reinterpret_cast<std::uint32_t *>(set), words * 2);
            check_launch("find_set_kernel");
            look(test.column, InSet{set});
            return true;
        }
        std::vector<ValueRange> codes;
        for (const ValueRange &range : values) {
            if (range.high >= column.base) {
                codes.push_back(
                    {range.low > column.base ? range.low - column.base : 0, range.high - column.base});
            }
        }
        if (codes.empty()) {
            return false;
        }
        look(test.column, InRanges{upload(codes), static_cast<std::uint32_t>(codes.size())});
        return true;
    }

    const CodeRange *upload(const std::vector<ValueRange> &ranges) {
        auto *device = reinterpret_cast<ValueRange *>(hold(ranges.size() * 2));
        // The memory isn't pinned, so it has been read when the call returns.
        call_.copy(device, ranges.data(), ranges.size());
        return reinterpret_cast<const CodeRange *>(device);
    }

    const Call &call_;
    const StoreParts &parts_;
    const Selection &selection_;
    HeldBuffers *held_;
};

}  // namespace

Selection select_rows(const Call &call, const StoreParts &parts, const DeadBitmap *dead,
                      const ColumnTest *tests, std::uint32_t test_count, HeldBuffers *held) {
    require_ok(check_request(parts.layout, tests, test_count));
    Selection selection;
    selection.count = packed_groups(parts.layout.rows);
    selection.words = call.buffer<std::uint64_t>(selection_words(parts.layout.rows));
    select_live_kernel<<<blocks_for(selection.words.size()), threads_a_block, 0, call.stream()>>>(
        selection.words.data(), selection.words.size(), parts.layout.rows,
        dead != nullptr ? dead->words.data() : nullptr);
    check_launch("select_live_kernel");
    Selector selector(call, parts, selection, held);
    for (std::uint32_t i = 0; i < test_count; ++i) {
        if (!selector.apply(tests[i])) {
            selection.count = 0;
            break;
        }
    }
    return selection;
}

Buffer<std::uint64_t> split_unresolved(const Call &call, const StoreParts &parts, const KnownBlocks &known,
                                       const std::uint64_t *nulls, const Selection &selection,
                                       std::uint64_t *found, HeldBuffers *held) {
    Buffer<std::uint64_t> unknown = call.buffer<std::uint64_t>(selection.words.size());
    if (selection.count == 0) {
        return unknown;
    }
    held->words.push_back(call.buffer<std::uint64_t>(selection.words.size()));
    std::uint64_t *visible = held->words.back().data();
    call.fill(unknown.data(), 0, unknown.size() * sizeof(std::uint64_t));
    call.fill(visible, 0, selection.words.size() * sizeof(std::uint64_t));
    select_visible_kernel<<<blocks_for(parts.count.spans), threads_a_block, 0, call.stream()>>>(
        parts.spans.data(), parts.count.spans, parts.layout.rows, parts.bitmaps.data(), known, visible,
        unknown.data());
    check_launch("select_visible_kernel");
    split_unresolved_kernel<<<blocks_for(selection.count), threads_a_block, 0, call.stream()>>>(
        selection.words.data(), visible, unknown.data(), selection.count, nulls, found);
    check_launch("split_doubtful_kernel");
    return unknown;
}

void count_selected(const Call &call, const Selection &selection, std::uint64_t *count) {
    if (selection.count == 0) {
        return;
    }
    const unsigned blocks = std::min(blocks_for(selection.count), row_blocks(call));
    count_selected_kernel<<<blocks, threads_a_block, 0, call.stream()>>>(selection.words.data(),
                                                                         selection.count, count);
    check_launch("count_selected_kernel");
}

}  // namespace gpu_engine::device
