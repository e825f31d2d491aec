#include "device/query/join_pairs.h"

#include <algorithm>

#include "common/query/plan.h"
#include "device/cub_calls.cuh"
#include "device/query/join_table.cuh"
#include "device/query/plain.cuh"

namespace gpu_engine::query::on_device {
namespace {

// Rows have numbers of 32 bits.
constexpr std::uint64_t max_probed_rows = UINT32_MAX;
// Nobody waits for more, and their bytes can be counted.
constexpr std::uint64_t max_pairs = std::uint64_t(1) << 40;
constexpr std::uint32_t pairs_a_lane = 8;
constexpr std::uint32_t pairs_a_warp = 32 * pairs_a_lane;
// A query can be cancelled each time that so many pieces have been listed.
constexpr std::uint32_t pieces_a_wait = 32;

constexpr std::uint32_t no_column = UINT32_MAX;

struct MatchView {
    JoinTableView table;
    const ArrayColumn *columns;  // of the probed rows
    const std::uint32_t *key_columns;
    std::uint64_t rows;
    std::uint64_t most;     // matches that are wanted of a row
    std::uint32_t *firsts;  // the place of a row's first match. Null: all matches begin at 0
    std::uint64_t *counts;
    // Of the probed rows, what the table's bounds are compared with; no_column: nothing.
    std::uint32_t at_most;
    std::uint32_t at_least;
};

// Matches of a row: places from `first` on.
struct Matches {
    std::uint64_t first;
    std::uint64_t count;
};

// The first of the words, which ascend, from number `first` on that is greater than a word, or not less;
// `end` where there is none.
template <bool is_greater>
__device__ std::uint64_t find_word(const std::uint64_t *words, std::uint64_t first, std::uint64_t end,
                                   std::uint64_t word) {
    while (first < end) {
        const std::uint64_t middle = first + (end - first) / 2;
        if (is_greater ? words[middle] <= word : words[middle] < word) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

__device__ Matches narrow(const MatchView &view, std::uint64_t row, Matches matches) {
    std::uint64_t end = matches.first + matches.count;
    if (view.table.lows != nullptr) {
        const ArrayColumn column = view.columns[view.at_most];
        end = is_null(column, row)
                  ? matches.first
                  : find_word<true>(view.table.lows, matches.first, end, bound_word(column, row));
    }
    if (view.table.reached != nullptr) {
        const ArrayColumn column = view.columns[view.at_least];
        matches.first = is_null(column, row) ? end
                                             : find_word<false>(view.table.reached, matches.first, end,
                                                                bound_word(column, row));
    }
    return {matches.first, end - matches.first};
}

__global__ void count_matches_kernel(const __grid_constant__ MatchView view) {
    const std::uint64_t row = plain_index();
    if (row >= view.rows) {
        return;
    }
    Matches matches = {0, 0};
    if (view.table.key_count == 0) {
        matches.count = view.table.rows;
    } else {
        const RowKey key = {view.columns, view.key_columns, row};
        if (!has_null(view.table, key)) {
            const KeySlot found = find_key(view.table, key);
            if (found.row != no_row && view.table.ends != nullptr) {
                matches.first = found.slot == 0 ? 0 : view.table.ends[found.slot - 1];
                matches.count = view.table.ends[found.slot] - matches.first;
            } else if (found.row != no_row) {
                matches = {found.row, 1};
            }
        }
    }
    matches = narrow(view, row, matches);
    if (view.firsts != nullptr) {
        view.firsts[row] = static_cast<std::uint32_t>(matches.first);
    }
    view.counts[row] = min(matches.count, view.most);
}

struct PairView {
    const std::uint64_t *offsets;  // by probed row: how many pairs those before have
    std::uint64_t rows;
    const std::uint32_t *firsts;
    const std::uint32_t *rows_by_slot;  // null: a place is a row
    std::uint64_t begin;
    std::uint64_t count;
    std::uint32_t *probed;
    std::uint32_t *build;
};

// The row between `low` and `high` that has a pair: the last one whose pairs don't begin behind it.
__device__ std::uint64_t row_of_pair(const std::uint64_t *offsets, std::uint64_t low, std::uint64_t high,
                                     std::uint64_t pair) {
    while (low < high) {
        const std::uint64_t middle = low + (high - low + 1) / 2;
        if (offsets[middle] <= pair) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// A warp lists consecutive pairs, however many rows they are of.
__global__ void list_pairs_kernel(const __grid_constant__ PairView view) {
    const std::uint32_t lane = threadIdx.x % 32;
    const std::uint64_t first = plain_index() / 32 * pairs_a_warp;
    if (first >= view.count) {
        return;
    }
    const std::uint64_t last = min(first + pairs_a_warp, view.count) - 1;
    std::uint64_t low = row_of_pair(view.offsets, 0, view.rows - 1, view.begin + (lane == 0 ? first : last));
    const std::uint64_t high = __shfl_sync(UINT32_MAX, low, 31);
    low = __shfl_sync(UINT32_MAX, low, 0);
    for (std::uint64_t i = first + lane; i <= last; i += 32) {
        const std::uint64_t pair = view.begin + i;
        const std::uint64_t row = row_of_pair(view.offsets, low, high, pair);
        const std::uint64_t place =
            (view.firsts == nullptr ? 0 : view.firsts[row]) + (pair - view.offsets[row]);
        view.probed[i] = static_cast<std::uint32_t>(row);
        view.build[i] =
            view.rows_by_slot == nullptr ? static_cast<std::uint32_t>(place) : view.rows_by_slot[place];
    }
}

}  // namespace

JoinPairs::JoinPairs(const Call &call, const Query &query, const Node &join, const Table &probed,
                     const Table &build, const JoinTableView &table, std::uint64_t at_a_time)
    : call_(call), table_(table), probed_rows_(probed.rows) {
    if (probed.rows > max_probed_rows) {
        throw Failure{make_status(StatusCode::unavailable, "the probed side of a join has too many rows")};
    }
    std::vector<std::uint32_t> keys;
    for (std::uint32_t k = 0; k < join.join_keys.count; k += 2) {
        keys.push_back(query.outputs[join.join_keys.first + k]);
    }
    const Buffer<ArrayColumn> columns = upload_columns(call, probed);
    const Buffer<std::uint32_t> key_columns = upload(call, keys);
    const bool has_bounds = table.lows != nullptr || table.reached != nullptr;
    firsts_ = call.buffer<std::uint32_t>(keys.empty() && !has_bounds ? 0 : probed.rows);
    offsets_ = call.buffer<std::uint64_t>(probed.rows + 1);
    call.fill(offsets_.data() + probed.rows, 0, sizeof(std::uint64_t));
    // Without a filter one match is as good as many, where it only matters whether there is one.
    const bool one_will_do = join.filter == no_step && !gives_build(join.join);
    const MatchView view = {
        .table = table,
        .columns = columns.data(),
        .key_columns = key_columns.data(),
        .rows = probed.rows,
        .most = one_will_do ? 1 : UINT64_MAX,
        .firsts = firsts_.data(),
        .counts = offsets_.data(),
        .at_most = bound_column(query, join.at_most, JoinSide::probed).value_or(no_column),
        .at_least = bound_column(query, join.at_least, JoinSide::probed).value_or(no_column)};
    count_matches_kernel<<<plain_blocks(probed.rows), plain_threads, 0, call.stream()>>>(view);
    device::check_launch("count_matches_kernel");
    device::exclusive_sums(call, static_cast<const std::uint64_t *>(offsets_.data()), offsets_.data(),
                           probed.rows + 1);
    count_ = device::read_element(call, offsets_.data() + probed.rows);
    if (count_ > max_pairs) {
        throw Failure{make_status(StatusCode::out_of_memory, "a join has too many rows")};
    }
    joined_ = std::make_unique<JoinedRows>(call, probed, build, std::min(count_, at_a_time));
}

void JoinPairs::list(std::uint64_t first, std::uint64_t count) const {
    if (++pieces_ % pieces_a_wait == 0) {
        call_.wait();
    }
    const PairView view = {offsets_.data(), probed_rows_, firsts_.data(),         table_.rows_by_slot,
                           first,           count,        joined_->probed.data(), joined_->build.data()};
    list_pairs_kernel<<<plain_blocks((count + pairs_a_lane - 1) / pairs_a_lane), plain_threads, 0,
                        call_.stream()>>>(view);
    device::check_launch("list_pairs_kernel");
}

}  // namespace gpu_engine::query::on_device
