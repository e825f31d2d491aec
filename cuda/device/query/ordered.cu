#include "device/query/ordered.cuh"

#include "device/query/plain.cuh"
#include "device/query/order.h"

namespace gpu_engine::query::on_device {
namespace {

struct SortedView {
    const Word *slots;
    const Word *low;
    const Word *high;  // null unless values have two words
    std::uint64_t count;

    __device__ bool is_equal(std::uint64_t one, std::uint64_t other) const {
        return slots[one] == slots[other] && low[one] == low[other] &&
               (high == nullptr || high[one] == high[other]);
    }
    // The end of the run of elements from `first` on that are like it by `is_like`.
    template <typename IsLike>
    __device__ std::uint64_t end_of(std::uint64_t first, IsLike is_like) const {
        std::uint64_t low_end = first + 1;
        std::uint64_t high_end = count;
        while (low_end < high_end) {
            const std::uint64_t middle = low_end + (high_end - low_end) / 2;
            if (is_like(middle)) {
                low_end = middle + 1;
            } else {
                high_end = middle;
            }
        }
        return low_end;
    }
    __device__ bool begins_group(std::uint64_t i) const { return i == 0 || slots[i] != slots[i - 1]; }
    __device__ std::uint64_t end_of_group(std::uint64_t first) const {
        return end_of(first, [&](std::uint64_t i) { return slots[i] == slots[first]; });
    }
    __device__ bool begins_value(std::uint64_t i) const { return i == 0 || !is_equal(i, i - 1); }
};

struct OrderedView {
    SortedView sorted;
    GroupsView groups;
    AccumulatorView accumulator;
    double fraction;

