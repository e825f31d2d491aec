// A window's functions over rows in its order: sums up to each row, and the rows that are the first and the
// last of their partition and of their peers, by scans.
#include <cub/device/device_scan.cuh>

#include "common/query/plan.h"
#include "common/query/window.h"
#include "device/cub_calls.cuh"
#include "device/query/operators.h"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// A column of the rows.
struct WindowColumn {
    const std::uint64_t *values;
    const std::uint64_t *nulls;  // may be null
    ValueType type;

    __device__ bool is_null(std::uint64_t row) const {
        return nulls != nullptr && (nulls[row / 64] >> (row % 64) & 1) != 0;
    }
    // Words that compare as values do, the upper one first.
    __device__ std::uint64_t upper(std::uint64_t row) const {
        return type == ValueType::int128    ? order_of_integer(static_cast<std::int64_t>(values[2 * row + 1]))
               : type == ValueType::float64 ? order_of_float(float_of_bits(values[row]))
                                            : order_of_integer(static_cast<std::int64_t>(values[row]));
    }
    __device__ std::uint64_t lower(std::uint64_t row) const {
        return type == ValueType::int128 ? values[2 * row] : 0;
    }
    // Of two columns of one type.
    __device__ bool is_less(std::uint64_t one, const WindowColumn &column, std::uint64_t other) const {
        const std::uint64_t own = upper(one);
        const std::uint64_t others = column.upper(other);
        return own != others ? own < others : lower(one) < column.lower(other);
    }
    __device__ bool is_less(std::uint64_t one, std::uint64_t other) const {
        return is_less(one, *this, other);
    }
    __device__ bool is_same(std::uint64_t one, std::uint64_t other) const {
        const bool is_one_null = is_null(one);
        return is_one_null == is_null(other) &&
               (is_one_null || (upper(one) == upper(other) && lower(one) == lower(other)));
    }
};

WindowColumn view_of_column(const Table &table, std::uint32_t column) {
    const Table::Column &own = table.columns[column];
    return {own.values.data(), own.nulls.size() > 0 ? own.nulls.data() : nullptr, own.type};
}

// The columns of a frame by values.
struct FrameValues {
    WindowColumn key;
    WindowColumn from;
    WindowColumn to;

    __device__ bool is_null(std::uint64_t row) const { return key.is_null(row); }
    __device__ bool is_less_than_from(std::uint64_t row, std::uint64_t of) const {
        return key.is_less(row, from, of);
    }
    __device__ bool is_greater_than_from(std::uint64_t row, std::uint64_t of) const {
        return from.is_less(of, key, row);
    }
    __device__ bool is_less_than_to(std::uint64_t row, std::uint64_t of) const {
        return key.is_less(row, to, of);
    }
    __device__ bool is_greater_than_to(std::uint64_t row, std::uint64_t of) const {
        return to.is_less(of, key, row);
    }
};

// By row, the numbers of its partition and of its peers, from 1 on, and by number their first and last rows.
struct PlacesView {
    const std::uint32_t *partitions;
    const std::uint32_t *peers;
    std::uint32_t *partition_first;
    std::uint32_t *partition_last;
    std::uint32_t *peers_first;
    std::uint32_t *peers_last;
    std::uint64_t rows;
    Frame bounds;
    FrameValues values;

    __device__ WindowPlace place(std::uint64_t row) const {
        const std::uint32_t partition = partitions[row] - 1;
        const std::uint32_t own_peers = peers[row] - 1;
        return {row, partition_first[partition], partition_last[partition], peers_first[own_peers],
                peers_last[own_peers]};
    }
    __device__ FrameRows frame(const WindowPlace &place) const { return frame_of(bounds, place, values); }
};

__global__ void find_begins_kernel(const WindowColumn *keys, std::uint32_t partition_keys,
                                   std::uint32_t key_count, std::uint64_t rows, std::uint32_t *partitions,
                                   std::uint32_t *peers) {
    const std::uint64_t row = plain_index();
    if (row >= rows) {
        return;
    }
    std::uint32_t same = 0;
    while (row > 0 && same < key_count && keys[same].is_same(row, row - 1)) {
        ++same;
    }
    partitions[row] = row == 0 || same < partition_keys ? 1 : 0;
    peers[row] = row == 0 || same < key_count ? 1 : 0;
}