    __device__ Word *state(std::uint64_t i) const {
        return groups.record(sorted.slots[i]) + groups.key_words;
    }
    // The value, as columns have it.
    __device__ Word low(std::uint64_t i) const {
        const Word word = sorted.low[i];
        return accumulator.type == ValueType::int128
                   ? word
                   : value_of_joined(accumulator.type, word ^ Word(1) << 63);
    }
    __device__ Word high(std::uint64_t i) const {
        return sorted.high == nullptr ? 0 : sorted.high[i] ^ Word(1) << 63;
    }
    __device__ void set(std::uint64_t group, Word low_word, Word high_word) const {
        Word *words = state(group) + accumulator.word;
        words[0] = low_word;
        words[1] = high_word;
        if (!accumulator.is_seen) {
            mark_seen(state(group), 1, accumulator.bit);
        }
    }
};

__global__ void add_once_kernel(const __grid_constant__ OrderedView view) {
    const std::uint64_t i = plain_index();
    if (i < view.sorted.count && view.sorted.begins_value(i)) {
        add_row<Room::device>(view.accumulator, view.state(i), 1, view.low(i), view.high(i),
                              view.groups.flags);
    }
}

__global__ void percentile_kernel(const __grid_constant__ OrderedView view) {
    const std::uint64_t first = plain_index();
    if (first >= view.sorted.count || !view.sorted.begins_group(first)) {
        return;
    }
    const std::uint64_t rows = view.sorted.end_of_group(first) - first;
    if (view.accumulator.kind == AccumulatorKind::percentile_discrete) {
        const double wanted = ceil(view.fraction * static_cast<double>(rows));
        const std::uint64_t place = wanted < 1 ? 0 : static_cast<std::uint64_t>(wanted) - 1;
        view.set(first, view.low(first + place), view.high(first + place));
        return;
    }
    const double at = __dmul_rn(view.fraction, static_cast<double>(rows - 1));
    const auto below = static_cast<std::uint64_t>(floor(at));
    const auto above = static_cast<std::uint64_t>(ceil(at));
    if (view.accumulator.kind != AccumulatorKind::percentile_continuous) {
        const std::uint64_t place =
            first + (view.accumulator.kind == AccumulatorKind::percentile_below ? below : above);
        view.set(first, view.low(place), view.high(place));
        return;
    }
    const double low = float_of_bits(view.low(first + below));
    double result = low;
    if (above != below) {
        const double high = float_of_bits(view.low(first + above));
        const double proportion = __dsub_rn(at, static_cast<double>(below));
        result = __dadd_rn(low, __dmul_rn(proportion, __dsub_rn(high, low)));
    }
    view.set(first, bits_of_float(result), 0);
}

// The longest run of equal values wins, and of several the first one.
__global__ void begin_mode_kernel(const __grid_constant__ OrderedView view) {
    const std::uint64_t i = plain_index();
    if (i < view.sorted.count && view.sorted.begins_group(i)) {
        view.state(i)[view.accumulator.word] = 0;
    }
}
__global__ void find_mode_kernel(const __grid_constant__ OrderedView view) {
    const std::uint64_t i = plain_index();
    if (i < view.sorted.count && view.sorted.begins_value(i)) {
        const std::uint64_t end =
            view.sorted.end_of(i, [&](std::uint64_t other) { return view.sorted.is_equal(i, other); });
        atomicMax(view.state(i) + view.accumulator.word, (end - i) << 32 | (UINT32_MAX - i));
    }
}
__global__ void finish_mode_kernel(const __grid_constant__ OrderedView view) {
    const std::uint64_t i = plain_index();
    if (i < view.sorted.count && view.sorted.begins_group(i)) {
        const std::uint64_t place = UINT32_MAX - (view.state(i)[view.accumulator.word] & UINT32_MAX);
        view.set(i, view.low(place), view.high(place));
    }
}

Buffer<Word> gather(const Call &call, const Buffer<Word> &words, const RowOrder &order) {
    Buffer<Word> gathered = call.buffer<Word>(words.size());
    gather_words(call, reinterpret_cast<const std::uint64_t *>(words.data()), order.rows(), words.size(), 1,
                 reinterpret_cast<std::uint64_t *>(gathered.data()));
    return gathered;
}

}  // namespace

OrderedValues::OrderedValues(const Call &call, std::uint64_t values, ValueType type)
    : slots(call.buffer<Word>(values)),
      low(call.buffer<Word>(values)),
      high(call.buffer<Word>(type == ValueType::int128 ? values : 0)),
      listed(call.buffer<Word>(1)),
      count(values) {
    call.fill(listed.data(), 0, sizeof(Word));
}

void OrderedValues::sort(const Call &call) {
    RowOrder order(call, count);
    order.order_by(reinterpret_cast<const std::uint64_t *>(low.data()));
    if (high.size() > 0) {
        order.order_by(reinterpret_cast<const std::uint64_t *>(high.data()));
    }
    order.order_by(reinterpret_cast<const std::uint64_t *>(slots.data()));
    low = gather(call, low, order);
    if (high.size() > 0) {
        high = gather(call, high, order);
    }
    slots = gather(call, slots, order);
}

void add_ordered_values(const Call &call, const OrderedValues &values, const GroupsView &groups,
                        const AccumulatorView &accumulator, double fraction) {
    OrderedView view = {};
    view.sorted = {values.slots.data(), values.low.data(),
                   values.high.size() > 0 ? values.high.data() : nullptr, values.count};
    view.groups = groups;
    view.accumulator = accumulator;
    view.fraction = fraction;
    const unsigned blocks = plain_blocks(values.count);
    switch (accumulator.kind) {
        case AccumulatorKind::percentile_discrete:
        case AccumulatorKind::percentile_continuous:
        case AccumulatorKind::percentile_below:
        case AccumulatorKind::percentile_above:
            percentile_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view);
            break;
        case AccumulatorKind::mode:
            begin_mode_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view);
            find_mode_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view);
            finish_mode_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view);
            break;
        default:
            add_once_kernel<<<blocks, plain_threads, 0, call.stream()>>>(view);
    }
    device::check_launch("a kernel of ordered values");
}

}  // namespace gpu_engine::query::on_device