__global__ void find_bounds_kernel(const PlacesView view) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    const auto note = [&](const std::uint32_t *numbers, std::uint32_t *firsts, std::uint32_t *lasts) {
        const std::uint32_t number = numbers[row];
        if (row == 0 || numbers[row - 1] != number) {
            firsts[number - 1] = static_cast<std::uint32_t>(row);
        }
        if (row + 1 == view.rows || numbers[row + 1] != number) {
            lasts[number - 1] = static_cast<std::uint32_t>(row);
        }
    };
    note(view.partitions, view.partition_first, view.partition_last);
    note(view.peers, view.peers_first, view.peers_last);
}

// What a function takes of a row: its argument, where the row counts.
struct ArgumentView {
    WindowColumn argument;
    WindowColumn filter;
    bool has_argument;
    bool has_filter;

    __device__ bool counts(std::uint64_t row) const {
        return (!has_filter || (!filter.is_null(row) && filter.values[row] != 0)) &&
               (!has_argument || !argument.is_null(row));
    }
};

__global__ void number_kernel(AccumulatorKind kind, std::uint32_t detail, const PlacesView view,
                              std::uint64_t *numbers) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    const WindowPlace place = view.place(row);
    numbers[row] =
        number_of_function(kind, detail, place, view.peers[row] - view.peers[place.partition_first]);
}

__global__ void share_kernel(AccumulatorKind kind, const PlacesView view, std::uint64_t *shares) {
    const std::uint64_t row = plain_index();
    if (row < view.rows) {
        shares[row] = bits_of_float(share_of_function(kind, view.place(row)));
    }
}

// Adds rows in their order. A warp takes a partition, of which each thread reads a row and all of them add
// every row's.
__global__ void sum_partitions_kernel(const PlacesView view, const ArgumentView argument, double *sums) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t warps = std::uint64_t{gridDim.x} * blockDim.x / 32;
    const std::uint64_t partitions = view.partitions[view.rows - 1];
    for (std::uint64_t partition = plain_index() / 32; partition < partitions; partition += warps) {
        const std::uint64_t end = std::uint64_t{view.partition_last[partition]} + 1;
        double sum = 0;
        bool is_there = false;
        for (std::uint64_t first = view.partition_first[partition]; first < end; first += 32) {
            const std::uint64_t row = first + lane;
            const bool counts = row < end && argument.counts(row);
            const double value = counts ? float_of_bits(argument.argument.values[row]) : 0;
            const std::uint32_t counted = __ballot_sync(0xffffffff, counts);
            double own = 0;
            for (std::uint32_t other = 0; other < 32; ++other) {
                const double added = __shfl_sync(0xffffffff, value, static_cast<int>(other));
                if ((counted >> other & 1) != 0) {
                    sum = is_there ? sum + added : added;
                    is_there = true;
                }
                own = other == lane ? sum : own;
            }
            if (row < end) {
                sums[row] = own;
            }
        }
    }
}

// `sums` are those up to each row of its partition; null: frames are short, and added up one by one.
__global__ void give_float_sums_kernel(const PlacesView view, const ArgumentView argument,
                                       const std::uint64_t *counts, const double *sums, std::uint64_t *values,
                                       std::uint64_t *nulls) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    const FrameRows frame = view.frame(view.place(row));
    if (counts[frame.end] == counts[frame.first]) {
        values[row] = 0;
        set_null(nulls, row);
        return;
    }
    if (sums != nullptr) {
        values[row] = bits_of_float(sums[frame.end - 1]);
        return;
    }
    double sum = 0;
    bool is_there = false;
    for (std::uint64_t other = frame.first; other < frame.end; ++other) {
        if (argument.counts(other)) {
            const double added = float_of_bits(argument.argument.values[other]);
            sum = is_there ? sum + added : added;
            is_there = true;
        }
    }
    values[row] = bits_of_float(sum);
}

__global__ void take_counts_kernel(const ArgumentView view, std::uint64_t rows, std::uint64_t *counts) {
    const std::uint64_t row = plain_index();
    if (row <= rows) {
        counts[row] = row < rows && view.counts(row) ? 1 : 0;
    }
}

__global__ void take_summands_kernel(const ArgumentView view, std::uint64_t rows, UInt128 *summands) {
    const std::uint64_t row = plain_index();
    if (row > rows) {
        return;
    }
    UInt128 summand = 0;
    if (row < rows && view.counts(row)) {
        summand = view.argument.type == ValueType::int128
                      ? static_cast<UInt128>(view.argument.values[2 * row + 1]) << 64 |
                            view.argument.values[2 * row]
                      : static_cast<UInt128>(
                            static_cast<Int128>(static_cast<std::int64_t>(view.argument.values[row])));
    }
    summands[row] = summand;
}

// Of sums of all rows before: a frame's is the difference of two, modulo 2^128. `sums` is null for counts.
__global__ void give_sums_kernel(const PlacesView view, const std::uint64_t *counts, const UInt128 *sums,
                                 std::uint64_t *values, std::uint64_t *nulls) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    const FrameRows frame = view.frame(view.place(row));
    const std::uint64_t counted = counts[frame.end] - counts[frame.first];
    if (sums == nullptr) {
        values[row] = counted;
        return;
    }
    const UInt128 sum = sums[frame.end] - sums[frame.first];
    values[2 * row] = static_cast<std::uint64_t>(sum);
    values[2 * row + 1] = static_cast<std::uint64_t>(sum >> 64);
    if (counted == 0) {
        set_null(nulls, row);
    }
}

constexpr std::uint32_t none = UINT32_MAX;

__global__ void take_candidates_kernel(const ArgumentView view, std::uint64_t rows,
                                       std::uint32_t *candidates) {
    const std::uint64_t row = plain_index();
    if (row < rows) {
        candidates[row] = view.counts(row) ? static_cast<std::uint32_t>(row) : none;
    }
}

// Of two rows the one with the least or the greatest argument; of equal ones the first.
struct Better {
    WindowColumn argument;
    bool is_least;

    __device__ std::uint32_t operator()(std::uint32_t one, std::uint32_t other) const {
        if (one == none || other == none) {
            return one == none ? other : one;
        }
        return (is_least ? argument.is_less(other, one) : argument.is_less(one, other)) ? other : one;
    }
};

__device__ void give_argument(const WindowColumn &argument, std::uint64_t of, std::uint64_t row,
                              std::uint64_t *values, std::uint64_t *nulls) {
    const std::uint32_t words = argument.type == ValueType::int128 ? 2 : 1;
    const bool is_null = of == not_in_partition || argument.is_null(of);
    for (std::uint32_t word = 0; word < words; ++word) {
        values[row * words + word] = is_null ? 0 : argument.values[of * words + word];
    }
    if (is_null) {
        set_null(nulls, row);
    }
}

// `best` is, by row, the best one of its partition so far.
__global__ void give_extremes_kernel(const PlacesView view, const Better better,
                                     const std::uint32_t *candidates, const std::uint32_t *best,
                                     std::uint64_t *values, std::uint64_t *nulls) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    const WindowPlace place = view.place(row);
    const FrameRows frame = view.frame(place);
    std::uint32_t found = none;
    if (frame.first == place.partition_first && !frame.is_empty()) {
        found = best[frame.end - 1];
    } else {
        for (std::uint64_t other = frame.first; other < frame.end; ++other) {
            found = better(found, candidates[other]);
        }
    }
    give_argument(better.argument, found == none ? not_in_partition : found, row, values, nulls);
}

// Where there is no such row, the row's own of `instead` is given, if there is such a column.
__global__ void give_arguments_kernel(AccumulatorKind kind, std::uint32_t detail, const PlacesView view,
                                      const WindowColumn argument, const WindowColumn instead,
                                      std::uint64_t *values, std::uint64_t *nulls) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    const WindowPlace place = view.place(row);
    const std::uint64_t of = row_of_function(kind, detail, place, view.frame(place));
    if (of == not_in_partition && instead.values != nullptr) {
        give_argument(instead, row, row, values, nulls);
    } else {
        give_argument(argument, of, row, values, nulls);
    }
}

// The functions of one window.
class WindowCall {
  public:
    WindowCall(const Call &call, const Query &query, const Node &node, Table *table)
        : call_(call),
          query_(query),
          node_(node),
          table_(*table),
          rows_(table->rows),
          partitions_(call.buffer<std::uint32_t>(rows_)),
          peers_(call.buffer<std::uint32_t>(rows_)),
          bounds_(call.buffer<std::uint32_t>(4 * rows_)),
          view_{partitions_.data(),
                peers_.data(),
                bounds_.data(),
                bounds_.data() + rows_,
                bounds_.data() + 2 * rows_,
                bounds_.data() + 3 * rows_,
                rows_,
                frame_of_node(query, node),
                frame_values()} {
        find_places();
    }

    void add(const Accumulator &function) {
        switch (function.kind) {
            case AccumulatorKind::row_number:
            case AccumulatorKind::rank:
            case AccumulatorKind::dense_rank:
            case AccumulatorKind::ntile: {
                const Table::Column &column = table_.add(call_, ValueType::int64, false);
                number_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(
                    function.kind, function.detail, view_, column.values.data());
                device::check_launch("number_kernel");
                break;
            }
            case AccumulatorKind::percent_rank:
            case AccumulatorKind::cume_dist: {
                const Table::Column &column = table_.add(call_, ValueType::float64, false);
                share_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(function.kind, view_,
                                                                                        column.values.data());
                device::check_launch("share_kernel");
                break;
            }
            case AccumulatorKind::sum_float:
                add_float_sums(function);
                break;
            case AccumulatorKind::count_rows:
            case AccumulatorKind::count:
            case AccumulatorKind::sum:
                add_sums(function);
                break;
            case AccumulatorKind::least:
            case AccumulatorKind::greatest:
                add_extremes(function);
                break;
            default: {
                const WindowColumn argument = view_of_column(table_, function.argument);
                const WindowColumn instead =
                    function.filter == no_step ? WindowColumn{} : view_of_column(table_, function.filter);
                const OutputView column = view_of(table_.add(call_, argument.type, true));
                give_arguments_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(
                    function.kind, function.detail, view_, argument, instead, column.values, column.nulls);
                device::check_launch("give_arguments_kernel");
            }
        }
    }

  private:
    template <typename Number>
    void scan(Number *numbers, std::uint64_t count) const {
        device::with_scratch_memory(
            call_, "DeviceScan::InclusiveScan", [&](void *scratch, std::size_t &bytes) {
                return cub::DeviceScan::InclusiveScan(scratch, bytes, numbers, numbers, cuda::std::plus<>(),
                                                      count, call_.stream());
            });
    }

    FrameValues frame_values() const {
        const auto column = [&](bool is_there, std::uint32_t number) {
            return is_there ? view_of_column(table_, number) : WindowColumn{};
        };
        const bool has_from = node_.frame_first == values_first;
        const bool has_to = node_.frame_last == values_last;
        return {column(has_from || has_to, node_.frame_key), column(has_from, node_.frame_from),
                column(has_to, node_.frame_to)};
    }

    void find_places() {
        std::vector<WindowColumn> keys;
        for (std::uint32_t k = 0; k < node_.sort_keys.count; ++k) {
            keys.push_back(view_of_column(table_, query_.sort_keys[node_.sort_keys.first + k].column));
        }
        const Buffer<WindowColumn> views = upload(call_, keys);
        find_begins_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(
            views.data(), node_.partition_keys, node_.sort_keys.count, rows_, partitions_.data(),
            peers_.data());
        device::check_launch("find_begins_kernel");
        scan(partitions_.data(), rows_);
        scan(peers_.data(), rows_);
        find_bounds_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(view_);
        device::check_launch("find_bounds_kernel");
    }

    ArgumentView argument_of(const Accumulator &function) const {
        ArgumentView view = {};
        view.has_argument = takes_argument(function.kind);
        view.has_filter = function.filter != no_step;
        if (view.has_argument) {
            view.argument = view_of_column(table_, function.argument);
        }
        if (view.has_filter) {
            view.filter = view_of_column(table_, function.filter);
        }
        return view;
    }

    // Of all rows before each one, how many count.
    Buffer<std::uint64_t> count_before(const ArgumentView &argument) const {
        Buffer<std::uint64_t> counts = call_.buffer<std::uint64_t>(rows_ + 1);
        take_counts_kernel<<<plain_blocks(rows_ + 1), plain_threads, 0, call_.stream()>>>(argument, rows_,
                                                                                          counts.data());
        device::check_launch("take_counts_kernel");
        device::exclusive_sums(call_, counts.data(), counts.data(), rows_ + 1);
        return counts;
    }

    void add_float_sums(const Accumulator &function) {
        constexpr std::uint64_t max_warps = 1 << 16;
        const ArgumentView argument = argument_of(function);
        const Buffer<std::uint64_t> counts = count_before(argument);
        const bool begins_with_partition = node_.frame_first == partition_first;
        const Buffer<double> sums = call_.buffer<double>(begins_with_partition ? rows_ : 0);
        if (begins_with_partition) {
            const std::uint64_t threads = 32 * std::min(rows_, max_warps);
            sum_partitions_kernel<<<plain_blocks(threads), plain_threads, 0, call_.stream()>>>(
                view_, argument, sums.data());
            device::check_launch("sum_partitions_kernel");
        }
        const OutputView column = view_of(table_.add(call_, ValueType::float64, true));
        give_float_sums_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(
            view_, argument, counts.data(), begins_with_partition ? sums.data() : nullptr, column.values,
            column.nulls);
        device::check_launch("give_float_sums_kernel");
    }

    void add_sums(const Accumulator &function) {
        const bool adds = function.kind == AccumulatorKind::sum;
        const ArgumentView argument = argument_of(function);
        const Buffer<std::uint64_t> counts = count_before(argument);
        const Buffer<UInt128> sums = call_.buffer<UInt128>(adds ? rows_ + 1 : 0);
        if (adds) {
            take_summands_kernel<<<plain_blocks(rows_ + 1), plain_threads, 0, call_.stream()>>>(
                argument, rows_, sums.data());
            device::check_launch("take_summands_kernel");
            device::exclusive_sums(call_, sums.data(), sums.data(), rows_ + 1);
        }
        const OutputView column =
            view_of(table_.add(call_, adds ? ValueType::int128 : ValueType::int64, adds));
        give_sums_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(
            view_, counts.data(), adds ? sums.data() : nullptr, column.values, column.nulls);
        device::check_launch("give_sums_kernel");
    }

    void add_extremes(const Accumulator &function) {
        const ArgumentView argument = argument_of(function);
        const Better better = {argument.argument, function.kind == AccumulatorKind::least};
        const Buffer<std::uint32_t> candidates = call_.buffer<std::uint32_t>(rows_);
        const Buffer<std::uint32_t> best = call_.buffer<std::uint32_t>(rows_);
        take_candidates_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(argument, rows_,
                                                                                          candidates.data());
        device::check_launch("take_candidates_kernel");
        device::with_scratch_memory(
            call_, "DeviceScan::InclusiveScanByKey", [&](void *scratch, std::size_t &bytes) {
                return cub::DeviceScan::InclusiveScanByKey(scratch, bytes, partitions_.data(),
                                                           candidates.data(), best.data(), better, rows_,
                                                           cuda::std::equal_to<>(), call_.stream());
            });
        const OutputView column = view_of(table_.add(call_, argument.argument.type, true));
        give_extremes_kernel<<<plain_blocks(rows_), plain_threads, 0, call_.stream()>>>(
            view_, better, candidates.data(), best.data(), column.values, column.nulls);
        device::check_launch("give_extremes_kernel");
    }

    const Call &call_;
    const Query &query_;
    const Node &node_;
    Table &table_;
    std::uint64_t rows_;
    const Buffer<std::uint32_t> partitions_;
    const Buffer<std::uint32_t> peers_;
    const Buffer<std::uint32_t> bounds_;
    const PlacesView view_;
};

}  // namespace

Table add_functions(const Call &call, const Query &query, const Node &window, const Table &rows) {
    Node all = window;
    all.limit = UINT64_MAX;
    Table sorted = sort(call, query, all, rows);
    if (sorted.rows == 0) {
        for (std::uint32_t i = 0; i < window.accumulators.count; ++i) {
            const Accumulator &function = query.accumulators[window.accumulators.first + i];
            sorted.add(call,
                       result_type(function.kind, takes_argument(function.kind)
                                                      ? sorted.columns[function.argument].type
                                                      : ValueType::int64),
                       false);
        }
        return sorted;
    }
    WindowCall functions(call, query, window, &sorted);
    for (std::uint32_t i = 0; i < window.accumulators.count; ++i) {
        functions.add(query.accumulators[window.accumulators.first + i]);
    }
    return sorted;
}

}  // namespace gpu_engine::query::on_device
